package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
)

// TestToldAtEachBeginning: an agent CLI whose hook, extension or plugin can put something
// into a conversation tells the agent what its city has for it once at each beginning: in a
// new conversation, after a compaction and when it is taken up again. The city types none of
// it, and what the model is sent is the oracle (R24).
func TestToldAtEachBeginning(t *testing.T) {
	together(t)
	for _, name := range driven("pi", "codex", "gemini", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			told(t, name)
		})
	}
}

// beginning is one after which an agent is to be told.
type beginning struct {
	name    string
	command string // of the agent CLI; empty: its process is killed
	types   int    // of sections
}

func told(t *testing.T, name string) {
	files := map[string]string{"role.md": "You are " + roleMark + ".\n"}
	if name == "pi" { // else it has nothing to compact
		files["a/home/.pi/agent/settings.json"] = `{"defaultProvider": "mock", "defaultModel": "mock-model", "compaction": {"keepRecentTokens": 1}}`
	}
	c := bed.Open(t, "pty", bed.Member{Name: "a", CLI: name, TOML: `prompt_template = "role.md"`, Files: files})
	a := of(t, c, "a")
	a.ready()
	a.primed()
	compact := map[string]string{"gemini": "/compress"}[name]
	if compact == "" {
		compact = "/compact"
	}
	fresh := map[string]string{"gemini": "/clear"}[name]
	if fresh == "" {
		fresh = "/new"
	}
	a.talks("Before")
	known := a.nonces()
	for _, b := range []beginning{{"a new conversation", fresh, 2}, {"a compaction", compact, 3}, {"another compaction", compact, 3}, {"resume", "", 3}} {
		a.begins(b)
		words := "After " + b.name
		a.say(words, client.ReceiptConsumed)
		_, r := a.heard(words)
		var got []string
		for _, n := range nonce.FindAllString(string(r.Body), -1) {
			if !slices.Contains(known, n) {
				got = append(got, n)
			}
		}
		if len(got) != b.types || len(slices.Compact(slices.Sorted(slices.Values(got)))) != b.types {
			t.Errorf("after %s the model is told sections %v, want %d, each once", b.name, got, b.types)
		}
		a.talks("And on after " + b.name) // what is told twice comes by the next turn at the latest
		known = append(known, got...)
		for _, n := range a.nonces() {
			if !slices.Contains(known, n) {
				t.Errorf("a turn after %s the model is told more: %s", b.name, n)
				known = append(known, n)
			}
		}
		for _, n := range got {
			if times := strings.Count(string(a.last().Body), n); times != 1 {
				t.Errorf("%s stands %d times in the conversation after %s", n, times, b.name)
			}
		}
	}
	if typed := a.typed(); len(typed) > 0 {
		t.Errorf("the city has typed %v", typed)
	}
	closed(a)
}

// talks has some turns, so that there is something to compact.
func (a *agent) talks(words string) {
	a.t.Helper()
	a.say(words, client.ReceiptConsumed)
	a.heard(words)
	a.ready()
}

// begins has the agent's conversation begin in another way, and waits until it has.
func (a *agent) begins(b beginning) {
	a.t.Helper()
	if b.command == "" {
		a.killed()
		return
	}
	ctx, cancel := a.patient()
	defer cancel()
	asked := len(a.Model.Requests())
	if _, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: b.command}); err != nil {
		a.fail("takes no command: %v", err)
	}
	if strings.HasPrefix(b.command, "/comp") {
		for len(a.Model.Requests()) == asked || a.Model.Requests()[asked].Ended.IsZero() {
			if ctx.Err() != nil {
				a.fail("%s asked no model", b.command)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	settled := time.After(3 * time.Second) // no CLI tells that a command of its own is done
	for {
		select {
		case <-settled:
			a.ready()
			return
		case <-ctx.Done():
			a.fail("%s never ended", b.command)
		}
	}
}

// typed are the prompts by which the city has told what it had to tell.
func (a *agent) typed() []string {
	var out []string
	events, err := a.Client.PastEvents(a.t.Context(), 0)
	if err != nil {
		a.fail("has no events: %v", err)
	}
	for _, e := range events.Events {
		if e.Agent == a.name && e.Data["source"] == "prime" {
			out = append(out, e.Kind+" "+e.Text)
		}
	}
	return out
}
