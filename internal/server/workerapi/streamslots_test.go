package workerapi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// TestOneWorkerReadsAStream connects two workers with one token. It checks that the second one is
// refused while the first one reads, that the first one loses nothing, and that the second one gets
// the stream when the first one has disconnected.
func TestOneWorkerReadsAStream(t *testing.T) {
	d := newTestServer(t, false)
	d.city.items = make(chan session.StreamItem)
	reads := func(ctx context.Context) (<-chan worker.Message, *worker.Client) {
		c := &worker.Client{Socket: d.addr.String(), Token: tokenOne, RunID: "one"}
		t.Cleanup(c.Close)
		got := make(chan worker.Message)
		go func() {
			for m, err := range c.Messages(ctx) {
				if err != nil {
					t.Error(err)
				}
				select {
				case got <- m:
				case <-ctx.Done():
				}
			}
			close(got)
		}()
		return got, c
	}
	send := func(seq uint64, to <-chan worker.Message) {
		t.Helper()
		d.city.items <- session.StreamItem{Message: &worker.Message{Seq: seq, ID: "m", Kind: worker.HealthMessage}}
		select {
		case m := <-to:
			if m.Seq != seq {
				t.Errorf("message %d came for %d", m.Seq, seq)
			}
		case <-time.After(time.Minute):
			t.Fatalf("message %d does not come", seq)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, _ := reads(ctx)
	d.city.items <- session.StreamItem{Message: &worker.Message{Seq: 1, ID: "first", Kind: worker.HealthMessage}}
	<-first
	d.refusesSecondReader()
	send(2, first)
	second, c := reads(t.Context()) // it waits for its turn, and may speak
	if err := c.ReportHealth(t.Context(), worker.Health{Status: worker.Healthy}); err != nil {
		t.Error(err)
	}
	cancel()
	for range first { // until it has gone
	}
	for end := time.After(time.Minute); d.city.ended() == 0; { // and the city knows
		select {
		case <-time.After(5 * time.Millisecond):
		case <-end:
			t.Fatal("the first stream does not end")
		}
	}
	send(3, second)
}

// refusesSecondReader checks that a second stream is unavailable.
func (d *testServer) refusesSecondReader() {
	d.t.Helper()
	d.city.resetCalls()
	d.refused("a second worker", endpoint{method: "GET", path: "/stream?run_id=one"}, tokenOne, nil, "unavailable")
	if d.city.ended() != 0 {
		d.t.Error("the first stream has ended")
	}
}

// TestAWorkerComesAgainAtOnce checks that a worker that has disconnected can open its stream again
// at once.
func TestAWorkerComesAgainAtOnce(t *testing.T) {
	d := newTestServer(t, false)
	d.city.items = make(chan session.StreamItem)
	c := &worker.Client{Socket: d.addr.String(), Token: tokenOne, RunID: "one"}
	defer c.Close()
	for i := range uint64(50) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go func() {
			for n := i << 32; ctx.Err() == nil; n++ { // the stream before may still take one
				select {
				case d.city.items <- session.StreamItem{Message: &worker.Message{Seq: n + 1, Kind: worker.HealthMessage}}:
				case <-ctx.Done():
				}
			}
		}()
		for _, err := range c.Messages(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Fatal("it does not come again")
		}
		cancel()
	}
	if log := d.logged(); log != "" {
		t.Errorf("logged %s", log)
	}
}
