package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
)

// speech is how an agent that speaks the Agent Client Protocol reports what it
// does.
type speech struct {
	profile string            // empty: one of the city's, of the generic kind
	args    string            // of that
	tool    string            // its name for its shell
	plan    string            // the call that makes a plan; empty: it reports none
	mode    string            // that it can be started in
	env     map[string]string // with it the agent asks before it uses its shell
}

func speeches() map[string]speech {
	return map[string]speech{
		"claude-agent-acp": {tool: "Bash", mode: "bypassPermissions", plan: `TodoWrite:{"todos":[{"content":"one step","status":"pending","activeForm":"doing it"}]}`},
		"codex-acp": {
			args: `"-c", "sandbox_mode=\"danger-full-access\"", "-c", "approval_policy=\"never\""`, tool: "execute", mode: "full-access",
			plan: `update_plan:{"plan":[{"step":"one step","status":"in_progress"}]}`,
		},
		"gemini":   {profile: "gemini", mode: "yolo"},
		"opencode": {profile: "opencode", env: map[string]string{"OPENCODE_PERMISSION": `{"bash":"ask"}`}},
	}
}

// TestSpeakersTell has agents that speak the Agent Client Protocol work in cities: what
// their model took is in gc usage exactly as the model has reported it, and their tools,
// plans and modes are events (R16).
func TestSpeakersTell(t *testing.T) {
	together(t)
	for _, name := range driven("codex-acp", "claude-agent-acp", "gemini") {
		t.Run(name, func(t *testing.T) {
			together(t)
			s := speeches()[name]
			a := acpSessionOf(t, name, s, "", s.mode)
			recordOnFailure(t, a.found, "usage")
			a.checkReports(s)
			closed(a)
		})
	}
}

// acpSessionOf returns an agent by the protocol in a city of its own, in the mode if there is one.
func acpSessionOf(t *testing.T, name string, s speech, city, mode string) *agent {
	t.Helper()
	m := bed.Member{Name: "a", CLI: name, Profile: s.profile, TOML: `session = "acp"`, City: "[session.auto]\ndefault = \"pty\"\n[session.acp]\nhandshake_timeout = \"90s\"\n" + city}
	m.Env = maps.Clone(s.env)
	if m.Env == nil {
		m.Env = map[string]string{}
	}
	if mode != "" {
		m.Env["GC_ACP_MODE"] = mode
	}
	if s.profile == "" {
		m.Profile = "speaker"
		m.City += fmt.Sprintf("[providers.speaker]\nbase = \"builtin:generic\"\ncommand = %q\nacp_command = %q\nacp_args = [%s]\n", name, name, s.args)
	}
	a := of(t, bed.Open(t, "auto", m), "a")
	if s.profile != "" {
		a.found.Name += " by ACP"
	}
	return a
}

// TestSpeakersAreGuarded has agents that speak the Agent Client Protocol and ask before they
// use their shell work in cities with a guard (R20): what is denied does not run and asks no
// person, what is allowed is the question of the agent's own, and nothing is without a city.
func TestSpeakersAreGuarded(t *testing.T) {
	together(t)
	for _, name := range driven("codex-acp", "claude-agent-acp", "gemini", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			s := speeches()[name]
			s.args = strings.Replace(s.args, "never", "untrusted", 1)
			a := acpSessionOf(t, name, s, guarded+"unguarded = \"report\"\n", "")
			recordOnFailure(t, a.found, "guard")
			a.ready()
			work := a.Homes[a.name].Work
			a.uses("mkdir denied; git push --force origin main", "")
			a.shows("(rule force-push)")
			a.ready()
			if open, err := a.Client.Pending(t.Context(), a.name, client.OnlyOpen); err != nil || len(open) > 0 {
				t.Errorf("somebody was asked: %+v, %v", open, err)
			}
			if _, err := os.Stat(filepath.Join(work, "denied")); err == nil {
				a.fail("what is denied ran")
			}
			a.uses("mkdir allowed", "yes")
			if _, err := os.Stat(filepath.Join(work, "allowed")); err != nil {
				a.fail("what is allowed did not run: %v", err)
			}
			word := a.guard()
			if want := map[bool]string{true: "guarded", false: "unguarded"}[name == "opencode"]; !strings.HasPrefix(word, want) {
				t.Errorf("it is called %q", word)
			}
			logFigure(t, a.found, "guard", "of the tools for which the agent asks permission: gc denies a force push without asking a person, and the model sees %q; a command that the rules allow becomes a question to a person, and runs after a yes; the session is %s", a.toolResult("denied"), word)
			closed(a)
		})
	}
}

// TestSpeakersState takes agents that speak the Agent Client Protocol through turns of the kinds
// that they can have: they are never said to rest while their model works (R2). They report each
// turn's end themselves, and have no dialogs.
func TestSpeakersState(t *testing.T) {
	together(t)
	for _, name := range driven("codex-acp", "claude-agent-acp", "gemini", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			s := speeches()[name]
			s.env = nil
			a := acpSessionOf(t, name, s, "", s.mode)
			recordOnFailure(t, a.found, "state")
			a.ready()
			logFigure(t, a.found, "dialogs", "none: an agent that speaks this protocol has no start-up dialogs")
			states(a, "", min(setting("GC_AGENTS_TURNS", 6), 50))
			closed(a)
		})
	}
}

// guard returns what the city says of the agent's guard.
func (a *agent) guard() string {
	a.t.Helper()
	s, err := a.Client.Status(a.t.Context())
	if err != nil {
		a.fail("no status: %v", err)
	}
	for _, one := range s.Agents {
		if one.Name == a.name {
			return strings.TrimSpace(cmp.Or(one.GuardDetail, one.Guard))
		}
	}
	return ""
}

