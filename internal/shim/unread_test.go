package shim

import (
	"errors"
	"syscall"
	"testing"

	"gascity/internal/terminal/inject"
)

// TestInputForAFrameIsRefusedBehindUnreadOutput: input for the present frame is refused if the program has
// written output that is not in a frame yet.
func TestInputForAFrameIsRefusedBehindUnreadOutput(t *testing.T) {
	c := &Spec{Argv: []string{"/bin/sh", "-c", "echo x"}, Dir: t.TempDir(), Terminal: true, Cols: 80, Rows: 24}
	streams, err := openStreams(c)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{seq: 5, run: &run{streams: streams}}
	h.deliveries.Begin("a", []byte("text"), nil)
	record := func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.recordInputLocked(inject.InputEnter, []byte("\r"), 5)
	}
	if err := record(); err != nil {
		t.Errorf("before any output: %v", err)
	}
	id, err := streams.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(id.PID, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "output", streams.HasOutput)
	if err := record(); !errors.Is(err, inject.ErrChanged) {
		t.Errorf("behind unread output: %v, want that the terminal has changed", err)
	}
	if err := streams.Close(); err != nil {
		t.Error(err)
	}
}
