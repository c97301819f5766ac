package agents

import (
	"cmp"
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

// TestToldAtEachBeginning: an agent CLI whose hook, extension or plugin can put something into
// a conversation sends the agent what its city has for it once at each beginning: in a new
// conversation, after a compaction and when it is taken up again, and its role with it. The
// city types none of it, and what the model is sent is the oracle (R24).
func TestToldAtEachBeginning(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "pi", "codex", "gemini", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			checkContext(t, name)
		})
	}
}

// beginning is one after which an agent is to receive context.
type beginning struct {
	name    string
	command string // of the agent CLI; empty: its process is killed
	types   int    // of sections
	keeps   bool   // what it received before stands in the conversation, too
}

func checkContext(t *testing.T, name string) {
	files := map[string]string{"role.md": "You are " + roleMark + ".\n"}
	if name == "pi" { // else it has nothing to compact
		files["a/home/.pi/agent/settings.json"] = `{"defaultProvider": "mock", "defaultModel": "mock-model", "compaction": {"keepRecentTokens": 1}}`
	}
	c := bed.Open(t, "pty", bed.Member{Name: "a", CLI: name, TOML: `prompt_template = "role.md"`, Files: files})
	a := of(t, c, "a")
	a.ready()
	a.primed()
	if n := strings.Count(string(a.last().Body), roleMark); n != 1 {
		t.Errorf("at its start the agent receives its role %d times", n)
	}
	compact := cmp.Or(map[string]string{"gemini": "/compress"}[name], "/compact")
	fresh := cmp.Or(map[string]string{"claude": "/clear", "gemini": "/clear"}[name], "/new")
	a.talks("Before")
	known := a.nonces()
	for _, b := range []beginning{
		{name: "a new conversation", command: fresh, types: 2},
		{name: "a compaction", command: compact, types: 3},
		{name: "another compaction", command: compact, types: 3},
		{name: "resume", types: 3, keeps: true},
	} {
		a.begins(b)
		words := "After " + b.name
		a.prompt(words, client.ReceiptConsumed)
		_, r := a.waitForPrompt(words)
		var got []string
		for _, n := range nonce.FindAllString(string(r.Body), -1) {
			if !slices.Contains(known, n) {
				got = append(got, n)
			}
		}
		if len(got) != b.types || len(slices.Compact(slices.Sorted(slices.Values(got)))) != b.types {
			t.Errorf("after %s the model receives sections %v, want %d, each once", b.name, got, b.types)
		}
		if n := strings.Count(string(r.Body), roleMark); !b.keeps && n != 1 {
			t.Errorf("after %s the model receives the role %d times", b.name, n)
		}
		a.talks("And on after " + b.name) // what is sent twice comes by the next turn at the latest
		known = append(known, got...)
		for _, n := range a.nonces() {
			if !slices.Contains(known, n) {
				t.Errorf("a turn after %s the model receives more: %s", b.name, n)
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
	a.prompt(words, client.ReceiptConsumed)
	a.waitForPrompt(words)
	a.ready()
}

// begins has the agent's conversation begin in another way, and waits until it has.
func (a *agent) begins(b beginning) {
	a.t.Helper()
	switch {
	case b.command == "":
		a.killed()
		return
	case a.Found[a.name].Name == "claude": // its hook runs at once, and not with the next prompt
		a.orders(b.command)
		return
	}
	ctx, cancel := a.stepContext()
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
	settled := time.After(3 * time.Second) // no CLI reports that a command of its own is done
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

// typed returns the prompts by which the city has sent its context.
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

// last returns the newest request of the main loop.
func (a *agent) last() mockmodel.Request {
	all := slices.DeleteFunc(a.Model.Requests(), func(r mockmodel.Request) bool { return !r.Main || r.Caller != a.name })
	return all[len(all)-1]
}

// nonces returns all that the model ever received.
func (a *agent) nonces() []string {
	var all []string
	for _, r := range a.Model.Requests() {
		all = append(all, nonce.FindAllString(string(r.Body), -1)...)
	}
	return all
}

// orders types a command of the agent CLI's own, and waits until it has done it.
func (a *agent) orders(text string) {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	if _, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: text}); err != nil {
		a.fail("takes no command: %v", err)
	}
	path := filepath.Join(a.Root, ".gc", "hooks")
	for { // it claims what it receives
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
	if err != nil || before.PID == 0 {
		a.fail("has no process: %v", err)
	}
	if out, err := a.Run(a.t.Context(), "session", "kill", a.name); err != nil {
		a.fail("cannot be killed: %v\n%s", err, out)
	}
	ctx, cancel := a.stepContext()
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
