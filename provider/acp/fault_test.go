package acp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/fakeagent/ledger"
	"gascity/provider/acp"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
)

// testSession is a session of one fake agent.
type testSession struct {
	*acp.Provider
	dir, ledger string
}

// begin starts a session with flags of the fake agent.
func begin(t *testing.T, edit func(*acp.Config, *runtime.Config), flags ...string) (*testSession, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gca") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // a temporary folder
	cfg := config(dir)
	run := runtime.Config{
		Command: strings.Join(append([]string{"exec", build.Build(t), "--acp", "--ledger", filepath.Join(dir, "ledger")}, flags...), " "),
		WorkDir: dir, ReadyPromptPrefix: ">",
	}
	if edit != nil {
		edit(&cfg, &run)
	}
	p, err := acp.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Stop("one"), p.Close()); err != nil {
			t.Error(err)
		}
	})
	return &testSession{p, dir, filepath.Join(dir, "ledger")}, p.Start(t.Context(), "one", run)
}

func started(t *testing.T, edit func(*acp.Config, *runtime.Config), flags ...string) *testSession {
	t.Helper()
	p, err := begin(t, edit, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *testSession) deliver(t *testing.T, id, text string) runtime.Outcome {
	t.Helper()
	out, err := p.Deliver(t.Context(), "one", runtime.Delivery{ID: id, Content: runtime.TextContent(text)})
	if err != nil {
		t.Errorf("Deliver(%.40s): %v", text, err)
	}
	return out
}

func (p *testSession) records(t *testing.T, kind string) (found []ledger.Record) {
	t.Helper()
	all, err := ledger.Read(p.ledger)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Kind == kind {
			found = append(found, r)
		}
	}
	return found
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for !is() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func (p *testSession) asked(t *testing.T) *runtime.PendingInteraction {
	t.Helper()
	var q *runtime.PendingInteraction
	until(t, "the question is pending", func() bool {
		var err error
		if q, err = p.Pending("one"); err != nil {
			t.Fatal(err)
		}
		return q != nil
	})
	return q
}

func TestHandshakeThatFails(t *testing.T) {
	t.Parallel()
	short := func(c *acp.Config, _ *runtime.Config) { c.HandshakeTimeout = 300 * time.Millisecond }
	for name, c := range map[string]struct {
		edit  func(*acp.Config, *runtime.Config)
		flags []string
		want  []string
	}{
		"no answer to initialize": {short, []string{"--acp-fault", "no-initialize"}, []string{"initialize", "300ms", "handshake_timeout"}},
		"no answer, with words on standard error": {func(c *acp.Config, r *runtime.Config) {
			short(c, r)
			r.Command = "echo the licence has expired >&2; exec sleep 300"
		}, nil, []string{"initialize", "the licence has expired"}},
		"sign in":      {nil, []string{"--acp-fault", "auth"}, []string{"Authentication required", "GC_ACP_AUTH", "key"}},
		"wrong method": {func(_ *acp.Config, r *runtime.Config) { r.Env = map[string]string{"GC_ACP_AUTH": "other"} }, []string{"--acp-fault", "auth"}, []string{`no sign-in method "other"`, "key"}},
		"unknown mode": {func(_ *acp.Config, r *runtime.Config) { r.Env = map[string]string{"GC_ACP_MODE": "reckless"} }, nil, []string{`no mode "reckless"`, "it has: default, careful"}},
		"load fails": {
			func(_ *acp.Config, r *runtime.Config) { r.Env = map[string]string{"GC_ACP_SESSION": "previous"} },
			[]string{"--acp-fault", "load-fails"},
			[]string{"session/load", "Resource not found: previous"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := begin(t, c.edit, c.flags...)
			if !errors.Is(err, runtime.ErrSessionDiedDuringStartup) {
				t.Fatalf("Start = %v, want a death", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Start = %v\nwant %q in it", err, want)
				}
			}
			if p.IsRunning("one") {
				t.Error("something is left")
			}
		})
	}
}

func TestHandshakeChoices(t *testing.T) {
	t.Parallel()
	p := started(t, func(_ *acp.Config, r *runtime.Config) {
		r.Env = map[string]string{"GC_ACP_AUTH": "key", "GC_ACP_SESSION": "previous", "GC_ACP_MODE": "careful"}
		r.MCPServers = []runtime.MCPServerConfig{{Name: "b", Command: "/bin/b", Env: map[string]string{"K": "v"}}, {Name: "a", Transport: "http", URL: "http://127.0.0.1/"}}
	}, "--acp-fault", "auth")
	out, err := p.Peek("one", 0)
	if err != nil || !strings.Contains(out, "conversation previous") {
		t.Errorf("Peek = %q, %v", out, err)
	}
	until(t, "both servers and the mode are known", func() bool { return len(p.records(t, ledger.Dialog)) == 3 })
	if got := p.records(t, ledger.Dialog); got[0].Choice != "a" || got[1].Choice != "b" || got[2].Choice != "careful" {
		t.Errorf("servers and mode %+v, want a and b in the order of their names, then careful", got)
	}
	if r, err := p.Sense(t.Context(), "one"); err != nil || r.Conversation == nil || *r.Conversation != (runtime.Conversation{ID: "previous", Dir: p.dir, Mode: "careful"}) {
		t.Errorf("it is in %+v, %v", r.Conversation, err)
	}
}

func TestPromptsArriveDespiteFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"extra", "partial", "string-ids", "long-line"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := started(t, nil, "--acp-fault", fault)
			for _, text := range []string{"first", strings.Repeat("0123456789abcdef ", 6400)} {
				// A line of 65 MiB is read first: a loaded machine needs time.
				d := runtime.Delivery{ID: text[:5], Content: runtime.TextContent(text), Confirm: time.Minute}
				if out, err := p.Deliver(t.Context(), "one", d); err != nil || out.State != runtime.OutcomeSubmitted {
					t.Errorf("%+v, %v, want submitted", out, err)
				}
			}
			until(t, "both are answered", func() bool { return len(p.records(t, ledger.Answered)) == 2 })
			if got := p.records(t, ledger.Prompt); len(got) != 2 || !got[0].Is("first") || !got[1].Is(strings.Repeat("0123456789abcdef ", 6400)) {
				t.Errorf("the agent got %d prompts", len(got))
			}
			if out, err := p.Peek("one", 0); fault == "long-line" && (err != nil || !strings.Contains(out, "dropped")) {
				t.Errorf("nothing reports the line that was dropped: %v", err)
			}
		})
	}
}

