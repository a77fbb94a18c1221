// Command host serves a live model with one tool over HTTP, for one tenant. It reads
// OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL and TENANT_KEY, and keeps the sessions in
// the folder sessions. docs/host.md shows how to talk to it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cassettes/openai"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/host"
	"github.com/agentbench-go/agentbench/loop/session"
)

func main() {
	if err := serve(cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080")); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	settings := endpoint.FromEnv(os.Getenv)
	settings.Stream = true
	model, err := openai.New(settings, nil)
	if err != nil {
		return err
	}
	store, err := session.Dir("sessions")
	if err != nil {
		return err
	}
	defer store.Close()
	config := loop.Default()
	config.Limits.Turns = 20
	h, err := host.New(host.Options{
		Log: slog.Default(),
		Tenants: []host.Tenant{{
			Name:  "me",
			Key:   os.Getenv("TENANT_KEY"),
			Agent: host.Agent{Config: config, Model: model, Tools: []loop.Tool{clock}},
			Store: store,
		}},
	})
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer done()
	go func() {
		<-stop.Done()
		// Runs have 20 seconds to end. What is left goes on after the next start.
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		h.Close(ctx)
		server.Shutdown(ctx)
	}()
	fmt.Printf("listening on http://%s\n", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

var clock = loop.FuncTool(loop.ToolSpec{
	Name: "clock", Description: "Tells the time in a place.",
	Input: `{"type":"object","required":["zone"],"properties":{"zone":{"type":"string","description":"such as Europe/Oslo"}}}`,
}, func(_ context.Context, args struct{ Zone string }) (string, error) {
	place, err := time.LoadLocation(args.Zone)
	if err != nil {
		return "", &loop.ToolError{Code: loop.InvalidInput, Text: "there is no time zone of that name"}
	}
	return time.Now().In(place).Format(time.Kitchen), nil
})
