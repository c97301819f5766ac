package browser

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/creack/pty"

	"gascity/client"
)

// rowsOfTerminal is an expression for the rows of the terminal of the page, without the blanks at their ends.
const rowsOfTerminal = `[...document.querySelectorAll('.xterm-rows > div')].map((e) => e.textContent.replaceAll('\u00a0', ' ').trimEnd())`

// attached is a person's terminal with gc attach. The agent has its size.
type attached struct {
	city *realCity
	tty  *os.File
}

// attach attaches a terminal to an agent. The terminal is closed at the end of the test.
func (c *realCity) attach(name string) attached {
	c.t.Helper()
	cmd := c.command("attach", name)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		c.t.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(io.Discard, tty) }) // a terminal that nothing reads stops its program
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill() // the agent keeps running
		_ = cmd.Wait()
		_ = tty.Close()
		reader.Wait()
	})
	return attached{c, tty}
}

// resize changes the size of the person's terminal, and returns when the agent has it.
func (a attached) resize(name string, cols, rows int) {
	t := a.city.t
	t.Helper()
	if err := pty.Setsize(a.tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil { //nolint:gosec // small
		t.Fatal(err)
	}
	a.city.until(fmt.Sprintf("the agent has %d columns and %d rows", cols, rows), func(ctx context.Context) bool {
		s, err := a.city.client.Screen(ctx, name)
		return err == nil && s.Cols == cols && s.Rows == rows
	})
}

// After any mixture of output, changed sizes of the agent and of the browser's window, lost connections, opened pages and changes of who
// types, the terminal of the page shows row by row what gc peek shows. Only the person's own terminal changes the size of the agent.
func TestTheTerminalEqualsPeek(t *testing.T) {
	program(t)
	city := newRealCity(t, func(root string) string { // the agent prints what is written to the pipe
		pipe := filepath.Join(root, "in")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		return agent("writer", "stty raw -echo; echo up; exec cat <>"+pipe)
	})
	city.until("the agent runs", func(ctx context.Context) bool {
		out, err := city.client.Peek(ctx, "writer", 0)
		return err == nil && strings.Contains(out.Text, "up")
	})
	in, err := os.OpenFile(filepath.Join(city.root, "in"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	print := func(text string) {
		t.Helper()
		if _, err := in.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	person := city.attach("writer")
	cols, rows := 100, 30
	person.resize("writer", cols, rows)
	p := openTab(t, nil, desk)
	p.expect("WebSocket")
	p.visit(city.link(client.ScopeManage))
	get[bool](p, `(() => {
		const Real = window.WebSocket;
		window.sockets = [];
		window.WebSocket = class extends Real { constructor(...args) { super(...args); window.sockets.push(this); } };
		return true;
	})()`)
	p.open("#/agent/writer")
	p.until("the terminal is watched", stateIs("Watching"))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 6)) //nolint:gosec // a test
	pieces := []string{
		"plain text ", "größer ☃ ", "日本語 ", "e\u0301 ", "\r\n", "line\r\n", "\x1b[31;1mred\x1b[0m ", strings.Repeat("wrapped line ", 20), "\x1b[H", "\x1b[5;10H", "\x1b[K", "\x1b[1L", "\x1b[2M",
		"\x1b[2J", "\x1b[?1049h", "\x1b[?1049l", "\x1b[3;9r", "\x1b[r", "\x1b[?25l", "\x1b[?25h", "\t", "\b", "\x1b(0lqk\x1b(B", "\x1b]8;;https://example.com\x07link\x1b]8;;\x07 ", "\x1bM", "\x1b[S", "\x1b7", "\x1b8",
	}
	last, did := "", map[string]int{}
	for round := range 40 {
		for range 1 + random.IntN(8) {
			print(pieces[random.IntN(len(pieces))])
		}
		step := []string{"size", "window", "lost", "page", "driver", "output"}[random.IntN(6)]
		did[step]++
		switch step {
		case "size":
			cols, rows = 20+random.IntN(150), 5+random.IntN(50)
			person.resize("writer", cols, rows)
		case "window":
			p.do(chromedp.EmulateViewport(int64(phone+random.IntN(1100)), int64(500+random.IntN(600))))
		case "lost":
			get[bool](p, `(window.sockets.at(-1).close(), true)`)
		case "page":
			p.open("#/fleet")
			p.until("another page", `!document.querySelector('.xterm')`)
			p.open("#/agent/writer")
		case "driver":
			p.until("the terminal is open", stateIs("Watching"))
			get[bool](p, `([...document.querySelectorAll('.terminal-bar button')].find((e) => e.innerText === 'Take over').click(), true)`)
			p.until("the page types", stateIs("You type"))
			get[bool](p, `([...document.querySelectorAll('.terminal-bar button')].find((e) => e.innerText === 'Stop typing').click(), true)`)
		}
		for range random.IntN(4) {
			print(pieces[random.IntN(len(pieces))])
		}
		mark := fmt.Sprintf("mark-%d.", round)
		print("\x1b[r\x1b(B\x1b[0m\x1b[1;1H\x1b[K" + mark)
		p.until("the mark is the first row", stateIs("Watching")+` && `+rowsOfTerminal+fmt.Sprintf(`[0] === %q`, mark))
		screen, err := city.client.Screen(t.Context(), "writer")
		if err != nil {
			t.Fatal(err)
		}
		if screen.Cols != cols || screen.Rows != rows {
			t.Fatalf("round %d, after %s: the agent has %d columns and %d rows, want %d and %d", round, step, screen.Cols, screen.Rows, cols, rows)
		}
		peek, err := city.client.Peek(t.Context(), "writer", 0)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimRight(peek.Text, "\n"), "\n")
		for i := range want {
			want[i] = strings.TrimRight(want[i], " ")
		}
		got := get[[]string](p, rowsOfTerminal)
		if len(got) != rows {
			t.Fatalf("round %d, after %s: the page has %d rows, want %d", round, step, len(got), rows)
		}
		shown := strings.TrimRight(strings.Join(got, "\n"), "\n") // it begins with the mark
		if whole := strings.Join(want, "\n"); whole != shown && !strings.HasSuffix(whole, "\n"+shown) {
			t.Fatalf("round %d, after %s, %dx%d: the page shows\n%s\nand gc peek\n%s", round, step, cols, rows, shown, whole)
		}
		if shown == last {
			t.Fatalf("round %d: the screen has not changed", round)
		}
		last = shown
	}
	t.Logf("%v", did)
}
