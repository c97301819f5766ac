package httpwire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gascity/internal/httpwire"
)

// TestWhatIsWrittenIsRead checks that a reader gets each event with its name and its whole data.
func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		res := httptest.NewRecorder()
		out := httpwire.NewStreamWriter(res, time.Minute)
		var want []string
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			kind := rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "kind")
			head, tail := rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "head"), strings.Repeat("x", rapid.IntRange(1, 20_000).Draw(t, "length"))
			out.Comment("a comment")
			out.Event(rapid.Uint64().Draw(t, "id"), kind, []byte(head), []byte(tail))
			want = append(want, kind+" "+head+tail)
		}
		var got []string
		err := httpwire.ReadEvents(res.Body, func(kind string, data []byte) error {
			got = append(got, kind+" "+string(data))
			return nil
		})
		if !errors.Is(err, io.ErrUnexpectedEOF) || out.Err() != nil {
			t.Fatalf("read until %v, written until %v", err, out.Err())
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("read %.200q, want %.200q", got, want)
		}
	})
}

// TestASilentStreamIsClosed checks that a heartbeat keeps a stream open and that silence ends it.
func TestASilentStreamIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		from, to := io.Pipe()
		go func() { // ends with the pipe
			time.Sleep(30 * time.Second)
			_, _ = io.WriteString(to, ": heartbeat\n\n") // the reader checks it
		}()
		open := func(ctx context.Context) (*http.Response, error) {
			context.AfterFunc(ctx, func() { _ = to.CloseWithError(context.Cause(ctx)) })
			return &http.Response{Body: from}, nil
		}
		err := httpwire.ReadStream(t.Context(), open, func(string, []byte) error { return nil })
		if took := time.Since(began); took != 75*time.Second || !errors.Is(err, context.Canceled) {
			t.Errorf("the stream was closed after %v with %v, want 75s", took, err)
		}
	})
}

// TestABusyReaderKeepsItsStream checks that only silence of the server ends a stream, not a reader that needs long for an event.
func TestABusyReaderKeepsItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		go func() { // ends with the pipe
			_, _ = io.WriteString(to, "data: 1\n\n") // the reader checks both
			_, _ = io.WriteString(to, "data: 2\n\n")
		}()
		open := func(ctx context.Context) (*http.Response, error) {
			context.AfterFunc(ctx, func() { _ = to.CloseWithError(context.Cause(ctx)) })
			return &http.Response{Body: from}, nil
		}
		events, began := 0, time.Now()
		err := httpwire.ReadStream(t.Context(), open, func(string, []byte) error {
			events++
			time.Sleep(time.Minute)
			return nil
		})
		if took := time.Since(began); events != 2 || took != 2*time.Minute+45*time.Second || !errors.Is(err, context.Canceled) {
			t.Errorf("%d events were read in %v, then: %v; want 2 in 2m45s", events, took, err)
		}
	})
}
