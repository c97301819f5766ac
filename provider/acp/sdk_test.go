package acp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"gascity/provider/acp"
	"gascity/runtime"
)

// peer is an agent made with another implementation of the protocol. It carries out the command in a prompt by
// requests to its client, and reports the result.
type peer struct {
	conn *sdk.AgentSideConnection

	mu     sync.Mutex
	cancel context.CancelFunc // of the turn
}

var _ sdk.Agent = (*peer)(nil)

func runPeer() {
	a := &peer{}
	a.conn = sdk.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	<-a.conn.Done()
}

func (*peer) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{ProtocolVersion: sdk.ProtocolVersionNumber, AgentInfo: &sdk.Implementation{Name: "peer", Version: "2"}}, nil
}

func (*peer) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}

func (*peer) NewSession(context.Context, sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	return sdk.NewSessionResponse{SessionId: "sess_1"}, nil
}

func (*peer) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, nil
}

func (*peer) ListSessions(context.Context, sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{}, nil
}

func (*peer) ResumeSession(context.Context, sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	return sdk.ResumeSessionResponse{}, nil
}

func (*peer) CloseSession(context.Context, sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	return sdk.CloseSessionResponse{}, nil
}

func (*peer) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, nil
}

func (a *peer) Cancel(context.Context, sdk.CancelNotification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil {
		a.cancel()
	}
	return nil
}

func (a *peer) Prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	a.cancel = cancel
	a.mu.Unlock()
	words := p.Prompt[0].Text.Text
	said, err := a.act(ctx, p.SessionId, words)
	if err != nil {
		said = "error: " + err.Error()
	}
	if ctx.Err() != nil {
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	err = a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: p.SessionId, Update: sdk.UpdateAgentMessageText(said)})
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, err
}

// act carries out the command of the first word.
func (a *peer) act(ctx context.Context, id sdk.SessionId, words string) (string, error) {
	verb, rest, _ := strings.Cut(words, " ")
	switch verb {
	case "read":
		r, err := a.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: id, Path: rest, Line: new(2), Limit: new(1)})
		return "read: " + r.Content, err
	case "write":
		path, text, _ := strings.Cut(rest, " ")
		_, err := a.conn.WriteTextFile(ctx, sdk.WriteTextFileRequest{SessionId: id, Path: path, Content: text})
		return "written", err
	case "run":
		t, err := a.conn.CreateTerminal(ctx, sdk.CreateTerminalRequest{SessionId: id, Command: "/bin/sh", Args: []string{"-c", rest}, OutputByteLimit: new(10)})
		if err != nil {
			return "", err
		}
		exit, err := a.conn.WaitForTerminalExit(ctx, sdk.WaitForTerminalExitRequest{SessionId: id, TerminalId: t.TerminalId})
		if err != nil {
			return "", err
		}
		out, err := a.conn.TerminalOutput(ctx, sdk.TerminalOutputRequest{SessionId: id, TerminalId: t.TerminalId})
		if err != nil || exit.ExitCode == nil {
			return "", errors.Join(err, errors.New("no exit code"))
		}
		_, err = a.conn.ReleaseTerminal(ctx, sdk.ReleaseTerminalRequest{SessionId: id, TerminalId: t.TerminalId})
		return fmt.Sprintf("ran: %q %v, exit %d", out.Output, out.Truncated, *exit.ExitCode), err
	case "ask":
		r, err := a.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
			SessionId: id, ToolCall: sdk.ToolCallUpdate{ToolCallId: "t", Title: new(rest), RawInput: map[string]any{"path": "/x"}},
			Options: []sdk.PermissionOption{
				{Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always", OptionId: "always"},
				{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Once", OptionId: "once"},
				{Kind: sdk.PermissionOptionKindRejectOnce, Name: "No", OptionId: "no"},
			},
		})
		if err != nil || r.Outcome.Selected == nil {
			return "cancelled", err
		}
		return "chosen: " + string(r.Outcome.Selected.OptionId), nil
	case "wait":
		err := a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: sdk.UpdateAgentThoughtText("hm")})
		<-ctx.Done()
		return "", err
	}
	return fmt.Sprintf("got %d bytes", len(words)), nil
}