// uses has the model call its shell. The agent's question is answered so; without an answer
// there must be none. It ends with the turn.
func (a *agent) uses(command, answer string) {
	a.t.Helper()
	text := fmt.Sprintf("Please [[tool:%s]][[text:over]]", command)
	if answer == "" {
		a.prompt(text, client.ReceiptSubmitted)
		a.waitForPrompt(text)
		a.ready()
		return
	}
	_, p := a.promptForQuestion(text)
	once := ""
	for _, option := range p.Options {
		if (strings.HasPrefix(option, "Yes") || strings.HasPrefix(option, "Allow")) && (once == "" || len(option) < len(once)) {
			once = option
		}
	}
	if out, err := a.Run(a.t.Context(), "respond", p.ID, once); err != nil {
		a.fail("%q is no answer to %q: %v\n%s", once, p.Options, err, out)
	}
	a.ready()
}

// shows waits until the agent's page has some words.
func (a *agent) shows(words string) {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	for {
		page, err := a.Client.Peek(ctx, a.name, 200)
		if err == nil && strings.Contains(page.Text, words) {
			return
		}
		if ctx.Err() != nil {
			a.fail("its page does not say %q: %v", words, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// toolResult returns what the model saw of the tool whose command has the word.
func (a *agent) toolResult(word string) string {
	for _, r := range a.Model.Requests() {
		if r.Main && r.Caller == a.name && len(r.Results) > 0 && len(r.History) > 0 && strings.Contains(r.History[len(r.History)-1], word) {
			return brief(strings.Join(r.Results, "\n"))
		}
	}
	return "nothing: its turn ends"
}

// checkReports has the agent work on prompts and compares its reports with the model's log.
func (a *agent) checkReports(s speech) {
	a.t.Helper()
	texts := []string{
		"Say it. [[text:I say it]]", "Count it. [[text:counted]][[usage:101,11,7,0]]",
		"Do it. [[tool:touch RAN]][[text:done]]", "Do more. [[steps:3:true]][[text:all done]]",
	}
	if s.plan != "" {
		texts = append(texts, "Plan it. [[call:"+s.plan+"]][[text:planned]]")
	}
	for _, text := range texts {
		a.prompt(text, client.ReceiptConsumed)
		a.ready()
	}
	if s.plan != "" {
		if told := a.reports("plan"); len(told) == 0 || !strings.Contains(told[0].Message, "one step") {
			a.fail("of its plan it reports %+v", told)
		}
	}
	a.accounted(texts)
	edited(a, "")
	tools := 0
	for _, e := range a.reports("tool_used") {
		tools += len(e.ToolsCalled)
		if s.tool != "" && e.ToolsCalled[0].Name != s.tool {
			a.t.Errorf("its tool is called %q", e.ToolsCalled[0].Name)
		}
	}
	if s.tool != "" && tools != 4 { // gemini calls no hook for them
		a.t.Errorf("it reports %d tools, and has used 4: %+v", tools, a.reports("tool_used"))
	}
	if modes := a.reports("mode"); s.mode != "" && (len(modes) == 0 || modes[0].Message != s.mode) {
		a.t.Errorf("of its mode it reports %+v", modes)
	}
}

// accounted waits until the tokens that the city counts are those that the mock has reported in
// answer to the prompts, as against asides; what is reported for a turn as a whole is one response
// there.
func (a *agent) accounted(texts []string) {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	for {
		var main, asides spent
		for _, r := range a.Model.Requests() {
			to := &asides
			if r.Main && len(r.History) > 0 {
				if last := strings.TrimSpace(r.History[len(r.History)-1]); slices.Contains(texts, last) || strings.HasPrefix(last, "[town] a") {
					to = &main
				}
			}
			*to = spent{to.responses + 1, to.input + int64(r.Usage.Input), to.output + int64(r.Usage.Output)}
		}
		got := a.counted()
		if tokens := (spent{got.responses, main.input, main.output}); got == tokens && main.responses >= int64(len(texts)+4) {
			logFigure(a.t, a.found, "usage", "%d turns with %d responses, %d tokens in and %d out, as the simulated model reported; %d requests for titles and summaries are not counted", len(texts), main.responses, got.input, got.output, asides.responses)
			return
		}
		if ctx.Err() != nil {
			a.fail("counted are %+v; reported were %+v, and in asides %+v", got, main, asides)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// report is an event of telemetry, as the city passes it on.
type report struct {
	Type        string `json:"type"`
	Message     string `json:"message"`
	ToolsCalled []struct {
		Name    string `json:"name"`
		Success bool   `json:"success"`
	} `json:"tools_called"`
}

// reports returns the events of telemetry of the kind, in their order.
func (a *agent) reports(kind string) (out []report) {
	a.t.Helper()
	past, err := a.Client.PastEvents(a.t.Context(), 0)
	if err != nil {
		a.fail("no events: %v", err)
	}
	for _, e := range past.Events {
		if e.Kind != "worker.telemetry" || e.Agent != a.name {
			continue
		}
		var body struct {
			Events []report `json:"events"`
		}
		if err := json.Unmarshal([]byte(e.Data["body"]), &body); err != nil {
			a.fail("%s is no telemetry: %v", e.Data["body"], err)
		}
		for _, r := range body.Events {
			if r.Type == kind {
				out = append(out, r)
			}
		}
	}
	return out
}
