package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/provider/exec"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
)

// driver returns the driver of gc for the script.
func (s *script) driver() *exec.Provider {
	s.t.Helper()
	p, err := exec.Open(exec.Config{Script: s.path, Dir: s.dir, Env: s.env})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// launch starts a fake agent through gc's driver.
func (s *script) launch(p *exec.Provider, name, flags string) agent {
	s.t.Helper()
	a := agent{s, name, filepath.Join(s.dir, name+".ledger"), filepath.Join(s.dir, name+".work")}
	if err := os.MkdirAll(a.work, 0o700); err != nil {
		s.t.Fatal(err)
	}
	err := p.Start(s.t.Context(), name, runtime.Config{
		WorkDir: a.work, ReadyPromptPrefix: "❯", Env: map[string]string{"GC_INSTANCE_TOKEN": "token"},
		Command: "exec '" + build.Build(s.t) + "' --ledger '" + a.ledger + "' " + flags,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// A draft in the input box delays a prompt until it is gone. The two are never joined.
func TestDraftDefersPrompt(t *testing.T) {
	t.Parallel()
	s := open(t, "gc-session-docker")
	p := s.driver()
	a := s.launch(p, "a", "")
	a.await(ledger.Ready, 1)
	s.do("", "send-keys", "a", "m", "i", "n", "e")
	deliver := func() runtime.Outcome {
		out, err := p.Deliver(t.Context(), "a", runtime.Delivery{Content: runtime.TextContent("from gc")})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	until(t, "the draft is seen", func() bool { return strings.Contains(s.do("", "peek", "a", "0"), "mine") })
	if out := deliver(); out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedDraft {
		t.Fatalf("Deliver onto a draft = %+v, want it refused because of the draft", out)
	}
	s.do("", "send-keys", "a", "Enter")
	a.await(ledger.Prompt, 1)
	until(t, "the prompt is taken", func() bool { return deliver().State != runtime.OutcomeRefused })
	got := a.await(ledger.Prompt, 2)
	if !got[0].Is("mine") || !got[1].Is("from gc") {
		t.Errorf("the agent consumed %q and %q", got[0].Text, got[1].Text)
	}
}

// A person who types defers a prompt, and nothing of it is typed.
func TestTypingDefersPrompt(t *testing.T) {
	s := open(t, "gc-session-docker")
	p := s.driver()
	a := s.launch(p, "a", "")
	a.await(ledger.Ready, 1)
	typed := s.attach("a")
	until(t, "somebody is attached", func() bool { return s.do("", "is-attached", "a") == "true\n" })
	before := time.Now()
	typed("by hand\r")
	a.await(ledger.Prompt, 1)
	refusals := 0
	until(t, "the prompt is taken", func() bool {
		out, err := p.Deliver(t.Context(), "a", runtime.Delivery{Content: runtime.TextContent("from gc")})
		if err != nil {
			t.Fatal(err)
		}
		if out.State == runtime.OutcomeRefused {
			if out.Reason != runtime.RefusedTyping {
				t.Fatalf("Deliver = %+v, want it refused because a person types", out)
			}
			refusals++
			return false
		}
		return true
	})
	if waited := time.Since(before); refusals == 0 && waited < 3*time.Second {
		t.Errorf("a prompt went %v after a key of a person", waited)
	}
	if got := a.await(ledger.Prompt, 2); !got[1].Is("from gc") {
		t.Errorf("the agent consumed %q", got[1].Text)
	}
	obs, err := p.Observe(t.Context(), "a")
	if err != nil || obs.LastInput.Before(before.Add(-2*time.Second)) {
		t.Errorf("Observe = %+v, %v, want the last input after %v", obs, err, before)
	}
}
