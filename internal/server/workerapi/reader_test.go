package workerapi_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// TestASlowReaderIsCutOff checks that a reader that reads nothing gets the reason if possible, and
// that the handler returns.
func TestASlowReaderIsCutOff(t *testing.T) {
	city := &fakeCity{items: make(chan session.StreamItem)}
	path := serve(t, city)
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /stream?run_id=one HTTP/1.1\r\nHost: city\r\nAuthorization: Bearer "+tokenOne+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	big, err := json.Marshal(strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	end := time.After(time.Minute)
	for i := uint64(1); ; i++ {
		if city.ended() > 0 {
			return
		}
		select {
		case city.items <- session.StreamItem{Message: &worker.Message{Seq: i, ID: "m", Kind: worker.PromptMessage, Data: big}}:
		case <-time.After(50 * time.Millisecond):
		case <-end:
			t.Fatal("a reader that takes nothing is never cut off")
		}
	}
}

// TestASlowReaderThatGoesOnIsServed checks that a message to a slow reader may take longer than the
// limit of one write, and arrives unchanged.
func TestASlowReaderThatGoesOnIsServed(t *testing.T) {
	for _, network := range []string{"unix", "tcp4"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			const stall, size, each, pause = 2 * time.Second, 3 << 20, 24 << 10, 25 * time.Millisecond // 3.2 s
			address, host := "127.0.0.1:0", "city"
			if network == "unix" {
				address = filepath.Join(shortDir(t), "w.sock")
			}
			l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
			if err != nil {
				t.Fatal(err)
			}
			city := &fakeCity{items: make(chan session.StreamItem, 2)}
			serveOn(t, l, city, stall)
			if network != "unix" {
				host = l.Addr().String()
			}
			want := strings.Repeat("x", size)
			data, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			city.items <- session.StreamItem{Message: &worker.Message{Seq: 7, ID: "m", Kind: worker.PromptMessage, Data: data}}
			city.items <- session.StreamItem{End: true}
			close(city.items)
			conn, err := new(net.Dialer).DialContext(t.Context(), network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "GET /stream?run_id=one HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", host, tokenOne); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReaderSize(conn, 4096), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var got strings.Builder
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for err == nil {
				<-tick.C
				_, err = io.CopyN(&got, res.Body, each)
			}
			if !errors.Is(err, io.EOF) {
				t.Fatalf("after %d bytes: %v", got.Len(), err)
			}
			event := "id: 7\nevent: prompt\ndata: {\"seq\":7,\"id\":\"m\",\"kind\":\"prompt\",\"at\":\"0001-01-01T00:00:00Z\",\"data\":\"" + want + "\"}\n\nevent: end\ndata: {}\n\n"
			if text := got.String(); !strings.HasSuffix(text, event) {
				t.Errorf("got %d bytes: %.120q ... %.80q", len(text), text, text[max(0, len(text)-80):])
			}
		})
	}
}

// TestLaggedIsTheLastEvent checks that a reader that is too slow gets the event "lagged" and
// nothing after it.
func TestLaggedIsTheLastEvent(t *testing.T) {
	d := newTestServer(t, false)
	d.city.items = make(chan session.StreamItem, 3)
	d.city.items <- session.StreamItem{Gap: &worker.Gap{From: 4, Next: 9}}
	d.city.items <- session.StreamItem{Lagged: true}
	close(d.city.items)
	body := d.request(endpoint{method: "GET", path: "/stream?run_id=one"}, tokenOne, nil).body
	if !strings.HasSuffix(body, "event: gap\ndata: {\"from\":4,\"next\":9}\n\nevent: lagged\ndata: {}\n\n") {
		t.Errorf("got %q", body)
	}
}
