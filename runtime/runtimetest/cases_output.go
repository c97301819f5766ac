package runtimetest

import (
	"fmt"
	"strings"
	"time"

	"gascity/runtime"
)

// outputCases returns the cases about Peek and ClearScrollback.
func outputCases() []Case {
	return []Case{
		prove("peek.output", "Peek returns what the agent printed.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{Say: []string{"hello from the start", "größer than ☃"}})
			s.AwaitOutput("hello from the start\ngrößer than ☃")
			s.Nudge("the marker 4711")
			s.AwaitOutput("the marker 4711")
		}),
		prove("peek.lines", `Peek returns the last N lines, N being the argument "lines", without trailing spaces and trailing blank lines; all lines if N <= 0.`, func(_ T, w *World) {
			s := w.Start("a", Behaviour{Say: []string{"one", "two   ", "", "four", "five"}})
			w.Until("a peek of two lines is the end of a peek of all", func() bool {
				all, err1 := w.Provider.Peek(s.Name, 0)
				more, err2 := w.Provider.Peek(s.Name, -1)
				two, err3 := w.Provider.Peek(s.Name, 2)
				lines := strings.Split(all, "\n")
				return err1 == nil && err2 == nil && err3 == nil && all == more && trimmed(lines) &&
					strings.Contains(all, "one\ntwo\n\nfour\nfive") && two == strings.Join(lines[len(lines)-2:], "\n")
			})
		}),
		prove("peek.scrollback", "Peek can return more lines than one screen has.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{Say: numbered(300)})
			s.AwaitOutput("line 1\nline 2\n")
			s.AwaitOutput("line 299\nline 300")
		}),
		prove("peek.exited", "Peek works on a session whose agent has exited.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond, ExitCode: 1, LastWords: "my last words"}, fireAndForget)
			s.AwaitEnd()
			s.AwaitOutput("my last words")
		}),
		prove("peek.missing", "Peek of a missing or stopped session returns ErrSessionNotFound.", func(t T, w *World) {
			s := w.Start("worker-10", Behaviour{})
			_, err := w.Provider.Peek(w.Name("worker-1"), 0)
			expect(t, runtime.ErrSessionNotFound, err, "Peek")
			s.Stop()
			_, err = w.Provider.Peek(s.Name, 0)
			expect(t, runtime.ErrSessionNotFound, err, "Peek after Stop")
		}),
		prove("clear.scrollback", "ClearScrollback deletes the lines above the visible screen, and the session continues.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Say: numbered(300)})
			s.AwaitOutput("line 300")
			expect(t, nil, w.Provider.ClearScrollback(s.Name), "ClearScrollback")
			w.Until("the scrollback is forgotten", func() bool {
				out, err := w.Provider.Peek(s.Name, 0)
				return err == nil && !strings.Contains(out, "line 1\n")
			})
			s.Nudge("still here")
			s.AwaitOutput("still here")
		}),
		prove("clear.missing", "ClearScrollback of a missing session returns nil.", func(t T, w *World) {
			expect(t, nil, w.Provider.ClearScrollback(w.Name("none")), "ClearScrollback")
		}),
	}
}

// numbered returns the lines "line 1" to "line COUNT".
func numbered(count int) []string {
	lines := make([]string, count)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i+1)
	}
	return lines
}

// trimmed reports whether no line ends in spaces and the last line is not blank.
func trimmed(lines []string) bool {
	for _, line := range lines {
		if strings.TrimRight(line, " \t\r") != line {
			return false
		}
	}
	return lines[len(lines)-1] != ""
}
