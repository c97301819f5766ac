package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/server/controlapi"
	"gascity/internal/web"
)

// An address that cannot be used does not turn the web console off: its open streams go on.
func TestAnAddressInUseTurnsNothingOff(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	ticket, _ := own.ticket(`{"session":"worker"}`)
	if res := own.terminal(ticket); res.StatusCode != http.StatusOK {
		t.Fatalf("the terminal answers %s", res.Status)
	}
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for _, listen := range []string{used.Addr().String(), "127.0.0.1:99999"} {
		if _, err := b.StartWeb(t.Context(), client.WebRequest{Listen: listen}); err == nil {
			t.Errorf("the web console moved to %s", listen)
		}
	}
	if res := own.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusOK {
		t.Errorf("the device gets %s", res.Status)
	}
	select {
	case err := <-b.ended:
		t.Errorf("the terminal ended: %v", err)
	default:
	}
}

// waitingCity is a city that accepts only the prompt "free"; another one waits.
type waitingCity struct {
	controlapi.City

	waits chan struct{} // gets an element for each request that waits
}

func (c waitingCity) Nudge(ctx context.Context, _ string, req client.NudgeRequest) (client.Receipt, error) {
	if req.Text == "free" {
		return client.Receipt{ID: "r-1"}, nil
	}
	c.waits <- struct{}{}
	<-ctx.Done()
	return client.Receipt{}, ctx.Err()
}

// Requests with a small body that wait for a prompt do not count as large ones: other prompts are
// accepted.
func TestWaitingPromptsKeepNoPromptOut(t *testing.T) {
	const many = 20
	city := waitingCity{waits: make(chan struct{}, many)}
	b := newBench(t, web.Settings{})
	b.Begin(t.Context(), controlapi.NewServer(city, controlapi.Options{}).Mount())
	if _, err := b.StartWeb(t.Context(), client.WebRequest{Listen: "[::1]:0"}); err != nil { // the next listener has these routes
		t.Fatal(err)
	}
	own := b.signedIn(t, client.ScopeType)
	ctx, cancel := context.WithCancel(t.Context())
	var answered sync.WaitGroup
	defer answered.Wait()
	defer cancel()
	for range many {
		answered.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, own.base+"/api/v1/sessions/worker/nudge", strings.NewReader(`{"text":"x"}`))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Origin", own.base)
			as(own)(req)
			res, err := own.http.Do(req)
			if err != nil {
				return // the test has ended
			}
			if res.StatusCode == http.StatusTooManyRequests {
				t.Error("a prompt that waits is refused")
				city.waits <- struct{}{}
			}
			_, _ = io.Copy(io.Discard, res.Body) // until the test ends
			_ = res.Body.Close()
		})
	}
	for range many {
		select {
		case <-city.waits:
		case <-time.After(deadline):
			t.Fatal("the prompts do not wait")
		}
	}
	if res := own.request(http.MethodPost, "/api/v1/sessions/worker/nudge", `{"text":"free"}`); res.StatusCode >= http.StatusBadRequest {
		t.Errorf("the next prompt is answered with %s: %s", res.Status, own.text(res))
	}
}
