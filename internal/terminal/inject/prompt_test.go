package inject

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/terminal"
)

func TestDeliver(t *testing.T) {
	long := strings.Repeat("a long line of a long prompt, with numbers 0123456789\n", 200)
	tests := map[string]struct {
		terminal.Face
		text     string
		evidence string // a part of it; empty: unconfirmed
	}{
		"rules":                       {terminal.Face{Style: "rules"}, "hello there", "busy"},
		"open":                        {terminal.Face{Style: "open"}, "hello there", "composer_emptied"},
		"line":                        {terminal.Face{Style: "line"}, "hello there", "composer_emptied"},
		"nothing known":               {terminal.Face{Style: "plain"}, "hello there", ""},
		"multi-line":                  {terminal.Face{Style: "rules"}, "first\n\nsecond\n    third", "busy"},
		"multi-line open":             {terminal.Face{Style: "open"}, "first\n\nsecond\n    third", "composer_emptied"},
		"multi-line at a prompt":      {terminal.Face{Style: "line"}, "first\nsecond", "composer_emptied"},
		"emoji and CJK":               {terminal.Face{Style: "rules"}, "作業を始める 🚀 naïve ✓", "busy"},
		"only emoji":                  {terminal.Face{Style: "rules"}, "🚀🚀", "busy"},
		"slow echo":                   {terminal.Face{Style: "rules", Echo: 1500 * time.Millisecond}, "hello", "busy"},
		"slow echo, line":             {terminal.Face{Style: "line", Echo: 1500 * time.Millisecond}, "hello", "composer_emptied"},
		"drops the first Enter":       {terminal.Face{Style: "rules", DropEnters: 1}, "hello", "busy"},
		"drops two":                   {terminal.Face{Style: "rules", DropEnters: 2}, "hello", "busy"},
		"drops all":                   {terminal.Face{Style: "rules", DropEnters: 99}, "hello", ""},
		"newline if fast":             {terminal.Face{Style: "rules", Newline: 120 * time.Millisecond}, "hello", "busy"},
		"newline if fast, line":       {terminal.Face{Style: "line", Newline: 120 * time.Millisecond}, "hello", "composer_emptied"},
		"suggestion":                  {terminal.Face{Style: "rules", Suggestion: "Try something else"}, "hello", "busy"},
		"placeholder":                 {terminal.Face{Style: "rules", Placeholder: 800}, long, "busy"},
		"long, wrapped and scrolling": {terminal.Face{Style: "line"}, long, "composer_emptied"},
		"titles":                      {terminal.Face{Style: "rules", Titles: true}, "hello", "busy"},
		"slow to react":               {terminal.Face{Style: "rules", React: 900 * time.Millisecond}, "hello", "busy"},
		"looks like a menu":           {terminal.Face{Style: "open"}, "1. do this\n2. do that", "composer_emptied"},
		"single line, no paste mode":  {terminal.Face{Style: "line", NoPaste: true}, "hello", "composer_emptied"},
		"begins with a dash":          {terminal.Face{Style: "rules"}, "-----BEGIN;", "busy"},
		"trailing backslash":          {terminal.Face{Style: "line"}, `a\`, "composer_emptied"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := terminal.NewAgent(test.Face)
				got, err := Type(t.Context(), agent.T, Prompt{Text: test.text}, test.Face.Rules(t))
				if err != nil {
					t.Fatal(err)
				}
				want := runtime.OutcomeSubmitted
				if test.evidence == "" {
					want = runtime.OutcomeUnconfirmed
				}
				if got.State != want || !strings.Contains(got.Evidence, test.evidence) {
					t.Errorf("outcome %+v, want %s by %q", got, want, test.evidence)
				}
				if n := strings.Count(agent.T.Input(), test.text); n != 1 {
					t.Errorf("the text was sent %d times, want once", n)
				}
				time.Sleep(time.Second)
				wantLedger := []string{strings.TrimRight(test.text, "\n")}
				if test.DropEnters > maxEnter {
					wantLedger = nil
				}
				if !slices.Equal(agent.Prompts(), wantLedger) {
					t.Errorf("agent took %q", agent.Prompts())
				}
			})
		})
	}
}

func TestDeliverWhileBusyQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules", Think: 10 * time.Second, Spinner: true, Titles: true}
		agent := terminal.NewAgent(f)
		for _, text := range []string{"one", "two"} {
			got, err := Type(t.Context(), agent.T, Prompt{Text: text}, f.Rules(t))
			if err != nil || got.State != runtime.OutcomeSubmitted {
				t.Fatalf("%s: %+v, %v", text, got, err)
			}
			if text == "two" && got.Evidence != "composer_emptied" {
				t.Errorf("evidence %q: the agent was busy before, that proves nothing", got.Evidence)
			}
		}
		if got := agent.Prompts(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("agent took %q", got)
		}
		time.Sleep(20 * time.Second)
	})
}

// TestNothingIsTypedDuringATurnThatMergesPrompts: where the program makes one prompt of all that
// it gets during a turn, a prompt is refused before its first byte while the screen or the title
// says that it is busy, and while an unknown title leaves that open. A program that shows its turn
// late is waited for, so that the next prompt finds it busy. Afterwards it is a prompt of its own.
func TestNothingIsTypedDuringATurnThatMergesPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules", Think: 10 * time.Second, BusyLate: time.Second, Spinner: true, Titles: true}
		rules := f.Rules(t)
		rules.Screen.EnterWhileBusy = agentcli.BusyMerges
		agent := terminal.NewAgent(f)
		give := func(text string, want runtime.OutcomeState) {
			t.Helper()
			sent := len(agent.T.Sent)
			got, err := Type(t.Context(), agent.T, Prompt{Text: text}, rules)
			if err != nil || got.State != want || want == runtime.OutcomeRefused && (got.Reason != runtime.RefusedBusy || len(agent.T.Sent) > sent) {
				t.Errorf("%s: %+v, %v, %d bytes", text, got, err, len(agent.T.Sent)-sent)
			}
		}
		give("one", runtime.OutcomeSubmitted)
		give("two", runtime.OutcomeRefused)
		time.Sleep(20 * time.Second)
		var title string
		agent.T.Set(func(f *screen.Frame) { title, f.Title = f.Title, "⏲ what is this" })
		give("three", runtime.OutcomeRefused)
		agent.T.Set(func(f *screen.Frame) { f.Title = title })
		give("four", runtime.OutcomeSubmitted)
		if got := agent.Prompts(); !slices.Equal(got, []string{"one", "four"}) {
			t.Errorf("agent took %q", got)
		}
		time.Sleep(20 * time.Second)
	})
}

func TestDeliverRefuses(t *testing.T) {
	tests := map[string]struct {
		terminal.Face
		text   string
		before func(*terminal.Agent)
		want   runtime.RefusalReason
	}{
		"escape":             {terminal.Face{Style: "rules"}, "a\x1b[201~b", nil, runtime.RefusedContent},
		"NUL":                {terminal.Face{Style: "rules"}, "a\x00b", nil, runtime.RefusedContent},
		"C1":                 {terminal.Face{Style: "rules"}, "a\u009bb", nil, runtime.RefusedContent},
		"not UTF-8":          {terminal.Face{Style: "rules"}, "a\xffb", nil, runtime.RefusedContent},
		"lines, no paste":    {terminal.Face{Style: "line", NoPaste: true}, "a\nb", nil, runtime.RefusedContent},
		"tab, no paste":      {terminal.Face{Style: "line", NoPaste: true}, "a\tb", nil, runtime.RefusedContent},
		"CR, no paste":       {terminal.Face{Style: "line", NoPaste: true}, "a\rb", nil, runtime.RefusedContent},
		"draft":              {terminal.Face{Style: "rules"}, "x", func(a *terminal.Agent) { a.Feed([]byte("half")) }, runtime.RefusedDraft},
		"draft, open":        {terminal.Face{Style: "open"}, "x", func(a *terminal.Agent) { a.Feed([]byte("half")) }, runtime.RefusedDraft},
		"draft at a prompt":  {terminal.Face{Style: "line"}, "x", func(a *terminal.Agent) { a.Feed([]byte("half")) }, runtime.RefusedDraft},
		"pasted draft":       {terminal.Face{Style: "rules", Placeholder: 1}, "x", func(a *terminal.Agent) { a.Text("half", true) }, runtime.RefusedDraft},
		"typing":             {terminal.Face{Style: "rules"}, "x", func(a *terminal.Agent) { a.T.Human("\x15") }, runtime.RefusedTyping},
		"dialog":             {terminal.Face{Style: "rules", Dialog: terminal.Trust}, "x", (*terminal.Agent).ShowDialog, runtime.RefusedDialog},
		"unknown menu":       {terminal.Face{Style: "rules", Dialog: []string{"New", "❯ 1. Burn", "  2. Keep"}}, "x", (*terminal.Agent).ShowDialog, runtime.RefusedDialog},
		"unknown menu, line": {terminal.Face{Style: "line", Dialog: []string{"New", "❯ 1. Burn", "  2. Keep"}}, "x", (*terminal.Agent).ShowDialog, runtime.RefusedDialog},
		"no input box":       {terminal.Face{Style: "line"}, "x", func(a *terminal.Agent) { a.Style = "rules"; a.T.Print("\x1b[H\x1b[2JLoading") }, runtime.RefusedUnready},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := terminal.NewAgent(test.Face)
				if test.before != nil {
					test.before(agent)
				}
				got, err := Type(t.Context(), agent.T, Prompt{Text: test.text}, agent.Face.Rules(t))
				if err != nil || got.State != runtime.OutcomeRefused || got.Reason != test.want {
					t.Errorf("outcome %+v, %v, want refused: %s", got, err, test.want)
				}
				if len(agent.T.Sent) > 0 {
					t.Errorf("%q was sent", agent.T.Input())
				}
			})
		})
	}
}

func TestDeliverCookedLineLimit(t *testing.T) {
	for mode, limit := range map[screen.LineMode]int{screen.LineCooked: screen.MaxCookedLine, screen.LineUnknown: screen.MaxCookedLine, screen.LineRaw: 1 << 16} {
		synctest.Test(t, func(t *testing.T) {
			agent := terminal.NewAgent(terminal.Face{Style: "plain", NoPaste: true})
			agent.T.Set(func(f *screen.Frame) { f.Line = mode })
			for _, n := range []int{limit, limit + 1} {
				got, err := Type(t.Context(), agent.T, Prompt{Text: strings.Repeat("a", n)}, terminal.Rules(t, "generic"))
				refused := got.Reason == runtime.RefusedContent
				if err != nil || refused != (n > limit && mode != screen.LineRaw) {
					t.Errorf("mode %d, %d bytes: %+v, %v", mode, n, got, err)
				}
			}
		})
	}
}

func TestDeliverHumanAfterQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules"}
		agent := terminal.NewAgent(f)
		agent.T.Human("\x15")
		time.Sleep(screen.DefaultHumanQuiet)
		if got, err := Type(t.Context(), agent.T, Prompt{Text: "x"}, f.Rules(t)); err != nil || got.State != runtime.OutcomeSubmitted {
			t.Errorf("outcome %+v, %v", got, err)
		}
	})
}

// TestDeliverHoldsEnter covers what comes between the text and its Enter.
func TestDeliverHoldsEnter(t *testing.T) {
	tests := map[string]struct {
		terminal.Face
		meanwhile func(*terminal.Agent)
	}{
		"a person types":        {terminal.Face{Style: "line", Echo: 100 * time.Millisecond}, func(a *terminal.Agent) { a.T.Human("x") }},
		"a person types, rules": {terminal.Face{Style: "rules", Echo: 100 * time.Millisecond}, func(a *terminal.Agent) { a.T.Human("x") }},
		"a person moves":        {terminal.Face{Style: "rules", Echo: 100 * time.Millisecond}, func(a *terminal.Agent) { a.T.Human("\x1b[D") }},
		"a person moves, line":  {terminal.Face{Style: "line"}, func(a *terminal.Agent) { a.T.Human("\x1b[D") }},
		"a dialog comes up":     {terminal.Face{Style: "rules", DialogOnText: true, Dialog: terminal.Trust}, nil},
		"an unknown menu":       {terminal.Face{Style: "line", DialogOnText: true, Dialog: []string{"New", "❯ 1. Burn", "  2. Keep"}}, nil},
		"the text is lost":      {terminal.Face{Style: "rules", IgnoreInput: true}, nil},
		"somebody else's text":  {terminal.Face{Style: "rules", Echo: 100 * time.Millisecond}, func(a *terminal.Agent) { a.Text("and more", false) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := terminal.NewAgent(test.Face)
				if test.meanwhile != nil {
					time.AfterFunc(50*time.Millisecond, func() { test.meanwhile(agent) })
				}
				got, err := Type(t.Context(), agent.T, Prompt{Text: "our prompt"}, test.Face.Rules(t))
				if err != nil || got.State != runtime.OutcomeUnconfirmed || got.Detail == "" {
					t.Errorf("outcome %+v, %v, want unconfirmed with a reason", got, err)
				}
				if strings.Contains(agent.T.Input(), "\r") {
					t.Errorf("Enter was pressed: %q, dialog got %q", agent.T.Input(), agent.Picked)
				}
			})
		})
	}
}

// TestEnterIsNotRepeatedOnOtherText: after an Enter that did nothing, the
// program shows something else in its input box.
func TestEnterIsNotRepeatedOnOtherText(t *testing.T) {
	for name, change := range map[string]func(*terminal.Agent){
		"another text": func(a *terminal.Agent) { a.Content, a.Shown = []rune("rm -rf everything"), "rm -rf everything" },
		"a dialog":     func(a *terminal.Agent) { a.InDialog = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := terminal.Face{Style: "rules", DropEnters: 1, Dialog: terminal.Trust}
				agent := terminal.NewAgent(f)
				time.AfterFunc(100*time.Millisecond, func() { agent.Change(func() { change(agent) }) })
				got, err := Type(t.Context(), agent.T, Prompt{Text: "our prompt"}, f.Rules(t))
				if err != nil || got.State != runtime.OutcomeUnconfirmed {
					t.Errorf("outcome %+v, %v", got, err)
				}
				if n := strings.Count(agent.T.Input(), "\r"); n != 1 {
					t.Errorf("Enter was pressed %d times, want once", n)
				}
			})
		})
	}
}

func TestDeliverExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules", Echo: 100 * time.Millisecond}
		agent := terminal.NewAgent(f)
		time.AfterFunc(50*time.Millisecond, func() { agent.T.Set(func(f *screen.Frame) { f.Exited = true }) })
		for _, want := range []runtime.OutcomeState{runtime.OutcomeUnconfirmed, runtime.OutcomeAbsent} {
			if got, err := Type(t.Context(), agent.T, Prompt{Text: "x"}, f.Rules(t)); err != nil || got.State != want {
				t.Errorf("outcome %+v, %v, want %s", got, err, want)
			}
		}
	})
}

func TestDeliverEnterIsOnePiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules"}
		agent := terminal.NewAgent(f)
		if _, err := Type(t.Context(), agent.T, Prompt{Text: "a\nb"}, f.Rules(t)); err != nil {
			t.Fatal(err)
		}
		got := agent.T.Sent
		if len(got) != 2 || string(got[0]) != "\x1b[200~a\nb\x1b[201~" || string(got[1]) != "\r" {
			t.Errorf("sent %q", got)
		}
	})
}

// TestDeliverTakesNoFixedTime: on a program that answers at once, delivery adds
// only the settle rule and the moment that an empty input box is looked at.
func TestDeliverTakesNoFixedTime(t *testing.T) {
	for style, limit := range map[string]time.Duration{"rules": 50 * time.Millisecond, "line": 250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			f := terminal.Face{Style: style}
			agent := terminal.NewAgent(f)
			time.Sleep(time.Second)
			began := time.Now()
			if got, err := Type(t.Context(), agent.T, Prompt{Text: strings.Repeat("a", 1<<10)}, f.Rules(t)); err != nil || got.State != runtime.OutcomeSubmitted {
				t.Fatalf("%+v, %v", got, err)
			}
			if took := time.Since(began); took > limit {
				t.Errorf("%s: took %s beyond the agent's own time, want at most %s", style, took, limit)
			}
		})
	}
}

func TestSettleIsPerVendor(t *testing.T) {
	for _, name := range agentcli.Builtin().Names() {
		p, _ := agentcli.Builtin().Lookup(name)
		small, big := p.Screen.FindSettle(10), p.Screen.FindSettle(20_000)
		if big.DelayMs < small.DelayMs || big.QuietMs < small.QuietMs {
			t.Errorf("%s: a long text settles faster (%+v) than a short one (%+v)", name, big, small)
		}
	}
}

// TestAShellCommandStaysAPrompt: what the program would run as a shell command, past every
// guard, is changed so that it does not, or is refused.
func TestAShellCommandStaysAPrompt(t *testing.T) {
	for _, test := range []struct{ guard, text, taken string }{
		{" ", "!rm -rf x", " !rm -rf x"},
		{" ", " \n!rm -rf x", "  \n!rm -rf x"},
		{"", "!rm -rf x", ""},
		{"", "no! not that", "no! not that"},
	} {
		synctest.Test(t, func(t *testing.T) {
			face := terminal.Face{Style: "rules"}
			agent, rules := terminal.NewAgent(face), face.Rules(t)
			rules.Screen.Shell, rules.Screen.ShellGuard = "!", test.guard
			got, err := Type(t.Context(), agent.T, Prompt{Text: test.text}, rules)
			if err != nil {
				t.Fatal(err)
			}
			if test.taken == "" {
				if got.State != runtime.OutcomeRefused || len(agent.Prompts()) > 0 {
					t.Errorf("%q without a guard is %+v, the agent took %q", test.text, got, agent.Prompts())
				}
			} else if got.State != runtime.OutcomeSubmitted || !slices.Equal(agent.Prompts(), []string{test.taken}) {
				t.Errorf("%q is %+v, the agent took %q", test.text, got, agent.Prompts())
			}
		})
	}
}

// TestACommandIsToldAsOne: what the program may take for a command of its own is submitted,
// and its evidence says so.
func TestACommandIsToldAsOne(t *testing.T) {
	for text, command := range map[string]bool{"/nonsense": true, "\n/nonsense": true, "no/nonsense": false} {
		synctest.Test(t, func(t *testing.T) {
			face := terminal.Face{Style: "rules"}
			agent, rules := terminal.NewAgent(face), face.Rules(t)
			rules.Screen.Busy = nil // no turn begins that could be seen
			got, err := Type(t.Context(), agent.T, Prompt{Text: text}, rules)
			if err != nil || got.State != runtime.OutcomeSubmitted || strings.HasSuffix(got.Evidence, "+command") != command {
				t.Errorf("%q is %+v, %v", text, got, err)
			}
		})
	}
}

// TestATextLikeAHintIsText: a text that looks like the hint that a program shows in its empty input
// box is delivered, and such a draft of a person is a draft.
func TestATextLikeAHintIsText(t *testing.T) {
	for name, draft := range map[string]bool{"prompt": false, "draft": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := terminal.Face{Style: "rules"}
				p, _ := agentcli.Builtin().Lookup("claude")
				agent, rules := terminal.NewAgent(f), f.Rules(t)
				rules.Screen.InputBox.Placeholders = p.Screen.InputBox.Placeholders
				if draft {
					agent.Feed([]byte(`Try "half`))
				}
				got, err := Type(t.Context(), agent.T, Prompt{Text: `Try "make test" again`}, rules)
				switch {
				case err != nil:
					t.Fatal(err)
				case draft && got.Reason != runtime.RefusedDraft, !draft && got.State != runtime.OutcomeSubmitted:
					t.Errorf("the outcome is %+v", got)
				}
			})
		})
	}
}
