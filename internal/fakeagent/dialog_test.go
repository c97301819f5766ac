package fakeagent

import (
	"strings"
	"testing"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

const (
	up   = "\x1b[A"
	down = "\x1b[B"
)

func TestDialogsLetTheRightChoicePass(t *testing.T) {
	for name, c := range map[string]struct{ keys, choice, shown string }{
		"trust":              {enter, yesTrust, "❯ Yes, I trust this folder"},
		"trust-no-first":     {down + enter, yesTrust, "❯ No, exit"},
		"trust-reversed":     {enter, yesTrust, "❯ Yes, I trust this folder"},
		"trust-extra":        {up + enter, yesTrust, "❯ No, exit"},
		"trust-numbered":     {"1", yesTrust, "❯ 1. Yes, I trust this folder"},
		"bypass":             {down + enter, "Yes, I accept", "❯ No, exit"},
		"apikey":             {up + enter, "Yes", "❯ No (recommended)"},
		"update-default-now": {down + enter, "Skip", "❯ 1. Update now"},
		"unknown":            {down + enter, "Go on", "❯ Discard them all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, "--dialog", name)
			s.wait(ledger.DialogShown, 1)
			s.painted(c.shown)
			s.send(c.keys)
			if got := s.wait(ledger.Dialog, 1); got.Choice != c.choice || got.Dialog != name {
				t.Errorf("dialog record %+v", got)
			}
			s.ready()
		})
	}
}

func TestDialogsEndTheAgentOnAWrongChoice(t *testing.T) {
	for name, c := range map[string]struct{ dialog, keys, stderr string }{
		"bare enter on trust":  {"trust-no-first", enter, trustMessage},
		"blind down and enter": {"trust", down + enter, trustMessage},
		"cancelled":            {"trust-reversed", "\x1b", trustMessage},
		"digit":                {"trust-numbered", "2", trustMessage},
		"bare enter on bypass": {"bypass", enter, "Bypass"},
		"bare enter on key":    {"apikey", enter, "Please run /login"},
		"bare enter on update": {"update-default-now", enter, "Updating"},
		"prompt typed into it": {"trust-no-first", "please begin" + enter, trustMessage},
		"paste into it":        {"unknown", pasteStart + "text" + pasteEnd + enter, "discarded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, "--dialog", c.dialog)
			s.wait(ledger.DialogShown, 1)
			s.send(c.keys)
			if code := s.exit(); code != 1 || !strings.Contains(s.stderr.String(), c.stderr) {
				t.Errorf("exit code %d, stderr %q", code, s.stderr.String())
			}
			records := s.until("exit", ledgertest.Has(ledger.Exit, 1))
			if len(ledger.Of(records, ledger.Ready)) != 0 || len(ledger.Prompts(records)) != 0 {
				t.Errorf("it became ready: %+v", records)
			}
		})
	}
}

func TestDialogsInARow(t *testing.T) {
	t.Parallel()
	s := play(t, "--dialog", "trust-no-first,apikey,bypass", "--alt-screen")
	for i, keys := range []string{down, up, down} {
		s.wait(ledger.DialogShown, i+1)
		s.send(keys + enter)
		s.wait(ledger.Dialog, i+1)
	}
	s.ready()
	s.painted("WARNING: Claude Code running in Bypass Permissions mode", "Detected a custom API key")
}

func TestLateDialogTakesThePrompt(t *testing.T) {
	t.Parallel()
	s := play(t, "--dialog", "late-trust:100ms").ready()
	if got := s.wait(ledger.DialogShown, 1); got.Dialog != "late-trust:100ms" {
		t.Errorf("dialog %q", got.Dialog)
	}
	s.paste("a prompt")
	s.send(enter)
	if code := s.exit(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if prompts := ledger.Prompts(s.until("exit", ledgertest.Has(ledger.Exit, 1))); len(prompts) != 0 {
		t.Errorf("the prompt was consumed: %+v", prompts)
	}
}

func TestQuestionInATurn(t *testing.T) {
	t.Parallel()
	s := play(t, "--osc7501").ready()
	s.send("[[ask:Which one?|Alpha|Beta]] go" + enter)
	if got := s.wait(ledger.Asked, 1); got.Dialog != "Which one?" {
		t.Errorf("asked %+v", got)
	}
	s.painted("❯ 1. Alpha", "7501;status=blocked;kind=question")
	s.send(down + enter)
	if got := s.wait(ledger.Choice, 1); got.Choice != "Beta" || got.Dialog != "Which one?" {
		t.Errorf("choice %+v", got)
	}
	s.wait(ledger.Answered, 1)
	s.painted("7501;status=done", "7501;status=idle")

	s.send("[[ask:Again?]]" + enter)
	s.wait(ledger.Asked, 2)
	s.send("\x1b")
	s.wait(ledger.Interrupted, 1)
}
