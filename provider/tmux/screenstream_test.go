package tmux_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/terminal/vt"
	"gascity/provider/tmux"
	"gascity/runtime"
)

// TestFramesEqualPeek: after any mixture of output, lost and new terminals, an emulator fed with the frames shows what Peek
// returns.
func TestFramesEqualPeek(t *testing.T) {
	t.Parallel()
	p := newTestCity(t)
	const name = "frames"
	if err := p.Start(t.Context(), name, runtime.Config{Command: "stty raw -echo; echo up; exec cat", WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	open := func(typing bool) runtime.Terminal {
		v, err := p.OpenTerminal(t.Context(), name, runtime.TerminalOptions{Type: typing})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { v.Close() })
		return v
	}
	typist, v, screen := open(true), open(false), vt.New(5, 5, nil)
	follow := func(text string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for !strings.Contains(strings.Join(screen.Rows(), "\n"), text) {
			f, err := v.Next(ctx)
			if err != nil {
				t.Fatalf("waiting for %q: %v in\n%s", text, err, strings.Join(screen.Rows(), "\n"))
			}
			screen.Resize(f.Cols, f.Rows)
			screen.Write(f.Output)
		}
	}
	follow("up")
	random := rand.New(rand.NewPCG(3, 4))
	pieces := []string{
		"plain ", "\r\n", "größer ☃ ", "日本語 ", "\x1b[31;1mred\x1b[0m ", "\x1b[2J", "\x1b[H", "\x1b[5;10H", "\x1b[K", "\x1b[1L", "\x1b[2M", "\x1b[?1049h", "\x1b[?1049l", "\x1b[2;20r", "\x1b[r",
		"\x1b[?25l", "\x1b[?25h", strings.Repeat("wrapped line ", 30), "\x1b[48;2;1;2;3m \x1b[0m", "\x1b(0lqk\x1b(B ",
	}
	for round := range 40 {
		for range 1 + random.IntN(8) {
			if err := typist.Write(t.Context(), []byte(pieces[random.IntN(len(pieces))])); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(6) == 0 {
			v.Close()
			v = open(false)
		}
		mark := "mark-" + strconv.Itoa(round)
		if err := typist.Write(t.Context(), []byte("\x1b[r\x1b[1;1H\x1b[K"+mark)); err != nil {
			t.Fatal(err)
		}
		follow(mark)
		text, err := p.Peek(name, 60)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimRight(strings.Join(screen.Rows(), "\n"), "\n"); !strings.HasSuffix(text, got) {
			t.Fatalf("round %d: the emulator shows\n%s\na peek returns\n%s", round, got, text)
		}
	}
}

// TestLiveTerminalAndNudges has a person type in a live terminal while nudges are delivered. No byte of the person is lost,
// joined to a nudge or submitted by one.
func TestLiveTerminalAndNudges(t *testing.T) {
	t.Parallel()
	r := newTestCity(t, func(cfg *tmux.Config) { cfg.HumanQuiet = 600 * time.Millisecond })
	a := r.start("typed", "claude", "--think 5ms")
	terminal, err := r.OpenTerminal(t.Context(), a.name, runtime.TerminalOptions{Type: true})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	stop, typed := make(chan struct{}), make(chan []string, 1)
	go func() {
		var lines []string
		defer func() { typed <- lines }()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(random.Int64N(int64(2 * time.Second)))):
			}
			line := "person " + strconv.Itoa(n)
			for _, key := range append(strings.Split(line, ""), "\r") {
				if err := terminal.Write(t.Context(), []byte(key)); err != nil {
					t.Error(err)
					return
				}
				<-time.After(time.Duration(random.Int64N(int64(25 * time.Millisecond))))
			}
			lines = append(lines, line)
		}
	}()
	var want []string
	for i := range 12 {
		text := "nudge " + strconv.Itoa(i)
		want = append(want, text)
		<-time.After(time.Duration(i%5) * 100 * time.Millisecond)
		for {
			out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent(text)})
			if err != nil || out.State != runtime.OutcomeRefused && out.State != runtime.OutcomeSubmitted {
				t.Fatalf("%s: %+v, %v", text, out, err)
			}
			if out.State == runtime.OutcomeSubmitted {
				break
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	close(stop)
	want = append(want, <-typed...)
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	var got []string
	for _, record := range a.wait(ledger.Prompt, len(want)) {
		got = append(got, record.Text)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the agent got\n%q\nwant\n%q", got, want)
	}
}

// TestUnfinishedLineStaysWhole sends the first half of a line, and then delivers a prompt: before the agent has read the half, so
// the screen shows an empty input box, or when the box shows the half. The agent gets the whole line, and the prompt separately.
func TestUnfinishedLineStaysWhole(t *testing.T) {
	t.Parallel()
	for _, by := range []struct {
		name string
		open func(t *testing.T, a *agent) (send func(text string) error)
	}{
		{"terminal", func(t *testing.T, a *agent) func(string) error {
			terminal, err := a.OpenTerminal(t.Context(), a.name, runtime.TerminalOptions{Type: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := terminal.Close(); err != nil {
					t.Error(err)
				}
			})
			return func(text string) error { return terminal.Write(t.Context(), []byte(text)) }
		}},
		{"keys", func(_ *testing.T, a *agent) func(string) error {
			return func(text string) error { return a.SendKeys(a.name, strings.Split(text, "")...) }
		}},
	} {
		unfinishedLine := func(t *testing.T, flags string, shown bool) {
			t.Parallel()
			r := newTestCity(t, func(cfg *tmux.Config) { cfg.HumanQuiet = time.Millisecond })
			a := r.start("late", "claude", flags)
			a.prompt("first")
			send := by.open(t, a)
			if err := send("half "); err != nil {
				t.Fatal(err)
			}
			if shown {
				until(t, "the half line is on the screen", func() bool {
					screen, err := a.Peek(a.name, 0)
					return err == nil && strings.Contains(screen, "half")
				})
			}
			out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent("second")})
			if err != nil || out.State != runtime.OutcomeRefused {
				t.Errorf("after a half line: %+v, %v", out, err)
			}
			if err := send("and half"); err != nil {
				t.Fatal(err)
			}
			if err := a.SendKeys(a.name, "Enter"); err != nil {
				t.Fatal(err)
			}
			a.prompt("second")
			a.wantPrompts("first", "half and half", "second")
		}
		t.Run(by.name+"/unread", func(t *testing.T) { unfinishedLine(t, "--slow-read 1s", false) })
		t.Run(by.name+"/shown", func(t *testing.T) { unfinishedLine(t, "", true) })
	}
}
