package screen_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/test/terminal"
)

const startDelay = 700 * time.Millisecond

// paintAfter paints text after a moment.
func paintAfter(after time.Duration, text string) *terminal.Fake {
	t := terminal.New()
	time.AfterFunc(after, func() { t.Print(text) })
	return t
}

func TestReadySeesThePromptAtOnce(t *testing.T) {
	rule := strings.Repeat("─", terminal.Cols)
	tests := map[string]struct {
		profile, prefix, screen string
	}{
		"plain prefix":   {"generic", "> ", "Welcome\r\n> "},
		"NBSP":           {"generic", "❯ ", "❯\u00a0"},
		"in a box":       {"generic", "> ", "│ > Type here   │"},
		"indented":       {"gemini", "> ", "Gemini CLI v0.61.0\r\n >   Type your message or @path/to/file"},
		"text behind":    {"generic", "ready", "ready."},
		"framed":         {"claude", "❯ ", rule + "\r\n❯ Try \"fix it\"\r\n" + rule},
		"with status":    {"codex", "› ", "› Ask Codex to do anything\r\n\r\n  model default · ~/work"},
		"profile's mark": {"opencode", "", "\r\n  ┃  Ask anything…\r\n"},
		"without a mark": {"pi", "", rule + "\r\n\r\n" + rule},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				term := paintAfter(startDelay, test.screen)
				rules := terminal.Rules(t, test.profile)
				rules.ReadyPrefix, rules.ReadyDelay = test.prefix, 8*time.Second
				got, err := screen.Ready(t.Context(), term, rules, 0)
				if err != nil || got.State != screen.ReadyPrompt || got.After-startDelay >= 20*time.Millisecond {
					t.Errorf("%+v, %v, want the prompt within 20 ms of its paint", got, err)
				}
			})
		})
	}
}

func TestReadyIsNotFooled(t *testing.T) {
	tests := map[string]struct{ profile, prefix, screen string }{
		"longer prompt":  {"generic", "> ", ">>> "},
		"middle of row":  {"generic", "> ", "a > b"},
		"no history yet": {"gemini", "> ", " >   Type your message or @path/to/file"},
		"loading":        {"codex", "› ", "› Ask Codex to do anything\r\n\r\n  loading"},
		"no frame":       {"claude", "❯ ", "❯ hello"},
		"a dialog's row": {"claude", "❯ ", strings.Join(terminal.Trust, "\r\n")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := terminal.Rules(t, test.profile)
				rules.ReadyPrefix, rules.AnswerDialogs = test.prefix, false
				got, err := screen.Ready(t.Context(), paintAfter(time.Second, test.screen), rules, 0)
				if err != nil || got.State == screen.ReadyPrompt || got.After != 15*time.Second {
					t.Errorf("%+v, %v, want the end of the wait and no error", got, err)
				}
			})
		})
	}
}

func TestReadyDelayAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := screen.Rules{ReadyDelay: 3 * time.Second}
		if got, err := screen.Ready(t.Context(), terminal.New(), rules, 0); err != nil || got.State != screen.ReadyDelay || got.After != 3*time.Second {
			t.Errorf("without a prefix: %+v, %v, want the delay", got, err)
		}
		if got, err := screen.Ready(t.Context(), terminal.New(), screen.Rules{}, 0); err != nil || got.After != 0 {
			t.Errorf("without any hint: %+v, %v, want no wait", got, err)
		}
		term := terminal.New()
		time.AfterFunc(time.Second, func() { term.Set(func(f *screen.Frame) { f.Exited = true }) })
		if _, err := screen.Ready(t.Context(), term, screen.Rules{ReadyPrefix: "> "}, 0); !errors.Is(err, screen.ErrExited) {
			t.Errorf("exit: %v, want console.ErrExited", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := screen.Ready(ctx, terminal.New(), screen.Rules{ReadyPrefix: "> "}, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("end of ctx: %v", err)
		}
	})
}

// TestReadyWaitsForTheFirstFrame: the machine is so slow that nothing is drawn within the
// usual time; what comes then is answered all the same.
func TestReadyWaitsForTheFirstFrame(t *testing.T) {
	for after, want := range map[time.Duration]screen.ReadyState{25 * time.Second: screen.ReadyPrompt, 2 * time.Minute: screen.ReadyTimeout} {
		synctest.Test(t, func(t *testing.T) {
			p := &dialogProgram{t: terminal.New(), screens: [][]string{{"No, exit", "Yes, I trust this folder"}}, text: []string{trustWords}}
			p.t.Program = p.handleKeys
			time.AfterFunc(after, p.draw)
			rules := terminal.Rules(t, "claude")
			rules.ReadyPrefix, rules.ReadyDelay, rules.AnswerDialogs = "❯ ", 5*time.Second, true
			got, err := screen.Ready(t.Context(), p.t, rules, 0)
			if err != nil || got.State != want || got.After > time.Minute {
				t.Errorf("drawn after %v: %+v, %v", after, got, err)
			}
			if want == screen.ReadyPrompt && !slices.Equal(p.chosen, []string{"Yes, I trust this folder"}) {
				t.Errorf("chosen was %q", p.chosen)
			}
			rules.AnswerDialogs = false
			if got, err := screen.Ready(t.Context(), terminal.New(), rules, 0); err != nil || got.After != 10*time.Second {
				t.Errorf("without dialogs to answer: %+v, %v", got, err)
			}
		})
	}
}

