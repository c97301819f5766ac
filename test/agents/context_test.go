package agents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// roleMark stands in the agent's role, and nowhere else.
const roleMark = "MENDER-OF-CLOCKS-4711"

var nonce = regexp.MustCompile(`\[gc-[a-z2-7]{10}\]`)

// TestContextByHook: an agent knows its role once at its start, in a new conversation, after
// a compaction and when it is taken up again: the model's requests are the oracle (R24).
func TestContextByHook(t *testing.T) {
	together(t)
	for _, name := range driven("claude") {
		t.Run(name, func(t *testing.T) {
			together(t)
			briefed(t, name)
		})
	}
}

func briefed(t *testing.T, name string) {
	c := bed.Open(t, "pty", bed.Member{Name: "a", CLI: name, TOML: `prompt_template = "role.md"`, Files: map[string]string{"role.md": "You are " + roleMark + ".\n"}})
	a := of(t, c, "a")
	a.ready()
	a.primed()
	if n := strings.Count(string(a.last().Body), roleMark); n != 1 {
		t.Errorf("at its start the agent is told its role %d times", n)
	}
	known := a.nonces()
	for _, step := range []struct {
		name, command string
		types         int // of sections
		marks         int // in the conversation; negative: those of former ones are there, too
	}{{"a new conversation", "/clear", 2, 1}, {"a compaction", "/compact", 3, 1}, {"resume", "", 3, -1}} {
		if step.command == "" {
			a.killed()
		} else {
			a.orders(step.command)
		}
		words := "After " + step.name
		a.say(words, client.ReceiptConsumed)
		_, r := a.heard(words)
		var fresh []string
		for _, n := range nonce.FindAllString(string(r.Body), -1) {
			if !slices.Contains(known, n) {
				fresh = append(fresh, n)
			}
		}
		if len(fresh) != step.types || len(slices.Compact(slices.Sorted(slices.Values(fresh)))) != step.types {
			t.Errorf("after %s the model is told sections %v, want %d, each once", step.name, fresh, step.types)
		}
		if n := strings.Count(string(r.Body), roleMark); step.marks > 0 && n != step.marks {
			t.Errorf("after %s the model is told the role %d times", step.name, n)
		}
		again := "And on after " + step.name // what is told twice comes by the next turn at the latest
		a.say(again, client.ReceiptConsumed)
		if _, next := a.heard(again); len(nonce.FindAllString(string(next.Body), -1)) != len(nonce.FindAllString(string(r.Body), -1)) {
			t.Errorf("a turn after %s the model is told more: %v, then %v", step.name, nonce.FindAllString(string(r.Body), -1), nonce.FindAllString(string(next.Body), -1))
		}
		known = a.nonces()
	}
	for _, p := range a.Model.Prompts("a") {
		if nonce.MatchString(p.Text) {
			t.Errorf("the hook did not do: a prompt tells %.200q", p.Text)
		}
	}
	closed(a)
}

// last is the newest request of the main loop.
func (a *agent) last() mockmodel.Request {
	all := slices.DeleteFunc(a.Model.Requests(), func(r mockmodel.Request) bool { return !r.Main || r.Caller != a.name })
	return all[len(all)-1]
}

// nonces are all that the model was ever told.
func (a *agent) nonces() []string {
	var all []string
	for _, r := range a.Model.Requests() {
		all = append(all, nonce.FindAllString(string(r.Body), -1)...)
	}
	return all
}

// command types a command of the agent CLI's own, and waits until it has done it.
func (a *agent) orders(text string) {
	a.t.Helper()
	ctx, cancel := a.patient()
	defer cancel()
	if _, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: text}); err != nil {
		a.fail("takes no command: %v", err)
	}
	path := filepath.Join(a.Root, ".gc", "hooks")
	for { // it claims what it is told
		done := false
		files, err := filepath.Glob(filepath.Join(path, "*", "claims.json"))
		if err != nil {
			a.fail("%v", err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			done = done || err == nil && strings.Contains(string(data), "claim-")
		}
		if done {
			return
		}
		if ctx.Err() != nil {
			a.fail("%s had no effect", text)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// killed kills the agent's process and waits until it is back.
func (a *agent) killed() {
	a.t.Helper()
	before, err := a.Client.Session(a.t.Context(), a.name)
	if err != nil {
		a.fail("is not known: %v", err)
	}
	if out, err := a.Run(a.t.Context(), "session", "kill", a.name); err != nil {
		a.fail("cannot be killed: %v\n%s", err, out)
	}
	ctx, cancel := a.patient()
	defer cancel()
	for {
		s, err := a.Client.Session(ctx, a.name)
		if err == nil && s.PID != before.PID && s.State == client.StateRunning {
			break
		}
		if ctx.Err() != nil {
			a.fail("never came back")
		}
		<-time.After(50 * time.Millisecond)
	}
	a.ready()
}
