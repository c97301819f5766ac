package runtime_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

// TestTerminalWithoutTheExtension: the text of Peek is shown only while a caller waits for a frame, each frame says
// that it is plain, and nothing can be typed.
func TestTerminalWithoutTheExtension(t *testing.T) {
	p, plain := started(t)
	ctx := t.Context()
	if _, err := runtime.OpenTerminal(ctx, plain, "a", runtime.TerminalOptions{Type: true}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a terminal that types = %v, want %v", err, errors.ErrUnsupported)
	}
	if _, err := runtime.OpenTerminal(ctx, plain, "none", runtime.TerminalOptions{}); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("a missing session = %v, want %v", err, runtime.ErrSessionNotFound)
	}
	v, err := runtime.OpenTerminal(ctx, plain, "a", runtime.TerminalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.Next(ctx)
	if err != nil || !f.Plain || f.Cols < 2 || f.Rows < 2 || !strings.Contains(string(f.Output), "fake agent") {
		t.Errorf("the first frame is %+v (%q), %v", f, f.Output, err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if f, err := v.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next of an unchanged screen = %+v, %v", f, err)
	}
	if err := v.Write(ctx, []byte("x")); !errors.Is(err, runtime.ErrTerminalWatchOnly) {
		t.Errorf("Write = %v, want %v", err, runtime.ErrTerminalWatchOnly)
	}
	peeks := len(p.Calls("Peek"))
	if err := p.Nudge("a", runtime.TextContent("a \x1b[31mmarker\x1b[0m")); err == nil {
		t.Error("the fake accepts control characters")
	}
	if err := p.Nudge("a", runtime.TextContent("the marker")); err != nil {
		t.Fatal(err)
	}
	if now := len(p.Calls("Peek")); now != peeks {
		t.Errorf("no caller waits for a frame, and Peek was called %d times", now-peeks)
	}
	if f, err = v.Next(ctx); err != nil || !strings.Contains(string(f.Output), "the marker") {
		t.Errorf("the next frame is %q, %v", f.Output, err)
	}
	if err := p.Stop("a"); err != nil {
		t.Fatal(err)
	}
	if f, err = v.Next(ctx); err != nil || !f.Ended || !strings.Contains(string(f.Output), "the marker") {
		t.Errorf("the last frame is %+v (%q), %v", f, f.Output, err)
	}
	if _, err = v.Next(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("Next after the end = %v, want %v", err, io.EOF)
	}
}