// dialogProgram shows dialogs one after the other and then its prompt. It
// records what was chosen.
type dialogProgram struct {
	t           *terminal.Fake
	screens     [][]string // options; the rest of each is fixed
	text        []string
	at          int
	chosen      []string
	ignoresKeys bool
}

func (p *dialogProgram) draw() {
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	if len(p.screens) == 0 {
		rule := strings.Repeat("─", terminal.Cols)
		b.WriteString(rule + "\r\n❯ \r\n" + rule)
	} else {
		b.WriteString(p.text[0] + "\r\n\r\n")
		for i, o := range p.screens[0] {
			mark := "  "
			if i == p.at {
				mark = "❯ "
			}
			b.WriteString(" " + mark + o + "\r\n")
		}
		b.WriteString("\r\n Enter to confirm · Esc to cancel")
	}
	p.t.Print(b.String())
}

func (p *dialogProgram) handleKeys(in []byte) {
	if p.ignoresKeys || len(p.screens) == 0 {
		return
	}
	switch options := p.screens[0]; string(in) {
	case "\x1b[A":
		p.at = max(0, p.at-1)
	case "\x1b[B":
		p.at = min(len(options)-1, p.at+1)
	case "\r":
		p.chosen = append(p.chosen, options[p.at])
		p.screens, p.text, p.at = p.screens[1:], p.text[1:], 0
	}
	time.AfterFunc(40*time.Millisecond, p.draw)
}

func newDialogs(texts []string, screens ...[]string) *dialogProgram {
	p := &dialogProgram{t: terminal.New(), screens: screens, text: texts}
	p.t.Program = p.handleKeys
	p.draw()
	return p
}

const (
	trustWords  = "Quick safety check: Is this a project you trust?"
	bypassWords = "WARNING: running in Bypass Permissions mode"
)

func TestReadyAnswersAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDialogs([]string{trustWords, bypassWords},
			[]string{"No, exit", "Yes, I trust this folder"}, []string{"No, exit", "Yes, I accept"})
		got, err := screen.Ready(t.Context(), p.t, terminal.Rules(t, "claude"), 0)
		if err != nil || got.State != screen.ReadyPrompt || got.Unanswered != nil || got.Answered != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		if want := []string{"Yes, I trust this folder", "Yes, I accept"}; !slices.Equal(p.chosen, want) {
			t.Errorf("chose %q, want %q", p.chosen, want)
		}
	})
}

func TestReadyLeavesAnUnknownDialogAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDialogs([]string{trustWords}, []string{"Leave", "Stay"})
		got, err := screen.Ready(t.Context(), p.t, terminal.Rules(t, "claude"), 0)
		if err != nil || got.State != screen.ReadyBlocked || got.Unanswered == nil {
			t.Fatalf("%+v, %v, want blocked", got, err)
		}
		if u := got.Unanswered; u.Kind != agentcli.DialogTrust || !slices.Equal(u.Options, []string{"Leave", "Stay"}) || !strings.Contains(u.Text, trustWords) {
			t.Errorf("reports %+v", u)
		}
		if len(p.t.Sent) > 0 {
			t.Errorf("sent %q", p.t.Sent)
		}
	})
}

func TestDialogThatDoesNotReactGetsOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDialogs([]string{trustWords}, []string{"No, exit", "Yes, I trust this folder"})
		p.ignoresKeys = true
		got, err := screen.Dismiss(t.Context(), p.t, terminal.Rules(t, "claude"), time.Minute)
		if err != nil || got.Unanswered == nil || len(p.t.Sent) != 1 {
			t.Errorf("%+v, %v after %q, want one key and a report", got, err, p.t.Sent)
		}
	})
}

// Any mark of the input box is the prompt where one of them is: a program whose first input box
// is in another mode is not waited for until the limit has passed.
func TestReadyInAnotherMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.New()
		f.Print("\x1b[H\x1b[2JGemini CLI v0.61.0\r\n" + strings.Repeat("▀", terminal.Cols) + "\r\n *   Type your message or @path/to/file\r\n" + strings.Repeat("▄", terminal.Cols))
		rules := terminal.Rules(t, "gemini")
		rules.ReadyDelay = 25 * time.Second
		got, err := screen.Ready(t.Context(), f, rules, 0)
		if err != nil || got.State != screen.ReadyPrompt || got.After > time.Second {
			t.Errorf("%+v, %v", got, err)
		}
		rules.ReadyPrefix = "town> "
		if got, err := screen.Ready(t.Context(), f, rules, 0); err != nil || got.State != screen.ReadyTimeout {
			t.Errorf("a prompt of somebody's own: %+v, %v", got, err)
		}
	})
}