func withPeer(_ *acp.Config, r *runtime.Config) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	r.Command = "exec '" + self + "' peer"
}

// promptAndWait delivers a prompt and waits until the session shows the result.
func (p *testSession) promptAndWait(t *testing.T, prompt, want string) {
	t.Helper()
	if err := p.ClearScrollback("one"); err != nil {
		t.Fatal(err)
	}
	if out := p.deliver(t, prompt[:min(200, len(prompt))], prompt); out.State != runtime.OutcomeSubmitted {
		t.Fatalf("%.40s: %+v", prompt, out)
	}
	var shown string
	until(t, "the turn ends", func() bool {
		r, err := p.Sense(t.Context(), "one")
		return err == nil && r.Evidence[0].Activity == runtime.ActivityIdle
	})
	until(t, "the peer's word "+want, func() bool {
		shown, _ = p.Peek("one", 0)
		return strings.Contains(shown, "acp: ready") || strings.Contains(shown, "acp: the last")
	})
	if !strings.Contains(shown, want) {
		t.Errorf("%.60s: the session shows %q, want %q in it", prompt, shown, want)
	}
}

func TestIndependentPeer(t *testing.T) {
	t.Parallel()
	p := started(t, withPeer)
	outside, err := os.MkdirTemp("", "gco") //nolint:usetesting // beside the working directory
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(outside) //nolint:errcheck // a temporary folder
	if err := errors.Join(
		os.WriteFile(filepath.Join(p.dir, "f"), []byte("one\ntwo\nthree\n"), 0o600),
		os.WriteFile(filepath.Join(outside, "secret"), []byte("a\nsecret words\n"), 0o600),
		os.Symlink(outside, filepath.Join(p.dir, "out")),
		os.Symlink("nowhere", filepath.Join(p.dir, "broken")),
	); err != nil {
		t.Fatal(err)
	}
	p.promptAndWait(t, "read "+p.dir+"/f", "read: two")
	p.promptAndWait(t, "read "+p.dir+"/none", "does not exist")
	for _, path := range []string{outside + "/secret", p.dir + "/out/secret", p.dir + "/../" + filepath.Base(outside) + "/secret", "/proc/self/environ"} {
		p.promptAndWait(t, "read "+path, "outside of the working directory")
	}
	p.promptAndWait(t, "read f", "not absolute")
	p.promptAndWait(t, "write "+p.dir+"/new/deep x y", "written")
	if text, err := os.ReadFile(filepath.Join(p.dir, "new/deep")); err != nil || string(text) != "x y" {
		t.Errorf("the file has %q, %v", text, err)
	}
	p.promptAndWait(t, "write "+p.dir+"/out/new x", "outside of the working directory")
	p.promptAndWait(t, "write "+p.dir+"/broken x", "has no target")
	p.promptAndWait(t, "run pwd >/dev/null; printf 0123456789abcdef; exit 3", `ran: "6789abcdef" true, exit 3`)
	p.promptAndWait(t, strings.Repeat("x ", 50<<10), "got 102400 bytes")

	p.deliver(t, "ask", "ask May I?")
	q := p.asked(t)
	if q.Prompt != "May I?" || q.Metadata[runtime.MetaInput] != `{"path":"/x"}` || len(q.Options) != 3 {
		t.Errorf("asked %+v", q)
	}
	if err := p.Respond("one", runtime.InteractionResponse{Action: runtime.ActionApprove}); err != nil {
		t.Error(err)
	}
	until(t, "the choice", func() bool {
		out, _ := p.Peek("one", 0)
		return strings.Contains(out, "chosen: once")
	})

	p.deliver(t, "wait", "wait for ever")
	since := time.Now()
	if err := p.Interrupt("one"); err != nil {
		t.Error(err)
	}
	if err := p.WaitForInterruptBoundary(t.Context(), "one", since, time.Second); err != nil {
		t.Error(err)
	}
	p.promptAndWait(t, "and go on", "got 9 bytes")
}
