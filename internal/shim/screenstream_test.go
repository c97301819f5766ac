package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"gascity/internal/terminal/vt"
)

func openStream(t *testing.T, c *Client, req StreamRequest) *ScreenStream {
	t.Helper()
	s, err := c.Stream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// follow reads frames into the screen until it shows the text.
func follow(t *testing.T, s *ScreenStream, screen *vt.Screen, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !strings.Contains(strings.Join(screen.Rows(), "\n"), text) {
		f, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for %q: %v in\n%s", text, err, strings.Join(screen.Rows(), "\n"))
		}
		screen.Resize(f.Cols, f.Rows)
		screen.Write(f.Output)
	}
}

// A stream has the session's size, whatever it is, and never changes it: the agent gets no SIGWINCH from streams that
// are opened, type and are closed.
func TestStreamHasTheSizeOfTheSession(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("size", `stty -echo; trap 'echo resized; stty size' WINCH; exec 3<&0; cat <&3 & echo up; while :; do sleep 0.02; done`))
	frameWith(t, c, "up")
	for i := range 5 {
		watching, typing := openStream(t, c, StreamRequest{}), openStream(t, c, StreamRequest{Type: true})
		attached(t, c, 1)
		screen := vt.New(1, 1, nil)
		follow(t, watching, screen, "up")
		if cols, rows := screen.Size(); cols != DefaultCols || rows != DefaultRows {
			t.Errorf("a frame of %dx%d, want the session's %dx%d", cols, rows, DefaultCols, DefaultRows)
		}
		word := fmt.Sprintf("word-%d", i)
		if err := typing.Type(t.Context(), []byte(word+"\r")); err != nil {
			t.Fatal(err)
		}
		follow(t, watching, screen, word)
		watching.Close()
		typing.Close()
		attached(t, c, 0)
	}
	text, err := c.Text(t.Context(), 0)
	if err != nil || strings.Contains(text, "resized") {
		t.Errorf("the agent was resized: %v\n%s", err, text)
	}
	stream, screen := openStream(t, c, StreamRequest{}), vt.New(1, 1, nil)
	follow(t, stream, screen, "up")
	attach(t, c, AttachRequest{Cols: 90, Rows: 25})
	follow(t, stream, screen, "25 90")
	if cols, rows := screen.Size(); cols != 90 || rows != 25 {
		t.Errorf("a frame of %dx%d, want the session's new size 90x25", cols, rows)
	}
}

// What a stream types is input of a person: it waits for the hold of a delivery and is reported as such.
func TestStreamTypesAsAPerson(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("type", "stty raw -echo; echo up; cat"))
	frameWith(t, c, "up")
	s, screen := openStream(t, c, StreamRequest{Type: true}), vt.New(1, 1, nil)
	follow(t, s, screen, "up")
	release, err := c.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	typed := make(chan error, 1)
	go func() { typed <- s.Type(t.Context(), []byte("typed")) }()
	if err := c.Send(t.Context(), []byte("delivered-")); err != nil {
		t.Fatal(err)
	}
	follow(t, s, screen, "delivered-")
	if state, err := c.State(t.Context()); err != nil || !state.LastHuman.IsZero() {
		t.Errorf("during the hold a person has typed at %v, %v", state.LastHuman, err)
	}
	release()
	if err := <-typed; err != nil {
		t.Fatal(err)
	}
	follow(t, s, screen, "delivered-typed")
	if state, err := c.State(t.Context()); err != nil || time.Since(state.LastHuman) > time.Minute {
		t.Errorf("the last input of a person was at %v, %v", state.LastHuman, err)
	}
}

// The last frame has the last output, and then the stream has ended.
func TestStreamEndsWithTheAgent(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("end", "read x; echo bye; exit 7"))
	s, screen := openStream(t, c, StreamRequest{Type: true}), vt.New(1, 1, nil)
	if err := s.Type(t.Context(), []byte("\r")); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; {
		frame, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		screen.Resize(frame.Cols, frame.Rows)
		screen.Write(frame.Output)
		ended = frame.Ended
	}
	if text := strings.Join(screen.Rows(), "\n"); !strings.Contains(text, "bye") {
		t.Errorf("the last frame shows\n%s", text)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Next after the end = %v, want %v", err, io.EOF)
	}
	if err := s.Type(t.Context(), []byte("x")); !errors.Is(err, ErrExited) && !errors.Is(err, ErrNoShim) {
		t.Errorf("Type after the end = %v, want %v", err, ErrExited)
	}
}

