package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long a server waits for its clients, and how long a header may be.
const (
	headerTime = 10 * time.Second // to send a header
	idleTime   = 2 * time.Minute  // to send the next request
	leaveTime  = time.Second      // to read the last answers after the end
	maxHeader  = 64 << 10
)

// Serve answers the requests on a listener until ctx ends, and then breaks off the
// answers in progress. When it returns, the listener and every connection are
// closed and no answer is in progress. The error says why it could not go on.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var answers sync.RWMutex // each answer in progress holds it for reading
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
	server.Close() // its error is about connections that are already closed
	answers.Lock()
	defer answers.Unlock()
	return err
}

// leave shuts a server down, and waits up to leaveTime for its clients.
func leave(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
