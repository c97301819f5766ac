package notify

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"gascity/internal/config"
	"gascity/internal/store"
	"gascity/test/tier"
)

// TestFiftyQuestionsAreDeliveredInTime: 50 agents ask at the same time, again and again, with a database on disk and a web service
// that takes 20 ms. The time from the event of a question to its arrival at the service is at most 2 s, also for the slowest one.
func TestFiftyQuestionsAreDeliveredInTime(t *testing.T) {
	tier.Process(t)
	var mu sync.Mutex
	arrived := map[string]time.Time{}
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range questionIDs(body) {
			arrived[id] = got
		}
		wait := time.NewTimer(20 * time.Millisecond)
		defer wait.Stop()
		<-wait.C
	}))
	t.Cleanup(service.Close)
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "city.db")})
	if err != nil {
		t.Fatal(err)
	}
	c := newTown(t)
	c.events = db
	s := settings(nil)
	s.Sinks[0] = NewSink(&config.Notify{Name: "x", Type: config.NotifyWebhook, URL: config.ParseSecret(service.URL), Timeout: 10 * time.Second}, Environment{})
	c.engine = New(Options{City: c, Store: db, Events: db, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Link: noLink, Root: "/town", Secrets: c.secrets})
	c.engine.Configure(s)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.engine.Run(ctx) }) // never fails
	defer func() {
		cancel()
		running.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	eventually(t, func() bool {
		state, err := db.NotificationState(t.Context())
		return err == nil && len(state.Sinks) == 1
	})
	asked := map[string]time.Time{}
	for range 4 {
		var asking sync.WaitGroup
		for i := range 50 {
			asking.Go(func() {
				at := time.Now()
				id := c.ask(fmt.Sprint("agent-", i), "May I?")
				mu.Lock()
				defer mu.Unlock()
				asked[id] = at
			})
		}
		asking.Wait()
		eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			for id := range asked {
				if arrived[id].IsZero() {
					return false
				}
			}
			return true
		})
	}
	var delays []time.Duration
	for id, at := range asked {
		delays = append(delays, arrived[id].Sub(at))
	}
	slices.Sort(delays)
	p50, p99, worst := delays[len(delays)/2], delays[len(delays)*99/100], delays[len(delays)-1]
	t.Logf("%d questions: p50 %v, p99 %v, worst %v", len(delays), p50, p99, worst)
	if p99 > 2*time.Second {
		t.Errorf("p99 is %v, want at most 2 s", p99)
	}
}
