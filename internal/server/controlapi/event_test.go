package controlapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// collect reads events until it has n, gaps included.
func collect(t *testing.T, c *client.Client, after uint64, n int, between func(read int)) (ids []uint64, gaps int) {
	t.Helper()
	for e, err := range c.Events(bounded(t), after) {
		if _, ok := errors.AsType[*client.GapError](err); ok {
			gaps++
			continue
		}
		if err != nil {
			t.Fatalf("after events %v: %v", ids, err)
		}
		ids = append(ids, e.ID)
		if len(ids) == n {
			return ids, gaps
		}
		if between != nil {
			between(len(ids))
		}
	}
	t.Fatalf("the stream ended after events %v", ids)
	return nil, 0
}

// TestStreamHasStoredEventsFirst checks that a stream of events begins with the stored ones and continues with new ones.
func TestStreamHasStoredEventsFirst(t *testing.T) {
	city, c := serve(t, Options{})
	for range 3 {
		city.emit("test", client.Agent{}, "past")
	}
	ids, gaps := collect(t, c, 1, 4, func(read int) {
		if read >= 2 {
			city.emit("test", client.Agent{}, "live")
		}
	})
	if want := []uint64{2, 3, 4, 5}; !slices.Equal(ids, want) || gaps != 0 {
		t.Errorf("read events %v with %d gaps, want %v", ids, gaps, want)
	}
}

// TestEventsSurviveARestartOfTheServer reads events while the server stops and starts again, and checks that none is missing and
// none comes twice.
func TestEventsSurviveARestartOfTheServer(t *testing.T) {
	city := &stubCity{Root: shortDir(t)}
	city.emit("test", client.Agent{}, "")
	c, stop := start(t, NewServer(city, Options{}), city.Root)
	ids, gaps := collect(t, c, 0, 4, func(read int) {
		if read == 1 {
			stop()
			city.emit("test", client.Agent{}, "")
			city.emit("test", client.Agent{}, "")
			_, _ = start(t, NewServer(city, Options{}), city.Root)
		}
		if read == 3 {
			city.emit("test", client.Agent{}, "")
		}
	})
	if want := []uint64{1, 2, 3, 4}; !slices.Equal(ids, want) || gaps != 0 {
		t.Errorf("read events %v with %d gaps, want %v", ids, gaps, want)
	}
}

// TestDeletedEventIsAGap checks that a reader that asks for deleted events gets a gap.
func TestDeletedEventIsAGap(t *testing.T) {
	city, c := serve(t, Options{})
	for range 5 {
		city.emit("test", client.Agent{}, "")
	}
	city.log.DropUntil(3)
	if ids, gaps := collect(t, c, 1, 2, nil); !slices.Equal(ids, []uint64{4, 5}) || gaps != 1 {
		t.Errorf("read events %v with %d gaps, want 4, 5 and one gap", ids, gaps)
	}
	page, err := c.PastEvents(bounded(t), 1)
	if err != nil || !page.Gap || page.Last != 5 || len(page.Events) != 2 {
		t.Errorf("the page is %+v, %v", page, err)
	}
}

// TestStreamWithoutEventsHasAHeartbeat checks that a stream without events sends a comment from time to time.
func TestStreamWithoutEventsHasAHeartbeat(t *testing.T) {
	city, _ := serve(t, Options{Heartbeat: time.Millisecond})
	req, err := http.NewRequestWithContext(bounded(t), http.MethodGet, "http://city/v1/events/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := rawClient(t, city.Root).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("the stream is of type %q", kind)
	}
	want := ": the event stream\n\n: heartbeat\n\n: heartbeat\n\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != want {
		t.Errorf("a silent stream says %q, %v", got, err)
	}
}

// TestASlowReaderIsCutOff connects a reader that reads nothing after the head of the stream, and checks that its connection ends
// and the city does not wait for it.
func TestASlowReaderIsCutOff(t *testing.T) {
	cut := make(cutOff, 1)
	city := &stubCity{Root: shortDir(t)}
	server := NewServer(city, Options{Log: slog.New(cut), Stall: 50 * time.Millisecond})
	c, _ := start(t, server, city.Root)
	conn, err := new(net.Dialer).DialContext(bounded(t), "unix", client.SocketPath(city.Root))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/events/stream HTTP/1.1\r\nHost: city\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for head := ""; !strings.Contains(head, ": the event stream"); { // from here on the stream has each event
		part := make([]byte, 1)
		if _, err := conn.Read(part); err != nil {
			t.Fatalf("the stream did not begin: %v after %q", err, head)
		}
		head += string(part)
	}
	big := strings.Repeat("x", 64<<10)
	const total = 2 * maxLag
	for range total {
		city.emit("test", client.Agent{}, big)
	}
	if _, err := c.Status(bounded(t)); err != nil {
		t.Fatalf("the server does not answer beside a slow reader: %v", err)
	}
	select {
	case <-cut:
	case <-bounded(t).Done():
		t.Fatal("the slow reader was not noticed")
	}
	if err := conn.SetReadDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the slow reader was not cut off: %v", err)
	}
	if n >= total*int64(len(big)) {
		t.Errorf("the slow reader got all %d bytes: the city waited for it", n)
	}
}

// cutOff is a log that waits for the end of a slow reader.
type cutOff chan struct{}

func (c cutOff) Enabled(context.Context, slog.Level) bool { return true }
func (c cutOff) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c cutOff) WithGroup(string) slog.Handler            { return c }
func (c cutOff) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "slow reader") {
		c <- struct{}{}
	}
	return nil
}

func TestEventsEndWithTheirContext(t *testing.T) {
	city, c := serve(t, Options{})
	city.emit("test", client.Agent{}, "")
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	count := 0
	for _, err := range c.Events(ctx, 0) {
		if err != nil {
			t.Fatalf("the end of ctx yields %v", err)
		}
		count++
		cancel()
	}
	if count != 1 {
		t.Errorf("read %d events, want 1", count)
	}
}

// TestDisconnectedReaderContinues closes the stream in the middle and checks that the client reads the other events over a new
// connection.
func TestDisconnectedReaderContinues(t *testing.T) {
	city := &cuttingCity{stubCity: &stubCity{Root: shortDir(t)}}
	for range 3 {
		city.emit("test", client.Agent{}, "")
	}
	c := serveCity(t, city, city.Root, Options{})
	if ids, gaps := collect(t, c, 0, 3, nil); !slices.Equal(ids, []uint64{1, 2, 3}) || gaps != 0 {
		t.Errorf("read events %v with %d gaps, want each once", ids, gaps)
	}
}

// cuttingCity gives one event and cuts off.
type cuttingCity struct{ *stubCity }

func (c *cuttingCity) Events(ctx context.Context, after uint64) ([]client.Event, bool, <-chan client.Event, error) { //nolint:revive // the interface has four results
	past, gap, _, err := c.stubCity.Events(ctx, after)
	closed := make(chan client.Event)
	close(closed)
	return past[:min(1, len(past))], gap, closed, err
}
