package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestPoolIsResolvedToItsMembers checks that a pool is resolved to one session for each member,
// with the limits of the pool and of the city.
func TestPoolIsResolvedToItsMembers(t *testing.T) {
	desired, warnings, err := resolveText(t, `
[workspace]
max_active_sessions = 9
[[agents]]
name = "first"
start_command = "x"
[[agents]]
name = "w"
dir = "d"
start_command = "run {{.Agent}}"
work_dir = "boxes/{{.AgentBase}}"
depends_on = ["first"]
drain_timeout = "1m"
idle_timeout = "1h"
[agents.pool]
min = 1
max = 3
check = "count {{.CityName}}"
[[agents]]
name = "last"
start_command = "x"
depends_on = ["d/w"]
`, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range desired.Sessions {
		got = append(got, fmt.Sprint(s.Agent, " ", s.Name, " ", s.Pool, " ", s.Config.Command, " ", s.Config.WorkDir, " ", s.Config.Env["GC_AGENT"], " ", s.Config.Env["GC_TEMPLATE"], " ", s.DependsOn))
	}
	want := []string{
		"first gc-lights-first  x /srv/lights first first []",
		"d/w-1 gc-lights-d--w-1 d/w run d/w-1 /srv/lights/boxes/w-1 d/w-1 d/w [first]",
		"d/w-2 gc-lights-d--w-2 d/w run d/w-2 /srv/lights/boxes/w-2 d/w-2 d/w [first]",
		"d/w-3 gc-lights-d--w-3 d/w run d/w-3 /srv/lights/boxes/w-3 d/w-3 d/w [first]",
		"last gc-lights-last  x /srv/lights last last [d/w]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	pool := plan.Pool{
		Agent: "d/w", Members: []string{"d/w-1", "d/w-2", "d/w-3"}, Min: 1, Max: 3, Check: "count lights", Dir: "/srv/lights",
		Env: map[string]string{
			"GC_TEMPLATE": "d/w", "GC_CITY": "/srv/lights", "GC_CITY_PATH": "/srv/lights", "GC_CITY_NAME": "lights",
			"GC_RIG": "d", "GC_RIG_ROOT": "/srv/lights/d", "GC_BIN": "/opt/gc",
		},
		DrainTimeout: time.Minute,
	}
	if diff := cmp.Diff([]plan.Pool{pool}, desired.Pools); diff != "" || desired.MaxSessions != 9 {
		t.Errorf("%d sessions at most, %s", desired.MaxSessions, diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, "no effect on the members of a pool") {
		t.Errorf("warnings: %v", warnings)
	}
}

// TestMembersKeepTheirSessionsWhenThePoolGrows checks that a larger max does not change the
// sessions of the existing members.
func TestMembersKeepTheirSessionsWhenThePoolGrows(t *testing.T) {
	small, _, err := resolveText(t, plainAgent+"max_active_sessions = 2\n", "")
	if err != nil {
		t.Fatal(err)
	}
	large, _, err := resolveText(t, plainAgent+"max_active_sessions = 30\n", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(small.Sessions, large.Sessions[:2]); diff != "" {
		t.Error(diff)
	}
}

// TestMistakeInAPoolIsReportedOnce checks that a mistake in the section of a pool is one error, not
// one for each member.
func TestMistakeInAPoolIsReportedOnce(t *testing.T) {
	_, _, err := resolveText(t, "[[agents]]\nname='w'\nstart_command='{{.X}}'\nmax_active_sessions=50\nscale_check='{{.Y}}'\n", "")
	if errs, _ := config.AsErrors(err); len(errs) != 1 || errs[0].Line != 5 {
		t.Errorf("got:\n%v", err)
	}
	_, _, err = resolveText(t, "[[agents]]\nname='w'\nstart_command='{{.X}}'\nmax_active_sessions=50\n", "")
	if errs, _ := config.AsErrors(err); len(errs) != 1 || errs[0].Line != 3 {
		t.Errorf("got:\n%v", err)
	}
}

// TestIdleTimesAndPoliciesAreResolved checks the resolved values of the keys about idle times,
// ages, questions, stalls and the context window, and their defaults.
func TestIdleTimesAndPoliciesAreResolved(t *testing.T) {
	s := resolve(t, plainAgent)
	if s.IdleAfter != 0 || s.MaxAge != 0 || s.DrainTimeout != 5*time.Minute || s.Pending != (plan.PendingPolicy{Policy: "escalate", After: 10 * time.Minute}) {
		t.Errorf("by default: %v, %v, %v, %+v", s.IdleAfter, s.MaxAge, s.DrainTimeout, s.Pending)
	}
	s = resolve(t, plainAgent+"idle_timeout='2h'\nsleep_after_idle='1h'\nmax_session_age='24h'\nmax_session_age_jitter='3h'\n[agents.pending]\npolicy='answer'\nanswer='2'\nafter='1m'\n")
	if s.IdleAfter != time.Hour || s.MaxAge != 24*time.Hour || s.MaxAgeJitter != 3*time.Hour || s.Pending != (plan.PendingPolicy{Policy: "answer", After: time.Minute, Answer: "2"}) {
		t.Errorf("got %v, %v, %v, %+v", s.IdleAfter, s.MaxAge, s.MaxAgeJitter, s.Pending)
	}
	for text, want := range map[string]time.Duration{
		"idle_timeout='2h'\nsleep_after_idle='off'\n": 2 * time.Hour, "sleep_after_idle='1h'\n": time.Hour, "sleep_after_idle='off'\n": 0,
	} {
		if got := resolve(t, plainAgent+text).IdleAfter; got != want {
			t.Errorf("%q: idle after %v, want %v", text, got, want)
		}
	}
	if s := resolve(t, plainAgent+"[agents.pending]\npolicy='wait'\n"); s.Pending != (plan.PendingPolicy{Policy: "wait"}) {
		t.Errorf("got %+v", s.Pending)
	}
}

// TestResumeCommandOfEachKind checks with which command an agent resumes a conversation, and with
// which one it begins a new one.
func TestResumeCommandOfEachKind(t *testing.T) {
	const id = "0b5f"
	byFlag := robotAgent + "args=['a b']\nnudge='go on'\nprompt_template='p'\n" + robot
	sub := "[[agents]]\nname='w'\nprovider='robot'\nargs=['a b']\n[providers.robot]\nbase='builtin:codex'\ncommand='robot'\nresume_flag='threads continue'\nresume_style='subcommand'\nsession_id_flag=''\npermission_mode=''\n"
	for name, c := range map[string]struct{ text, again, begun string }{
		"by a flag":            {byFlag, "robot 'a b' --resume 0b5f", "robot 'a b' --session-id 0b5f"},
		"by a subcommand":      {sub, "robot threads continue 0b5f 'a b'", ""},
		"by a command":         {robotAgent + "resume_command='again {{.SessionKey}} {{.Agent}}'\n" + robot, "again 0b5f w", "robot -x --session-id 0b5f"},
		"by the CLI's command": {"[[agents]]\nname='w'\nprovider='mine'\n[providers.mine]\nbase='provider:robot'\n" + robot + "resume_command='again {{.SessionKey}}'\n", "again 0b5f", "robot -x --session-id 0b5f"},
		"own command":          {robotAgent + "start_command='wrap'\n" + robot + "resume_command='again {{.SessionKey}}'\n", "", ""},
		"own, with a way":      {plainAgent + "resume_command='run --again {{quote .SessionKey}}'\n", "run --again 0b5f", ""},
		"afresh":               {byFlag + "wake_mode='fresh'\n", "", "robot 'a b' --session-id 0b5f"},
		"unknown program":      {plainAgent, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.text
			if name == "afresh" {
				text = strings.Replace(byFlag, "nudge=", "wake_mode='fresh'\nnudge=", 1)
			}
			s := resolve(t, text)
			again, ok := s.ResumeCommand(session.Conversation{ID: id}, session.RungResume)
			if again.Command != c.again || ok != (c.again != "") {
				t.Errorf("it is continued with %q, want %q", again.Command, c.again)
			}
			begun, ok := s.WithConversation(id)
			if begun.Command != c.begun || ok != (c.begun != "") {
				t.Errorf("it is begun with %q, want %q", begun.Command, c.begun)
			}
			if again.PromptSuffix != "" || begun.PromptSuffix != s.Config.PromptSuffix && c.begun != "" {
				t.Error("the first prompt is given with a new conversation only")
			}
		})
	}
}

// TestResumedAgentGetsItsNudgeAndItsFolder checks that an agent that resumes a conversation gets
// its nudge but not the first prompt, and runs in its working directory.
func TestResumedAgentGetsItsNudgeAndItsFolder(t *testing.T) {
	s := resolve(t, robotAgent+"prompt_mode='none'\nprompt_template='p'\nnudge='go on'\n"+robot)
	if !strings.Contains(s.Config.Nudge, "Do w.") {
		t.Fatalf("the first prompt is %q", s.Config.Nudge)
	}
	c := session.Conversation{ID: "x", Dir: "/elsewhere"}
	cfg, _ := s.ResumeCommand(c, session.RungResume)
	if cfg.Nudge != "go on" || cfg.WorkDir != "/srv/lights" || cfg.Env["GC_DIR"] != "/srv/lights" {
		t.Errorf("resumed: %q in %s (%s)", cfg.Nudge, cfg.WorkDir, cfg.Env["GC_DIR"])
	}
	cfg, _ = s.ResumeCommand(c, session.RungRepair)
	if cfg.WorkDir != "/elsewhere" || cfg.Env["GC_DIR"] != "/elsewhere" || s.Config.Env["GC_DIR"] != "/srv/lights" {
		t.Errorf("repaired: in %s (%s)", cfg.WorkDir, cfg.Env["GC_DIR"])
	}
	if _, ok := s.ResumeCommand(c, session.RungFresh); ok {
		t.Error("a fresh start continues a conversation")
	}
	if note := plan.WithHandoffNote(s.Config, c, "not found").Nudge; !strings.HasPrefix(note, s.Config.Nudge+"\n\nYour previous conversation x could not be continued (not found)") {
		t.Errorf("the note is %q", note)
	}
}

// TestUnsafeConversationIDIsRefused checks that an ID with characters that a shell or an agent CLI
// could interpret is never put into a command.
func TestUnsafeConversationIDIsRefused(t *testing.T) {
	s := resolve(t, robotAgent+robot)
	for _, id := range []string{"", "-x", "--help", "a b", "$(x)", "a;b", "a'b", "a\nb", "`x`", "a&b", strings.Repeat("x", 257)} {
		if cfg, ok := s.ResumeCommand(session.Conversation{ID: id}, session.RungResume); ok {
			t.Errorf("%q becomes %q", id, cfg.Command)
		}
		if cfg, ok := s.WithConversation(id); ok {
			t.Errorf("%q becomes %q", id, cfg.Command)
		}
	}
}

// TestResumeCommandNeedsTheConversationID checks that a resume_command without {{.SessionKey}} is
// an error, and that no other key may use it.
func TestResumeCommandNeedsTheConversationID(t *testing.T) {
	_, _, err := resolveText(t, plainAgent+"resume_command='x --continue'\n", "")
	if errs, _ := config.AsErrors(err); len(errs) != 1 || !strings.Contains(errs[0].Error(), "{{.SessionKey}}") || errs[0].Line != 4 {
		t.Errorf("got:\n%v", err)
	}
	_, _, err = resolveText(t, plainAgent+"args=['{{.SessionKey}}']\n", "")
	if errs, _ := config.AsErrors(err); len(errs) != 1 || !strings.Contains(errs[0].Message, "there is no {{.SessionKey}}") {
		t.Errorf("nothing but resume_command sees the conversation:\n%v", err)
	}
}

// observedAs returns the observations of sessions that run exactly as they were resolved.
func observedAs(desired plan.Desired) []plan.Observed {
	var observed []plan.Observed
	for _, s := range desired.Sessions {
		observed = append(observed, plan.Observed{
			Record: session.Record{Session: s.Name, Provider: s.Provider, Agent: s.Agent, Stored: s.Fingerprints},
			Owner:  plan.OwnerThisCity, Managed: true,
			Observation: runtime.Observation{Session: runtime.Alive, Agent: runtime.Alive},
		})
	}
	return observed
}

// TestOrderOfSectionsDoesNotMatter checks that the same sections and keys of city.toml in another
// order give the same sessions.
func TestOrderOfSectionsDoesNotMatter(t *testing.T) {
	agents := [][]string{
		{"name = 'a'", "start_command = 'x'", "env = { A = '1', B = '$A', C = '3' }", "session_live = ['l']"},
		{"name = 'b'", "provider = 'robot'", "depends_on = ['a']", "ready_delay_ms = 3", "env = { Z = '1', Y = '2' }"},
		{"name = 'c'", "start_command = 'x'", "max_active_sessions = 3", "scale_check = 'c'"},
	}
	sections := func(agents [][]string) string {
		var text strings.Builder
		for _, lines := range agents {
			text.WriteString("[[agents]]\n" + strings.Join(lines, "\n") + "\n")
		}
		return text.String() + robot
	}
	first, _, err := resolveText(t, sections(agents), "")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var shuffled [][]string
		for _, lines := range agents {
			lines = rapid.Permutation(lines).Draw(rt, "lines")
			for i, line := range lines {
				if inner, ok := strings.CutPrefix(line, "env = { "); ok {
					pairs := rapid.Permutation(strings.Split(strings.TrimSuffix(inner, " }"), ", ")).Draw(rt, "env")
					lines[i] = "env = { " + strings.Join(pairs, ", ") + " }"
				}
			}
			shuffled = append(shuffled, lines)
		}
		next, _, err := resolveText(t, sections(rapid.Permutation(shuffled).Draw(rt, "agents")), "")
		if err != nil {
			rt.Fatal(err)
		}
		for _, a := range plan.Diff(next, observedAs(first), noon, plan.Policy{PoolWants: map[string]int{"c": 3}}) {
			if a.Verb != plan.VerbNone || a.State != "running" {
				rt.Fatalf("the same configuration in another order: %+v", a)
			}
		}
	})
}

