package workerapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/server/workerapi"
	"gascity/worker"
)

// waits is a city whose decisions wait until their context ends.
type waits struct {
	*fakeCity

	how          func(context.Context) error
	began, ended chan struct{}
}

func (c waits) Authorize(ctx context.Context, _ string, _ worker.Call) (worker.Decision, error) {
	c.began <- struct{}{}
	err := c.how(ctx)
	c.ended <- struct{}{}
	return worker.Decision{}, err
}

// TestContextsEndWithTheCallerAndTheServer checks, for all ways in which a handler uses its
// context, that it ends when the caller disconnects or the server stops. A caller that is still
// connected gets the error to ask another controller.
func TestContextsEndWithTheCallerAndTheServer(t *testing.T) {
	type key struct{}
	for name, how := range map[string]func(context.Context) error{
		"itself": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"a deadline below": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		},
		"a value below": func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, 1))
			defer cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		},
		"many at once": func(ctx context.Context) error {
			done := make(chan error, 8)
			for range cap(done) {
				go func() {
					<-ctx.Done()
					done <- ctx.Err()
				}()
			}
			for range cap(done) {
				if err := <-done; err == nil {
					return errOdd
				}
			}
			return context.Cause(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			city := waits{&fakeCity{}, how, make(chan struct{}, 1), make(chan struct{}, 1)}
			path := filepath.Join(shortDir(t), "w.sock")
			l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			served := make(chan error, 1)
			go func() { served <- workerapi.NewServer(city, workerapi.Options{}).Run(ctx, l) }()
			transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", path)
			}}
			defer transport.CloseIdleConnections()
			asked := func(ctx context.Context) <-chan answer {
				told := make(chan answer, 1)
				go func() { told <- (&testServer{t: t, client: &http.Client{Transport: transport}}).authorize(ctx) }()
				after(t, city.began)
				return told
			}
			impatient, hangUp := context.WithCancel(t.Context())
			told := asked(impatient)
			hangUp()
			after(t, city.ended)
			if got := after(t, told); got.status != 0 {
				t.Errorf("a caller that has hung up receives %d %s", got.status, got.body)
			}
			told = asked(t.Context())
			end()
			after(t, city.ended)
			if got := after(t, told); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "ask the next controller again") {
				t.Errorf("a caller whose controller ends receives %d %s", got.status, got.body)
			}
			if err := after(t, served); err != nil {
				t.Error(err)
			}
		})
	}
}

// authorize asks the guard until ctx ends. Without an answer it returns the zero value.
func (d *testServer) authorize(ctx context.Context) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://city/authorize", strings.NewReader(`{"tool":"Bash"}`))
	if err != nil {
		d.t.Error(err)
		return answer{}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+tokenOne)
	res, err := d.client.Do(req)
	if err != nil {
		return answer{}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Error(err)
	}
	return answer{res.StatusCode, res.Header.Get("Content-Type"), string(body)}
}

// after waits for an answer.
func after[T any](t *testing.T, from <-chan T) (word T) {
	t.Helper()
	select {
	case word = <-from:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	return word
}
