package agents

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/driver/shimdriver"
	"gascity/provider/acp"
	"gascity/runtime"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// acpSession is a session of a real agent that speaks the Agent Client Protocol.
type acpSession struct {
	*acp.Provider
	model *mockmodel.Server
	found bed.Installed
	seat  bed.AgentHome
	dir   string
	begun time.Time // no sooner has its conversation
}

func openSpeaker(t *testing.T, program, name string, args ...string) *acpSession {
	t.Helper()
	return openSpeakerVersion(t, "1", program, name, args...)
}

// openSpeakerVersion is speak in a version of the protocol.
func openSpeakerVersion(t *testing.T, version, program, name string, args ...string) *acpSession {
	t.Helper()
	found := bed.Need(t, name)
	dir, err := os.MkdirTemp("/tmp", "gcs-") //nolint:usetesting // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	model, err := mockmodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	wire, err := bed.NewTripwire()
	if err != nil {
		t.Fatal(err)
	}
	seat, err := bed.NewAgentHome(found.CLI, filepath.Join(dir, "seat"), bed.Seeded, model.URL(name), wire.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := acp.Open(acp.Config{
		Options: shimdriver.Options{
			Dir: filepath.Join(dir, "s"), Shim: []string{program, "shim"},
			Env: []string{"PATH=" + found.Bin + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"},
		},
		Host: []string{program, "acp-host"}, HandshakeTimeout: bed.StepTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, err := p.Peek("one", 60)
			t.Logf("%s\n%v", out, err)
		}
		if err := errors.Join(p.Stop("one"), p.Close(), model.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	if !strings.HasSuffix(found.Name, "-acp") {
		found.Name += " by ACP"
	}
	if version != "1" {
		found.Name += ", draft of ACP version " + version
	}
	seat.Env["GC_ACP_VERSION"] = version
	began := time.Now()
	err = p.Start(t.Context(), "one", runtime.Config{
		Command: "exec " + strings.Join(append([]string{found.Path}, args...), " "), WorkDir: seat.Work, Env: seat.Env, ReadyPromptPrefix: ">",
	})
	if err != nil {
		t.Fatal(err)
	}
	logFigure(t, found, "launch", "accepts prompts %.1f s after its start", time.Since(began).Seconds())
	return &acpSession{p, model, found, seat, dir, time.Now()}
}

func (s *acpSession) deliver(t *testing.T, id, text string) {
	t.Helper()
	out, err := s.Deliver(t.Context(), "one", runtime.Delivery{ID: id, Content: runtime.TextContent(text), Confirm: bed.StepTimeout})
	if err != nil || out.State != runtime.OutcomeSubmitted {
		t.Fatalf("%.40s: %+v, %v", text, out, err)
	}
}

func (s *acpSession) rest(t *testing.T) {
	t.Helper()
	if err := s.WaitForIdle(t.Context(), "one", bed.StepTimeout); err != nil {
		t.Fatal(err)
	}
}

// TestAgentsSpeakACP drives each agent by the protocol: prompts to 100 KB, a permission, a
// turn that is cut off. What reached the model is read from the mock.
func TestAgentsSpeakACP(t *testing.T) {
	together(t)
	flags := map[string][]string{
		"gemini": {"--acp", "-m", "gemini-2.5-flash"}, "opencode": {"acp"},
		// Its sandbox needs bubblewrap, which neither its package nor every machine has: a command would end with 101.
		"codex-acp": {"-c", `'sandbox_mode="danger-full-access"'`, "-c", `'approval_policy="untrusted"'`},
	}
	names := driven("codex-acp", "claude-agent-acp", "gemini", "opencode")
	if len(names) == 0 {
		t.Skip("no agent of this protocol is asked for by GC_TEST_AGENTS")
	}
	program, err := bed.Program()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			together(t)
			s := openSpeaker(t, program, name, flags[name]...)
			recordOnFailure(t, s.found, "delivery", "questions", "interrupt", "resume", "stop")
			s.deliver(t, "a", "Say it. [[text:I say it]]")
			s.rest(t)
			long := "Count these. " + strings.Repeat("0123456789 abcdefghi ", 5000) + "[[text:many]]"
			s.deliver(t, "b", long)
			s.rest(t)
			prompts := s.model.Prompts(name)
			if len(prompts) != 2 || prompts[0].Text != "Say it. [[text:I say it]]" || prompts[1].Text != long {
				t.Errorf("the model got %d prompts", len(prompts))
			}
			logFigure(t, s.found, "delivery", "a prompt of 24 B and one of %d KiB arrived once and unchanged", len(long)>>10)
			s.permit(t)
			s.cancelTurn(t)
			s.again(t, flags[name], "f")
			s.again(t, flags[name], "g") // gemini deletes a conversation that was not named at its second start
			s.closed(t)
		})
	}
}

const notAsked = "none: the agent ran the command without asking"

// permit lets a command run that is asked for.
func (s *acpSession) permit(t *testing.T) {
	t.Helper()
	s.deliver(t, "c", "Do it. [[tool:touch RAN]] [[text:done]]")
	asked := notAsked
	for until := time.Now().Add(bed.StepTimeout); ; <-time.After(20 * time.Millisecond) {
		q, err := s.Pending("one")
		if err != nil || time.Now().After(until) {
			t.Fatalf("neither a question nor an end: %v", err)
		}
		if q != nil {
			asked = "asked with the options: " + strings.Join(q.Options, ", ")
			if err := s.Respond("one", runtime.InteractionResponse{RequestID: q.RequestID, Action: runtime.ActionApprove}); err != nil {
				t.Fatal(err)
			}
			break
		}
		if r, err := s.Sense(t.Context(), "one"); err == nil && r.Evidence[0].Activity == runtime.ActivityIdle {
			break
		}
	}
	s.rest(t)
	if _, err := os.Stat(filepath.Join(s.seat.Work, "RAN")); err != nil && asked != notAsked {
		t.Errorf("the command did not run (%s): %v", asked, err)
	} else if err != nil {
		asked += ", and it did not run" // the agent has another way to name its shell than the mock knows
	}
	logFigure(t, s.found, "questions", "%s", asked)
}

// cancelTurn ends a turn that waits for the model; the next prompt arrives alone.
func (s *acpSession) cancelTurn(t *testing.T) {
	t.Helper()
	s.submit(t, "d", "Wait. [[delay:60]]")
	if err := s.model.Await(t.Context(), func([]mockmodel.Request) bool {
		return strings.Contains(strings.Join(textsOf(s.model.Prompts("")), "\n"), "[[delay:60]]")
	}); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if err := s.Interrupt("one"); err != nil {
		t.Fatal(err)
	}
	logFigure(t, s.found, "interrupt", "the turn ended %.2f s after the interrupt, and the next prompt arrived alone", time.Since(since).Seconds())
	s.deliver(t, "e", "Go on. [[text:gone on]]")
	s.rest(t)
	if all := s.model.Prompts(""); len(all) == 0 || all[len(all)-1].Text != "Go on. [[text:gone on]]" {
		t.Errorf("the last prompt was %+v", all)
	}
}

// again kills the agent and starts it in the conversation that it has reported.
func (s *acpSession) again(t *testing.T, args []string, id string) {
	t.Helper()
	before, err := s.Sense(t.Context(), "one")
	if err != nil || before.Conversation == nil {
		t.Fatalf("the conversation is not reported: %+v, %v", before, err)
	}
	if err := s.Stop("one"); err != nil {
		t.Fatal(err)
	}
	if until := s.begun.Truncate(time.Minute).Add(time.Minute); s.found.Name == "gemini by ACP" {
		<-time.After(time.Until(until)) // in the same minute it loses the conversation when it loads it
	}
	if profile, ok := agentcli.Builtin().Lookup(strings.TrimSuffix(s.found.Name, " by ACP")); ok && profile.ACPResumeFlag != "" {
		args = append(slices.Clone(args), profile.ACPResumeFlag, before.Conversation.ID)
	}
	env := maps.Clone(s.seat.Env)
	env[runtime.VariableConversation] = before.Conversation.ID
	began := time.Now()
	err = s.Start(t.Context(), "one", runtime.Config{
		Command: "exec " + strings.Join(append([]string{s.found.Path}, args...), " "), WorkDir: s.seat.Work, Env: env, ReadyPromptPrefix: ">",
	})
	if err != nil {
		t.Fatalf("it does not go on in %s: %v", before.Conversation.ID, err)
	}
	took := time.Since(began)
	s.rest(t) // a start does not wait for ever
	after, err := s.Sense(t.Context(), "one")
	if err != nil || after.Conversation == nil || after.Conversation.ID != before.Conversation.ID {
		t.Errorf("it is in %+v, %v; want %s", after.Conversation, err, before.Conversation.ID)
	}
	s.deliver(t, id, "And now? [[text:now]]")
	s.rest(t)
	all := s.model.Requests()
	found := false
	for _, r := range all[max(0, len(all)-3):] {
		found = found || r.Main && strings.Contains(strings.Join(r.History, "\n"), "I say it")
	}
	if !found {
		t.Error("what was said before the restart is not in what the model got")
	}
	logFigure(t, s.found, "resume", "the same conversation %.1f s after its start", took.Seconds())
}

// closed stops the session and looks for what is left of it.
func (s *acpSession) closed(t *testing.T) {
	t.Helper()
	began := time.Now()
	if err := s.Stop("one"); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if left, known := bed.LeftProcesses(s.dir); known && len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	logFigure(t, s.found, "stop", "no process of the agent was left %.1f s after the stop", took.Seconds())
}

// submit delivers a prompt that the agent gives no sign of before the model answers.
func (s *acpSession) submit(t *testing.T, id, text string) {
	t.Helper()
	out, err := s.Deliver(t.Context(), "one", runtime.Delivery{ID: id, Content: runtime.TextContent(text), Confirm: time.Second})
	if err != nil || out.State != runtime.OutcomeSubmitted && out.State != runtime.OutcomeUnconfirmed {
		t.Fatalf("%.40s: %+v, %v", text, out, err)
	}
}

func textsOf(prompts []mockmodel.Prompt) (all []string) {
	for _, p := range prompts {
		all = append(all, p.Text)
	}
	return all
}
