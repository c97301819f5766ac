package agents

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// editor is a client of the Agent Client Protocol that is not ours.
type editor struct {
	sdk.Client

	mu    sync.Mutex
	words strings.Builder // guarded by mu
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := n.Update.AgentMessageChunk; m != nil && m.Content.Text != nil {
		e.words.WriteString(m.Content.Text.Text)
	}
	return nil
}

func (e *editor) output() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.words.String()
}

// edited drives the agent by gc acp, as an editor does: its prompt reaches the model, and
// the model's words the editor.
func edited(a *agent, _ string) {
	ctx, cancel := a.stepContext()
	defer cancel()
	cmd := exec.CommandContext(ctx, a.GC, "acp", a.name, "--city", a.Root)
	cmd.Env, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.Root, "USER=ed"}, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	defer func() {
		_ = in.Close() // it ends then
		if err := cmd.Wait(); err != nil {
			a.t.Errorf("gc acp %s ended with %v", a.name, err)
		}
	}()
	e := &editor{}
	conn := sdk.NewClientSideConnection(e, in, out)
	if _, err := conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber}); err != nil {
		a.fail("gc acp: initialize: %v", err)
	}
	s, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: a.Root, McpServers: []sdk.McpServer{}})
	if err != nil {
		a.fail("gc acp: session/new: %v", err)
	}
	const text = "From an editor. [[count:3]]"
	r, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: s.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil || r.StopReason != sdk.StopReasonEndTurn {
		a.fail("gc acp: the turn ended with %q: %v", r.StopReason, err)
	}
	a.waitForPrompt(text)
	if said := e.output(); !strings.Contains(said, "word-1 word-2 word-3") {
		a.fail("of the answer the editor received %q", said)
	}
}
