package fakeagent

import (
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

func TestPermissionInATurn(t *testing.T) {
	t.Parallel()
	s := play(t, "--osc7501").ready()
	s.send("[[permit:Bash|rm -rf build]]" + enter)
	s.wait(ledger.Asked, 1)
	s.painted("Bash command", "   rm -rf build", "Do you want to proceed?", "❯ 1. Yes", "7501;status=blocked;kind=permission")
	s.send(down + down + enter)
	if got := s.wait(ledger.Choice, 1); got.Choice != "No" {
		t.Errorf("choice %+v", got)
	}
	s.wait(ledger.Answered, 1)
}

func TestQuestionThatGoesAway(t *testing.T) {
	t.Parallel()
	s := play(t, "--osc7501").ready()
	s.send("[[askfor:50ms|Still there?|A|B]]" + enter)
	s.wait(ledger.Asked, 1)
	if got := s.wait(ledger.Choice, 1); got.Choice != "(gone)" {
		t.Errorf("choice %+v", got)
	}
	s.wait(ledger.Answered, 1)
	s.painted("7501;status=idle")
}

func TestQuestionThatWaitsForWords(t *testing.T) {
	t.Parallel()
	s := play(t, "--osc7501").ready()
	s.send("[[reply:Which branch?]]" + enter)
	s.wait(ledger.Asked, 1)
	s.painted("● Which branch?", "7501;status=blocked;kind=question;msg=V2hpY2ggYnJhbmNoPw==")
	s.send("main" + enter)
	if got := s.wait(ledger.Choice, 1); got.Choice != "main" || got.Dialog != "Which branch?" {
		t.Errorf("choice %+v", got)
	}
	s.wait(ledger.Answered, 1)
	if got := ledger.Prompts(s.until("answered", ledgertest.Has(ledger.Answered, 1))); len(got) != 1 {
		t.Errorf("the answer was taken for a prompt: %+v", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send("[[limit:3pm]]" + enter)
	if got := s.wait(ledger.Limited, 1); got.Reason != "3pm" {
		t.Errorf("recorded %+v", got)
	}
	s.painted("You've hit your limit · resets 3pm")
	s.send("[[limit]]" + enter)
	s.wait(ledger.Limited, 2)
	s.send("[[limit:2026-11-21T15:00:00Z|exit]]" + enter)
	if code := s.exit(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	s = play(t, "--limit", "never")
	s.painted("You've hit your limit")
	if code := s.exit(); code != 1 || strings.Contains(s.output(), "resets") || !strings.Contains(s.output(), "You've hit your limit") {
		t.Errorf("exit code %d after %q", code, s.output())
	}
}

func TestConversations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep := func(args ...string) *session { return play(t, append([]string{"--conversations", dir}, args...)...) }
	first := keep("--session-id", "abc").ready()
	first.send("one" + enter)
	first.wait(ledger.Answered, 1)
	for flag, words := range map[string]string{
		"--session-id abc": "Session ID abc is already in use", "--resume abc": "Session ID abc is already in use",
		"--resume xyz": "No conversation found with session ID: xyz",
	} {
		s := keep(strings.Fields(flag)...)
		if code := s.exit(); code != 1 || !strings.Contains(s.stderr.String(), words) {
			t.Errorf("%s: exit code %d, %q, want %q", flag, code, s.stderr.String(), words)
		}
	}
	first.send("\x03\x03")
	first.exit()
	second := keep("--resume", "abc").ready()
	if got := second.wait(ledger.Start, 1); got.Conversation != "abc" || got.Turns != 1 {
		t.Errorf("resumed %q with %d turns, want abc with one", got.Conversation, got.Turns)
	}
	other := keep().ready()
	if got := other.wait(ledger.Start, 1).Conversation; got == "" || got == "abc" {
		t.Errorf("its own conversation is %q", got)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
		t.Errorf("stored %q, want two", files)
	}
}

func TestOtherInterfaces(t *testing.T) {
	t.Parallel()
	for ui, want := range map[string]string{"new-spinner": "Pondering", "new-box": "════", "bare": "Thinking"} {
		s := play(t, "--ui", ui).ready()
		s.send("[[busy:150ms]]" + enter)
		s.wait(ledger.Answered, 1)
		s.painted(want) // the agent writes its ledger before the test has read all of its output
		if strings.Contains(s.output(), "Simmering") == (ui != "new-box") {
			t.Errorf("%s: the usual word is there, or it is missing with new-box", ui)
		}
	}
}