func TestErrorResponseCountsAsAccepted(t *testing.T) {
	t.Parallel()
	p := started(t, nil, "--acp-fault", "internal-error")
	out := p.deliver(t, "id", "x")
	if out.State != runtime.OutcomeSubmitted || !strings.Contains(out.Detail, "-32603") {
		t.Errorf("%+v, want submitted with the error: the agent worked on it", out)
	}
	r, err := p.Sense(t.Context(), "one")
	if err != nil || r.Evidence[0].Activity != runtime.ActivityIdle || !strings.Contains(r.Evidence[0].Detail, "-32603") {
		t.Errorf("%+v, %v, want idle with why", r.Evidence, err)
	}
}

// A turn that never ends blocks other prompts and is not a success. An interrupt returns an error.
func TestTurnThatNeverEnds(t *testing.T) {
	t.Parallel()
	p := started(t, func(c *acp.Config, _ *runtime.Config) { c.BusyTimeout = 200 * time.Millisecond }, "--acp-fault", "silent")
	out, err := p.Deliver(t.Context(), "one", runtime.Delivery{ID: "a", Content: runtime.TextContent("[[forever]]"), Confirm: 300 * time.Millisecond})
	if err != nil || out.State != runtime.OutcomeUnconfirmed {
		t.Errorf("%+v, %v, want unconfirmed: there was no sign", out, err)
	}
	if out := p.deliver(t, "b", "second"); out.Reason != runtime.RefusedBusy {
		t.Errorf("%+v, want refused as busy", out)
	}
	if out, err := p.Settle(t.Context(), "one", runtime.Delivery{ID: "b"}); err != nil || out.Reason != runtime.RefusedWithdrawn {
		t.Errorf("settled %+v, %v, want withdrawn: it was never sent", out, err)
	}
	if out, err := p.Settle(t.Context(), "one", runtime.Delivery{ID: "a"}); err != nil || out.State != runtime.OutcomeUnconfirmed {
		t.Errorf("settled %+v, %v, want unconfirmed", out, err)
	}
	if err := p.Interrupt("one"); err != nil {
		t.Errorf("Interrupt = %v", err)
	}
	if out := p.deliver(t, "b", "second"); out.State == runtime.OutcomeRefused {
		t.Errorf("%+v after the interrupt", out)
	}
	if got := p.records(t, ledger.Prompt); len(got) != 2 || !got[1].Is("second") {
		t.Errorf("the agent got %+v", got)
	}
}

