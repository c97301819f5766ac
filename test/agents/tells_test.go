package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
)

// speech is how an agent that speaks the Agent Client Protocol tells what it does.
type speech struct {
	profile string // empty: one of the city's, of the generic kind
	args    string // of that
	tool    string // its name for its shell
	plan    string // the call that makes a plan; empty: it tells of none
	mode    string // that it can be started in
}

func speeches() map[string]speech {
	return map[string]speech{
		"claude-agent-acp": {tool: "Bash", mode: "bypassPermissions", plan: `TodoWrite:{"todos":[{"content":"one step","status":"pending","activeForm":"doing it"}]}`},
		"codex-acp": {
			args: `"-c", "sandbox_mode=\"danger-full-access\"", "-c", "approval_policy=\"never\""`, tool: "execute", mode: "full-access",
			plan: `update_plan:{"plan":[{"step":"one step","status":"in_progress"}]}`,
		},
		"gemini": {profile: "gemini", mode: "yolo"},
	}
}

// TestSpeakersTell has agents that speak the Agent Client Protocol work in cities: what
// their model took is in gc usage exactly as the model has told it, and their tools, plans
// and modes are events (R16).
func TestSpeakersTell(t *testing.T) {
	together(t)
	for _, name := range driven("codex-acp", "claude-agent-acp", "gemini") {
		t.Run(name, func(t *testing.T) {
			together(t)
			s := speeches()[name]
			m := bed.Member{Name: "a", CLI: name, Profile: s.profile, TOML: `session = "acp"`, City: "[session.auto]\ndefault = \"pty\"\n[session.acp]\nhandshake_timeout = \"90s\"\n"}
			if s.mode != "" {
				m.Env = map[string]string{"GC_ACP_MODE": s.mode}
			}
			if s.profile == "" {
				m.Profile = "speaker"
				m.City += fmt.Sprintf("[providers.speaker]\nbase = \"builtin:generic\"\ncommand = %q\nacp_command = %q\nacp_args = [%s]\n", name, name, s.args)
			}
			a := of(t, bed.Open(t, "auto", m), "a")
			if s.profile != "" {
				a.found.Name += " by ACP"
			}
			owes(t, a.found, "usage")
			a.tells(s)
			closed(a)
		})
	}
}

// tells has the agent work on prompts and compares what it tells with the model's log.
func (a *agent) tells(s speech) {
	a.t.Helper()
	texts := []string{
		"Say it. [[text:I say it]]", "Count it. [[text:counted]][[usage:101,11,7,0]]",
		"Do it. [[tool:touch RAN]][[text:done]]", "Do more. [[steps:3:true]][[text:all done]]",
	}
	if s.plan != "" {
		texts = append(texts, "Plan it. [[call:"+s.plan+"]][[text:planned]]")
	}
	for _, text := range texts {
		a.say(text, client.ReceiptConsumed)
		a.ready()
	}
	if s.plan != "" {
		if told := a.reports("plan"); len(told) == 0 || !strings.Contains(told[0].Message, "one step") {
			a.fail("of its plan it tells %+v", told)
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
		a.t.Errorf("it tells of %d tools, and has used 4: %+v", tools, a.reports("tool_used"))
	}
	if modes := a.reports("mode"); s.mode != "" && (len(modes) == 0 || modes[0].Message != s.mode) {
		a.t.Errorf("of its mode it tells %+v", modes)
	}
}

// accounted waits until the tokens that the city counts are those that the mock has told in
// answer to the prompts, as against asides; what is told of a turn as a whole is one response there.
func (a *agent) accounted(texts []string) {
	a.t.Helper()
	ctx, cancel := a.patient()
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
			note(a.t, a.found, "usage", "%d turns with %d responses, %d tokens in and %d out: as the mock has told, without %d asides", len(texts), main.responses, got.input, got.output, asides.responses)
			return
		}
		if ctx.Err() != nil {
			a.fail("counted are %+v; told were %+v, and in asides %+v", got, main, asides)
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

// reports are the events of telemetry of the kind, in their order.
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
