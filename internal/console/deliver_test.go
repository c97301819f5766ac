package console

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// rulesOf returns the rules that fit a face.
func rulesOf(t testing.TB, f face) Rules {
	switch f.style {
	case "rules":
		return profileRules(t, "claude")
	case "open":
		return profileRules(t, "codex")
	case "line":
		r := profileRules(t, "generic")
		r.ReadyPrefix = "> "
		r.Screen.Composer.Marks = []string{"> "}
		return r
	default:
		return profileRules(t, "generic")
	}
}

func TestDeliver(t *testing.T) {
	long := strings.Repeat("a long line of a long prompt, with numbers 0123456789\n", 200)
	tests := map[string]struct {
		face
		text     string
		evidence string // a part of it; empty: unconfirmed
	}{
		"rules":                       {face{style: "rules"}, "hello there", "busy"},
		"open":                        {face{style: "open"}, "hello there", "composer_emptied"},
		"line":                        {face{style: "line"}, "hello there", "composer_emptied"},
		"nothing known":               {face{style: "plain"}, "hello there", ""},
		"multi-line":                  {face{style: "rules"}, "first\n\nsecond\n    third", "busy"},
		"multi-line open":             {face{style: "open"}, "first\n\nsecond\n    third", "composer_emptied"},
		"multi-line at a prompt":      {face{style: "line"}, "first\nsecond", "composer_emptied"},
		"emoji and CJK":               {face{style: "rules"}, "作業を始める 🚀 naïve ✓", "busy"},
		"only emoji":                  {face{style: "rules"}, "🚀🚀", "busy"},
		"slow echo":                   {face{style: "rules", echo: 1500 * time.Millisecond}, "hello", "busy"},
		"slow echo, line":             {face{style: "line", echo: 1500 * time.Millisecond}, "hello", "composer_emptied"},
		"drops the first Enter":       {face{style: "rules", dropEnters: 1}, "hello", "busy"},
		"drops two":                   {face{style: "rules", dropEnters: 2}, "hello", "busy"},
		"drops all":                   {face{style: "rules", dropEnters: 99}, "hello", ""},
		"newline if fast":             {face{style: "rules", newline: 120 * time.Millisecond}, "hello", "busy"},
		"newline if fast, line":       {face{style: "line", newline: 120 * time.Millisecond}, "hello", "composer_emptied"},
		"ghost":                       {face{style: "rules", ghost: "Try something else"}, "hello", "busy"},
		"placeholder":                 {face{style: "rules", placeholder: 800}, long, "busy"},
		"long, wrapped and scrolling": {face{style: "line"}, long, "composer_emptied"},
		"titles":                      {face{style: "rules", titles: true}, "hello", "busy"},
		"slow to react":               {face{style: "rules", react: 900 * time.Millisecond}, "hello", "busy"},
		"looks like a menu":           {face{style: "open"}, "1. do this\n2. do that", "composer_emptied"},
		"single line, no paste mode":  {face{style: "line", noPaste: true}, "hello", "composer_emptied"},
		"begins with a dash":          {face{style: "rules"}, "-----BEGIN;", "busy"},
		"trailing backslash":          {face{style: "line"}, `a\`, "composer_emptied"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := newAgent(test.face)
				got, err := Deliver(t.Context(), agent.t, Prompt{Text: test.text}, rulesOf(t, test.face))
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
				if n := strings.Count(agent.t.input(), test.text); n != 1 {
					t.Errorf("the text was sent %d times, want once", n)
				}
				time.Sleep(time.Second)
				wantLedger := []string{strings.TrimRight(test.text, "\n")}
				if test.dropEnters > maxEnter {
					wantLedger = nil
				}
				if !slices.Equal(agent.prompts(), wantLedger) {
					t.Errorf("agent took %q", agent.prompts())
				}
			})
		})
	}
}

func TestDeliverWhileBusyQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := face{style: "rules", think: 10 * time.Second, spinner: true, titles: true}
		agent := newAgent(f)
		for _, text := range []string{"one", "two"} {
			got, err := Deliver(t.Context(), agent.t, Prompt{Text: text}, rulesOf(t, f))
			if err != nil || got.State != runtime.OutcomeSubmitted {
				t.Fatalf("%s: %+v, %v", text, got, err)
			}
			if text == "two" && got.Evidence != "composer_emptied" {
				t.Errorf("evidence %q: the agent was busy before, that proves nothing", got.Evidence)
			}
		}
		if got := agent.prompts(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("agent took %q", got)
		}
		time.Sleep(20 * time.Second)
	})
}

var fakeTrust = []string{
	"Quick safety check: Is this a project you trust?", "", " ❯ No, exit", "   Yes, I trust this folder", "",
	" Enter to confirm",
}

func TestDeliverRefuses(t *testing.T) {
	tests := map[string]struct {
		face
		text   string
		before func(*fakeAgent)
		want   runtime.RefusalReason
	}{
		"escape":             {face{style: "rules"}, "a\x1b[201~b", nil, runtime.RefusedContent},
		"NUL":                {face{style: "rules"}, "a\x00b", nil, runtime.RefusedContent},
		"C1":                 {face{style: "rules"}, "a\u009bb", nil, runtime.RefusedContent},
		"not UTF-8":          {face{style: "rules"}, "a\xffb", nil, runtime.RefusedContent},
		"lines, no paste":    {face{style: "line", noPaste: true}, "a\nb", nil, runtime.RefusedContent},
		"tab, no paste":      {face{style: "line", noPaste: true}, "a\tb", nil, runtime.RefusedContent},
		"CR, no paste":       {face{style: "line", noPaste: true}, "a\rb", nil, runtime.RefusedContent},
		"draft":              {face{style: "rules"}, "x", func(a *fakeAgent) { a.take([]byte("half")) }, runtime.RefusedDraft},
		"draft, open":        {face{style: "open"}, "x", func(a *fakeAgent) { a.take([]byte("half")) }, runtime.RefusedDraft},
		"draft at a prompt":  {face{style: "line"}, "x", func(a *fakeAgent) { a.take([]byte("half")) }, runtime.RefusedDraft},
		"pasted draft":       {face{style: "rules", placeholder: 1}, "x", func(a *fakeAgent) { a.text("half", true) }, runtime.RefusedDraft},
		"typing":             {face{style: "rules"}, "x", func(a *fakeAgent) { a.t.human("\x15") }, runtime.RefusedTyping},
		"dialog":             {face{style: "rules", dialog: fakeTrust}, "x", (*fakeAgent).showDialog, runtime.RefusedDialog},
		"unknown menu":       {face{style: "rules", dialog: []string{"New", "❯ 1. Burn", "  2. Keep"}}, "x", (*fakeAgent).showDialog, runtime.RefusedDialog},
		"unknown menu, line": {face{style: "line", dialog: []string{"New", "❯ 1. Burn", "  2. Keep"}}, "x", (*fakeAgent).showDialog, runtime.RefusedDialog},
		"no input line":      {face{style: "line"}, "x", func(a *fakeAgent) { a.style = "rules"; a.t.print("\x1b[H\x1b[2JLoading") }, runtime.RefusedUnready},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := newAgent(test.face)
				if test.before != nil {
					test.before(agent)
				}
				got, err := Deliver(t.Context(), agent.t, Prompt{Text: test.text}, rulesOf(t, agent.face))
				if err != nil || got.State != runtime.OutcomeRefused || got.Reason != test.want {
					t.Errorf("outcome %+v, %v, want refused: %s", got, err, test.want)
				}
				if len(agent.t.sent) > 0 {
					t.Errorf("%q was sent", agent.t.input())
				}
			})
		})
	}
}

func TestDeliverCookedLineLimit(t *testing.T) {
	for mode, limit := range map[LineMode]int{LineCooked: MaxCookedLine, LineUnknown: MaxCookedLine, LineRaw: 1 << 16} {
		synctest.Test(t, func(t *testing.T) {
			agent := newAgent(face{style: "plain", noPaste: true})
			agent.t.set(func(f *Frame) { f.Line = mode })
			for _, n := range []int{limit, limit + 1} {
				got, err := Deliver(t.Context(), agent.t, Prompt{Text: strings.Repeat("a", n)}, profileRules(t, "generic"))
				refused := got.Reason == runtime.RefusedContent
				if err != nil || refused != (n > limit && mode != LineRaw) {
					t.Errorf("mode %d, %d bytes: %+v, %v", mode, n, got, err)
				}
			}
		})
	}
}

func TestDeliverHumanAfterQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := face{style: "rules"}
		agent := newAgent(f)
		agent.t.human("\x15")
		time.Sleep(DefaultHumanQuiet)
		if got, err := Deliver(t.Context(), agent.t, Prompt{Text: "x"}, rulesOf(t, f)); err != nil || got.State != runtime.OutcomeSubmitted {
			t.Errorf("outcome %+v, %v", got, err)
		}
	})
}

// TestDeliverHoldsEnter covers what comes between the text and its Enter.
func TestDeliverHoldsEnter(t *testing.T) {
	tests := map[string]struct {
		face
		meanwhile func(*fakeAgent)
	}{
		"a person types":        {face{style: "line", echo: 100 * time.Millisecond}, func(a *fakeAgent) { a.t.human("x") }},
		"a person types, rules": {face{style: "rules", echo: 100 * time.Millisecond}, func(a *fakeAgent) { a.t.human("x") }},
		"a person moves":        {face{style: "rules", echo: 100 * time.Millisecond}, func(a *fakeAgent) { a.t.human("\x1b[D") }},
		"a person moves, line":  {face{style: "line"}, func(a *fakeAgent) { a.t.human("\x1b[D") }},
		"a dialog comes up":     {face{style: "rules", dialogOnText: true, dialog: fakeTrust}, nil},
		"an unknown menu":       {face{style: "line", dialogOnText: true, dialog: []string{"New", "❯ 1. Burn", "  2. Keep"}}, nil},
		"the text is lost":      {face{style: "rules", deaf: true}, nil},
		"somebody else's text":  {face{style: "rules", echo: 100 * time.Millisecond}, func(a *fakeAgent) { a.text("and more", false) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := newAgent(test.face)
				if test.meanwhile != nil {
					time.AfterFunc(50*time.Millisecond, func() { test.meanwhile(agent) })
				}
				got, err := Deliver(t.Context(), agent.t, Prompt{Text: "our prompt"}, rulesOf(t, test.face))
				if err != nil || got.State != runtime.OutcomeUnconfirmed || got.Detail == "" {
					t.Errorf("outcome %+v, %v, want unconfirmed with a reason", got, err)
				}
				if strings.Contains(agent.t.input(), "\r") {
					t.Errorf("Enter was pressed: %q, dialog got %q", agent.t.input(), agent.picked)
				}
			})
		})
	}
}

// TestEnterIsNotRepeatedOnOtherText: after an Enter that did nothing, the
// program shows something else in its input line.
func TestEnterIsNotRepeatedOnOtherText(t *testing.T) {
	for name, change := range map[string]func(*fakeAgent){
		"another text": func(a *fakeAgent) { a.content, a.shown = []rune("rm -rf everything"), "rm -rf everything" },
		"a dialog":     func(a *fakeAgent) { a.inDialog = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := face{style: "rules", dropEnters: 1, dialog: fakeTrust}
				agent := newAgent(f)
				time.AfterFunc(100*time.Millisecond, func() { agent.locked(func() { change(agent) }) })
				got, err := Deliver(t.Context(), agent.t, Prompt{Text: "our prompt"}, rulesOf(t, f))
				if err != nil || got.State != runtime.OutcomeUnconfirmed {
					t.Errorf("outcome %+v, %v", got, err)
				}
				if n := strings.Count(agent.t.input(), "\r"); n != 1 {
					t.Errorf("Enter was pressed %d times, want once", n)
				}
			})
		})
	}
}

func TestDeliverExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := face{style: "rules", echo: 100 * time.Millisecond}
		agent := newAgent(f)
		time.AfterFunc(50*time.Millisecond, func() { agent.t.set(func(f *Frame) { f.Exited = true }) })
		for _, want := range []runtime.OutcomeState{runtime.OutcomeUnconfirmed, runtime.OutcomeAbsent} {
			if got, err := Deliver(t.Context(), agent.t, Prompt{Text: "x"}, rulesOf(t, f)); err != nil || got.State != want {
				t.Errorf("outcome %+v, %v, want %s", got, err, want)
			}
		}
	})
}

func TestDeliverEnterIsOnePiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := face{style: "rules"}
		agent := newAgent(f)
		if _, err := Deliver(t.Context(), agent.t, Prompt{Text: "a\nb"}, rulesOf(t, f)); err != nil {
			t.Fatal(err)
		}
		got := agent.t.sent
		if len(got) != 2 || string(got[0]) != "\x1b[200~a\nb\x1b[201~" || string(got[1]) != "\r" {
			t.Errorf("sent %q", got)
		}
	})
}

// TestDeliverTakesNoFixedTime: on a program that answers at once, delivery adds
// only the settle rule and the moment that an empty input line is looked at.
func TestDeliverTakesNoFixedTime(t *testing.T) {
	for style, limit := range map[string]time.Duration{"rules": 50 * time.Millisecond, "line": 250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			f := face{style: style}
			agent := newAgent(f)
			time.Sleep(time.Second)
			began := time.Now()
			if got, err := Deliver(t.Context(), agent.t, Prompt{Text: strings.Repeat("a", 1<<10)}, rulesOf(t, f)); err != nil || got.State != runtime.OutcomeSubmitted {
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
		small, big := p.Screen.SettleFor(10), p.Screen.SettleFor(20_000)
		if big.DelayMs < small.DelayMs || big.QuietMs < small.QuietMs {
			t.Errorf("%s: a long text settles faster (%+v) than a short one (%+v)", name, big, small)
		}
	}
}
