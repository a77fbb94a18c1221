package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
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
// that are under way then are broken off. It closes the listener and every
// connection before it returns. The error says why it could not go on.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		server.Close()
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	return err
}
