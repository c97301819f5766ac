package remote_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"gascity/internal/driver/remote"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// source is a far driver whose sessions have one file each.
type source struct {
	runtime.Provider

	send func(ctx context.Context, src string, w io.Writer) error
}

func (s source) CopyFrom(ctx context.Context, _, src string, w io.Writer) error {
	return s.send(ctx, src, w)
}

func fetching(t *testing.T, send func(ctx context.Context, src string, w io.Writer) error) (*remote.Provider, *remoteMachine) {
	t.Helper()
	f := newRemoteMachine(source{fake.New(), send}, t.TempDir())
	t.Cleanup(f.close)
	p := remote.Open(remote.Options{Where: "there", Dial: f.dial})
	t.Cleanup(func() { p.Close() })
	return p, f
}

// zeros writes so many MiB, one write of an odd length after the other.
func zeros(w io.Writer, mib int) error {
	some := make([]byte, 10007)
	for left := mib << 20; left > 0; {
		n, err := w.Write(some[:min(left, len(some))])
		left -= n
		if err != nil {
			return err
		}
	}
	return nil
}

type tally struct{ n int64 }

func (t *tally) Write(p []byte) (int, error) {
	t.n += int64(len(p))
	return len(p), nil
}

// What the far end writes arrives whole, beside other calls, and its error as it is.
func TestFetch(t *testing.T) {
	p, _ := fetching(t, func(_ context.Context, src string, w io.Writer) error {
		if src == "missing" {
			return &runtime.Error{Op: "copy from", Session: "a", Err: fs.ErrNotExist}
		}
		if err := zeros(w, 64); err != nil {
			return err
		}
		if src == "broken" {
			return errors.New("the disk is broken")
		}
		return nil
	})
	for src, want := range map[string]string{"big": "", "broken": "the disk is broken"} {
		var got tally
		err := runtime.CopyFrom(t.Context(), p, "a", src, &got)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", src, err)
		}
		if got.n != 64<<20 {
			t.Errorf("%s: %d bytes came", src, got.n)
		}
	}
	if err := runtime.CopyFrom(t.Context(), p, "a", "missing", io.Discard); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// A slow reader delays its own copy only, and the far end writes no more than fits into the
// stream.
func TestFetchWaitsForItsReader(t *testing.T) {
	written := make(chan int, 1)
	p, _ := fetching(t, func(ctx context.Context, _ string, w io.Writer) error {
		n := 0
		defer func() { written <- n }()
		for ; ; n++ {
			if err := zeros(w, 1); err != nil {
				return errors.Join(err, context.Cause(ctx))
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	reader := pausedWriter{make(chan struct{}, 1<<10), make(chan struct{})}
	got := make(chan error, 1)
	go func() { got <- runtime.CopyFrom(ctx, p, "a", "big", reader) }()
	<-reader.took
	if _, err := p.ListRunning(""); err != nil { // the connection serves others
		t.Error(err)
	}
	cancel()
	select {
	case n := <-written:
		if n > 1 {
			t.Errorf("%d MiB were written for a reader that takes none", n)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the far end goes on for somebody who has left")
	}
	close(reader.on)
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("CopyFrom = %v", err)
	}
}

// pausedWriter reports each piece, and returns when it may go on.
type pausedWriter struct{ took, on chan struct{} }

func (h pausedWriter) Write(p []byte) (int, error) {
	h.took <- struct{}{}
	<-h.on
	return len(p), nil
}

// A connection that is lost in the middle is an error, and not an end.
func TestFetchIsCutOff(t *testing.T) {
	var f *remoteMachine
	p, f := fetching(t, func(_ context.Context, _ string, w io.Writer) error {
		err := zeros(w, 2)
		f.closeConnections(nil)
		return err
	})
	if err := runtime.CopyFrom(t.Context(), p, "a", "big", io.Discard); !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("CopyFrom = %v", err)
	}
}

// An error of this machine's, a full disk, ends the far end's work.
func TestFetchNobodyTakes(t *testing.T) {
	ended := make(chan error, 1)
	p, _ := fetching(t, func(_ context.Context, _ string, w io.Writer) error {
		err := zeros(w, 1<<10)
		ended <- err
		return err
	})
	full := errors.New("the disk is full")
	if err := runtime.CopyFrom(t.Context(), p, "a", "big", refusing{full}); !errors.Is(err, full) || errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("CopyFrom = %v", err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("all of it was written")
		}
	case <-time.After(20 * time.Second):
		t.Error("the far end goes on")
	}
}

type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }
