package controlapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/server/httpkit"
)

// deadline is far beyond what any test needs.
const deadline = 20 * time.Second

// serve runs a server for a city and returns a client of it.
func serve(t *testing.T, opts Options) (*stubCity, *client.Client) {
	t.Helper()
	city := &stubCity{Root: shortDir(t)}
	return city, serveCity(t, city, city.Root, opts)
}

func serveCity(t *testing.T, city City, root string, opts Options) *client.Client {
	t.Helper()
	c, _ := start(t, NewServer(city, opts), root)
	return c
}

// start runs the server until the test ends or stop is called.
func start(t *testing.T, s *Server, root string) (c *client.Client, stop func()) {
	t.Helper()
	l, err := httpkit.Listen(t.Context(), client.SocketPath(root))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	c = &client.Client{Root: root, Version: "test"}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Cleanup(func() { c.Close(); stop() })
	return c, stop
}

// shortDir returns a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gc-api-") //nolint:usetesting // its paths are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// TestErrorsMatchTheSameSentinels checks that an error of the city matches the same error value for
// the client.
func TestErrorsMatchTheSameSentinels(t *testing.T) {
	city := &faultyCity{stubCity: &stubCity{Root: shortDir(t)}}
	c := serveCity(t, city, city.Root, Options{})
	for _, want := range []error{
		client.ErrNotFound, client.ErrRefused, client.ErrTimeout, client.ErrInvalid,
		client.ErrUnsupported, client.ErrForbidden, client.ErrUnavailable,
	} {
		city.fail(want)
		_, err := c.Status(bounded(t))
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "the remedy") {
			t.Errorf("a city's %v arrived as %v", want, err)
		}
	}
	city.fail(errors.New("odd"))
	_, err := c.Status(bounded(t))
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || problem.Code != "internal" || problem.Status != http.StatusInternalServerError {
		t.Errorf("an error without sentinel arrived as %#v", err)
	}
}

// faultyCity fails every status with one error.
type faultyCity struct {
	*stubCity
	mu  sync.Mutex
	err error
}

func (c *faultyCity) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *faultyCity) Status(context.Context) (client.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return client.Status{}, &wrapped{c.err}
}

type wrapped struct{ err error }

func (w *wrapped) Error() string { return w.err.Error() + "; here is the remedy" }
func (w *wrapped) Unwrap() error { return w.err }

// TestPanicIsAnsweredWithAnError checks that a panic in a handler is answered with an error and
// that the server continues.
func TestPanicIsAnsweredWithAnError(t *testing.T) {
	city := &panickingCity{stubCity: &stubCity{Root: shortDir(t)}}
	c := serveCity(t, city, city.Root, Options{})
	if _, err := c.Status(bounded(t)); err == nil || !strings.Contains(err.Error(), "defect") {
		t.Errorf("a panicking handler answered %v, want a problem that names a defect", err)
	}
	if _, err := c.Plan(bounded(t)); err != nil {
		t.Errorf("the server does not answer after a panic: %v", err)
	}
}

type panickingCity struct{ *stubCity }

func (*panickingCity) Status(context.Context) (client.Status, error) { panic("boom") }

// TestVersionsAreExchanged checks that client and server send their versions to each other.
func TestVersionsAreExchanged(t *testing.T) {
	root := shortDir(t)
	_, _ = start(t, NewServer(&stubCity{Root: root}, Options{Version: "2.0"}), root)
	var got []string
	c := &client.Client{Root: root, Version: "1.0", OnSkew: func(ours, theirs string) { got = append(got, ours+"/"+theirs) }}
	defer c.Close()
	for range 3 {
		if _, err := c.Status(bounded(t)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"1.0/2.0"}, got); diff != "" {
		t.Errorf("skew was reported as (-want +got):\n%s", diff)
	}
}

// TestRequestContinuesWithoutItsCaller checks that a request that has begun is completed although
// its caller disconnects.
func TestRequestContinuesWithoutItsCaller(t *testing.T) {
	city := &slowCity{stubCity: &stubCity{Root: shortDir(t)}, entered: make(chan struct{}), proceed: make(chan struct{}), ended: make(chan error, 1)}
	c := serveCity(t, city, city.Root, Options{})
	ctx, hangUp := context.WithCancel(bounded(t))
	called := make(chan error, 1)
	go func() { _, err := c.Interrupt(ctx, "worker", client.LifecycleRequest{}); called <- err }()
	<-city.entered
	hangUp()
	if err := <-called; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	close(city.proceed)
	if err := <-city.ended; err != nil {
		t.Errorf("the verb was broken off: %v", err)
	}
}

type slowCity struct {
	*stubCity
	entered, proceed chan struct{}
	ended            chan error
}

func (c *slowCity) Interrupt(ctx context.Context, _ string, _ client.LifecycleRequest) (client.Done, error) {
	close(c.entered)
	<-c.proceed
	c.ended <- ctx.Err()
	return client.Done{}, nil
}