// A shim of the previous release does not know the request.
func TestStreamOfThePreviousRelease(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("old", "cat"))
	for _, path := range []string{"/no-such-terminal", "/no-such-type"} { // as the release before /terminal and /type answers
		if err := c.call(t.Context(), http.MethodPost, path, StreamRequest{}, nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a request that the shim does not know = %v, want %v", err, errors.ErrUnsupported)
		}
	}
}

// TestFramesEqualPeek: after any mixture of output, sizes, lost and new connections, an emulator fed with the frames shows what
// a peek returns.
func TestFramesEqualPeek(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("property", "stty raw -echo; echo up; cat"))
	frameWith(t, c, "up")
	random := rand.New(rand.NewPCG(4, 2))
	s, screen := openStream(t, c, StreamRequest{}), vt.New(7, 3, nil)
	pieces := []string{
		"plain text ", "\r\n", "größer ☃ ", "日本語 ", "👩‍👩‍👧 ", "e\u0301", "\x1b[31;1mred\x1b[0m ", "\x1b[2J", "\x1b[H", "\x1b[5;10H", "\x1b[K", "\x1b[1L", "\x1b[2M", "\x1b[3@", "\x1b[2P",
		"\x1b[?1049h", "\x1b[?1049l", "\x1b[2;20r", "\x1b[r", "\x1b[?25l", "\x1b[?25h", "\x1b[?2004h", "\x1b[?1000;1006h", "\x1b[?1000;1006l", "\x1b]2;title\x07", "\t", "\b", "\x1b[7l", "\x1b(0lqk\x1b(B",
		"\x1b]8;;https://example.com\x07link\x1b]8;;\x07 ", strings.Repeat("wrapped line ", 30), "\x1b[48;2;1;2;3m \x1b[0m", "\x1bM", "\x1b[S", "\x1b7", "\x1b8",
	}
	for round := range 150 {
		for range 1 + random.IntN(8) {
			if err := c.Send(t.Context(), []byte(pieces[random.IntN(len(pieces))])); err != nil {
				t.Fatal(err)
			}
		}
		switch random.IntN(6) {
		case 0:
			if err := c.Resize(t.Context(), 20+random.IntN(150), 5+random.IntN(50)); err != nil {
				t.Fatal(err)
			}
		case 1: // the emulator stays, as in a page that connects again
			s.Close()
			s = openStream(t, c, StreamRequest{})
		case 2:
			short, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(12))*time.Millisecond)
			if frame, err := s.Next(short); err == nil {
				screen.Resize(frame.Cols, frame.Rows)
				screen.Write(frame.Output)
			}
			cancel()
		}
		mark := fmt.Sprintf("mark-%d", round)
		if err := c.Send(t.Context(), []byte("\x1b[r\x1b[1;1H\x1b[K"+mark)); err != nil {
			t.Fatal(err)
		}
		follow(t, s, screen, mark)
		want, err := c.Frame(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Text(t.Context(), want.Rows)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimRight(strings.Join(screen.Rows(), "\n"), "\n"); !strings.HasSuffix(text, got) { // a peek fills up with lines above the screen
			t.Fatalf("round %d, %dx%d: the emulator shows\n%s\na peek returns\n%s", round, want.Cols, want.Rows, got, text)
		}
		real := vt.New(want.Cols, want.Rows, nil)
		real.Write(want.Redraw)
		for y := range want.Rows {
			if got, want := fmt.Sprint(screen.Row(y)), fmt.Sprint(real.Row(y)); got != want {
				t.Fatalf("round %d: row %d of the emulator is\n%s\nwant\n%s", round, y, got, want)
			}
		}
		if got, want := screen.Cursor(), real.Cursor(); got.X != want.X || got.Y != want.Y || got.Visible != want.Visible {
			t.Fatalf("round %d: the cursor of the emulator is %+v, that of the session %+v", round, got, want)
		}
	}
}