// TestPreviewOfAnotherConfiguration checks that the actions for another configuration can be
// computed without making it active.
func TestPreviewOfAnotherConfiguration(t *testing.T) {
	current, _, err := resolveText(t, plainAgent+"[[agents]]\nname='v'\nstart_command='x'\n", "")
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := resolveText(t, "[[agents]]\nname='w'\nstart_command='run --fast'\n[[agents]]\nname='n'\nstart_command='x'\n", "")
	if err != nil {
		t.Fatal(err)
	}
	observed := observedAs(current)
	for i := range observed {
		observed[i].Activity.State = runtime.ActivityIdle
	}
	before := slices.Clone(observed)
	var got []string
	for _, a := range plan.Preview(next, observed, noon, plan.Policy{}) {
		got = append(got, strings.TrimSpace(fmt.Sprint(a.Agent, " ", a.Verb, ": ", a.Reason)))
	}
	want := []string{"w restart: its configuration changed: Command", "n start: it does not run", "v stop: it is not configured any more"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, observed); diff != "" {
		t.Errorf("trying it changed what was observed: %s", diff)
	}
}

// TestConversationOfAProtocolIsInTheEnvironment checks that an agent that speaks a protocol gets
// the conversation to resume in its environment, and not in its command.
func TestConversationOfAProtocolIsInTheEnvironment(t *testing.T) {
	s := resolve(t, robotAgent+robot)
	s.Resume = plan.Resume{Protocol: true}
	c := session.Conversation{ID: "x", Mode: "careful"}
	cfg, ok := s.ResumeCommand(c, session.RungResume)
	if !ok || cfg.Command != s.Config.Command || cfg.Env[runtime.VariableConversation] != "x" || cfg.Env[runtime.VariableMode] != "careful" {
		t.Errorf("resumed, %v: %q with %v", ok, cfg.Command, cfg.Env)
	}
	if _, leaks := s.Config.Env[runtime.VariableConversation]; leaks {
		t.Error("the next fresh start would continue it")
	}
	s.Config.Env = map[string]string{runtime.VariableMode: "plan"}
	if cfg, _ = s.ResumeCommand(c, session.RungResume); cfg.Env[runtime.VariableMode] != "plan" {
		t.Errorf("the mode is %q, not that of the configuration", cfg.Env[runtime.VariableMode])
	}
}
