package bed

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Tripwire is a proxy that lets no request through and records their targets.
type Tripwire struct {
	URL string

	server *http.Server
	served chan struct{}

	mu    sync.Mutex
	hosts []string // guarded by mu
}

// NewTripwire sets up a tripwire.
func NewTripwire() (*Tripwire, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Tripwire{URL: "http://" + listener.Addr().String(), served: make(chan struct{})}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(w.served)
		_ = w.server.Serve(listener) // it ends with Close and has no other result
	}()
	return w, nil
}

// ServeHTTP implements http.Handler.
func (w *Tripwire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	if !slices.Contains(w.hosts, r.Host) {
		w.hosts = append(w.hosts, r.Host)
	}
	w.mu.Unlock()
	http.Error(out, "nothing leaves this machine", http.StatusForbidden)
}

// Hosts returns who was asked for, sorted.
func (w *Tripwire) Hosts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(w.hosts))
}

// Close stops the server.
func (w *Tripwire) Close() error {
	err := w.server.Close()
	<-w.served
	return err
}
