package shim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"gascity/internal/terminal/screen"
)

// openChildTerminal returns a raw terminal's input, and the program's end of it.
func openChildTerminal(t *testing.T) (*childInput, *os.File) {
	t.Helper()
	s, err := openStreams(&Spec{}) // pipes: what is written is what is read
	if err != nil {
		t.Fatal(err)
	}
	q := s.Input(t.Context())
	program := s.child[0]
	t.Cleanup(func() {
		q.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return q, program
}

func readChild(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A write that gave up does not make the next one fail.
func TestWriteAfterOneThatGaveUp(t *testing.T) {
	q, program := openChildTerminal(t)
	full := bytes.Repeat([]byte("x"), 1<<20)
	for range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		n, err := write(ctx, q, full)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a write to a program that does not read: %d, %v", n, err)
		}
		readChild(t, program, n)
		if n, err := write(t.Context(), q, []byte("next")); err != nil || n != 4 {
			t.Fatalf("the next write: %d, %v", n, err)
		}
		if got := readChild(t, program, 4); got != "next" {
			t.Fatalf("the program reads %q", got)
		}
	}
}

// Pieces of many writers never mix.
func TestPiecesDoNotMix(t *testing.T) {
	q, program := openChildTerminal(t)
	const writers, size = 8, 100 << 10
	done := make(chan error, writers)
	for i := range writers {
		go func() {
			_, err := write(t.Context(), q, bytes.Repeat([]byte{'a' + byte(i)}, size))
			done <- err
		}()
	}
	for range writers {
		piece := readChild(t, program, size)
		if piece != strings.Repeat(piece[:1], size) {
			t.Fatal("two pieces are mixed")
		}
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Answers to queries never block, and stop with Close.
func TestRepliesNeverBlock(t *testing.T) {
	q, program := openChildTerminal(t)
	for range 1000 {
		q.Reply(bytes.Repeat([]byte("r"), 1000)) // more than anybody reads
	}
	if got := readChild(t, program, 1000); got != strings.Repeat("r", 1000) {
		t.Errorf("the program reads %.20q", got)
	}
	q.Close()
	q.Close()
	q.Reply([]byte("late"))
}

// A terminal's two ends obey deadlines: what waits on them can always be ended.
func TestTerminalCanBePolled(t *testing.T) {
	s, err := openStreams(&Spec{Terminal: true, Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Resize(90, 30); err != nil {
		t.Fatal(err)
	}
	if mode := s.LineState().Line; mode != screen.LineCooked {
		t.Errorf("a new terminal has line mode %v", mode)
	}
	if err := s.out.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.out.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read past its deadline: %v", err)
	}
	if _, err := s.in.WriteString("this is not read\n"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; {
		input := s.LineState().Input
		if input == screen.InputWaiting {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("input that is not read is reported as %d", input)
		}
		<-time.After(time.Millisecond)
	}
}

// write writes p in one piece.
func write(ctx context.Context, q *childInput, p []byte) (int, error) {
	return q.WriteNext(ctx, func() ([]byte, error) { return p, nil })
}
