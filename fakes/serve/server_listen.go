package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long a server waits for clients.
const (
	headerTime = 10 * time.Second // to send a header
	idleTime   = 2 * time.Minute  // for the next request
	leaveTime  = time.Second      // to read the last answers when it ends
	maxHeader  = 64 << 10
)

// Serve answers the requests that come over a listener until ctx ends; answers
// that are under way then are broken off. When it returns, the listener and
// every connection are closed and no answer is under way. The error says why it
// could not go on.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var answers sync.RWMutex // held for reading by each that is under way
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answers.RLock()
			defer answers.RUnlock()
			if ctx.Err() != nil {
				panic(http.ErrAbortHandler)
			}
			s.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = leave(ctx, server)
		<-ended
	}
	cancel()
	server.Close() // of what is closed already nothing is said
	answers.Lock()
	defer answers.Unlock()
	return err
}

// leave ends a server, which may take a moment.
func leave(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