func TestCrashDuringTurn(t *testing.T) {
	t.Parallel()
	p := started(t, nil, "--acp-fault", "silent")
	out := p.deliver(t, "a", "[[crash]]")
	if out.State != runtime.OutcomeUnconfirmed {
		t.Errorf("%+v, want unconfirmed", out)
	}
	until(t, "the death is seen", func() bool { return !p.IsRunning("one") })
	obs, err := p.Observe(t.Context(), "one")
	if err != nil || obs.Exit == nil || obs.Exit.Signal == "" {
		t.Errorf("%+v, %v, want the end by a signal", obs, err)
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  string
		answer runtime.InteractionResponse
		want   string // the choice; empty: it cannot be given
	}{
		"approve":                 {"string-ids", runtime.InteractionResponse{Action: runtime.ActionApprove}, "Yes"},
		"deny":                    {"extra", runtime.InteractionResponse{Action: runtime.ActionDeny}, "No"},
		"for ever":                {"extra", runtime.InteractionResponse{Action: bridge.ActionApproveAlways}, "Yes, and always allow ls in this project"},
		"by label":                {"extra", runtime.InteractionResponse{Action: runtime.ActionChoose, Text: "No"}, "No"},
		"by number":               {"extra", runtime.InteractionResponse{Action: runtime.ActionChoose, Text: "3"}, "No"},
		"cancelled":               {"extra", runtime.InteractionResponse{Action: runtime.ActionCancel}, "(cancelled)"},
		"never always for once":   {"odd-permission", runtime.InteractionResponse{Action: runtime.ActionApprove}, ""},
		"no way to deny":          {"odd-permission", runtime.InteractionResponse{Action: runtime.ActionDeny}, ""},
		"never always for denied": {"extra", runtime.InteractionResponse{Action: bridge.ActionDenyAlways}, ""},
		"words":                   {"extra", runtime.InteractionResponse{Action: runtime.ActionText, Text: "yes"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := started(t, nil, "--acp-fault", c.fault)
			p.deliver(t, "a", "[[permit:Bash|ls]]")
			q := p.asked(t)
			c.answer.RequestID = q.RequestID
			err := p.Respond("one", c.answer)
			if c.want == "" {
				if wrong := (*runtime.AnswerError)(nil); !errors.As(err, &wrong) {
					t.Errorf("Respond = %v, want that it cannot be given", err)
				}
				if still := p.asked(t); still.RequestID != q.RequestID || len(p.records(t, ledger.Choice)) != 0 {
					t.Error("something was sent")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the agent has the answer", func() bool { return len(p.records(t, ledger.Choice)) == 1 })
			if got := p.records(t, ledger.Choice)[0].Choice; got != c.want {
				t.Errorf("the agent received %q, want %q", got, c.want)
			}
			if err := p.Respond("one", c.answer); !errors.Is(err, runtime.ErrInteractionGone) {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

// An interrupt cancels the open question, is confirmed, and does not affect the next turn.
func TestInterruptWhileAsking(t *testing.T) {
	t.Parallel()
	p := started(t, nil)
	p.deliver(t, "a", "[[permit:Bash|ls]]")
	p.asked(t)
	if out := p.deliver(t, "b", "second"); out.Reason != runtime.RefusedDialog {
		t.Errorf("%+v, want refused because of the question", out)
	}
	since := time.Now()
	if err := p.Interrupt("one"); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitForInterruptBoundary(t.Context(), "one", since, 10*time.Second); err != nil {
		t.Error(err)
	}
	if q, err := p.Pending("one"); q != nil || err != nil {
		t.Errorf("Pending = %+v, %v", q, err)
	}
	if out := p.deliver(t, "c", "third"); out.State != runtime.OutcomeSubmitted {
		t.Errorf("%+v", out)
	}
	until(t, "the third is answered", func() bool { return len(p.records(t, ledger.Answered)) == 1 })
}

// A prompt whose deliverer was killed is delivered once, and its turn and question continue.
func TestDelivererIsKilled(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[[busy:1s]]", "[[permit:Bash|ls]]"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			p := started(t, nil, "--acp-fault", "silent,string-ids")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			other, err := os.StartProcess(self, []string{self, "deliver", p.dir, "a", text}, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, os.Stderr, os.Stderr}})
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the agent has the prompt", func() bool { return len(p.records(t, ledger.Prompt)) == 1 })
			if err := other.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if _, err := other.Wait(); err != nil {
				t.Fatal(err)
			}
			d := runtime.Delivery{ID: "a", Content: runtime.TextContent(text), Confirm: 10 * time.Millisecond}
			if text != "[[busy:1s]]" {
				if err := p.Respond("one", runtime.InteractionResponse{RequestID: p.asked(t).RequestID, Action: runtime.ActionApprove}); err != nil {
					t.Error(err)
				}
			}
			if out, err := p.Deliver(t.Context(), "one", d); err != nil || out.State == runtime.OutcomeRefused || out.State == runtime.OutcomeAbsent {
				t.Errorf("a second delivery: %+v, %v", out, err)
			}
			if out, err := p.Settle(t.Context(), "one", d); err != nil || out.State == runtime.OutcomeRefused {
				t.Errorf("settled %+v, %v", out, err)
			}
			until(t, "the turn ends", func() bool { return len(p.records(t, ledger.Answered)) == 1 })
			if n := len(p.records(t, ledger.Prompt)); n != 1 {
				t.Errorf("the agent got it %d times", n)
			}
		})
	}
}

// A queued prompt is removed when its sender is killed.
func TestQueuedDelivererIsKilled(t *testing.T) {
	t.Parallel()
	p := started(t, nil)
	p.deliver(t, "a", "[[busy:2s]]")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan runtime.Outcome)
	go func() {
		out, _ := p.Deliver(ctx, "one", runtime.Delivery{ID: "b", Content: runtime.TextContent("never")})
		ended <- out
	}()
	until(t, "it waits", func() bool {
		l, err := p.Session(t.Context(), "look at", "one")
		if err != nil {
			t.Fatal(err)
		}
		s, err := bridge.Client{Socket: filepath.Join(l.Folder, "acp"), Instance: l.Instance}.State(t.Context(), 0)
		return err == nil && s.Waiting == 1
	})
	cancel()
	<-ended
	if out, err := p.Settle(t.Context(), "one", runtime.Delivery{ID: "b"}); err != nil || out.Reason != runtime.RefusedWithdrawn {
		t.Errorf("settled %+v, %v, want that it was never sent", out, err)
	}
	p.deliver(t, "c", "after it")
	if got := p.records(t, ledger.Prompt); len(got) != 2 || !got[1].Is("after it") {
		t.Errorf("the agent got %d prompts", len(got))
	}
}
