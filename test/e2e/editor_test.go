package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// acpEditor is an ACP client made with another implementation of the protocol.
type acpEditor struct {
	sdk.Client
	conn   *sdk.ClientSideConnection
	choose string // the option that it takes; empty: it leaves questions to others

	mu    sync.Mutex
	words strings.Builder
	asked []sdk.RequestPermissionRequest
}

func (d *acpEditor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := n.Update.AgentMessageChunk; m != nil && m.Content.Text != nil {
		d.words.WriteString(m.Content.Text.Text)
	}
	return nil
}

func (d *acpEditor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	d.mu.Lock()
	d.asked = append(d.asked, r)
	d.mu.Unlock()
	for _, o := range r.Options {
		if o.Name == d.choose {
			return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	<-ctx.Done()
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

// newOutput returns what the agent has said since the last call.
func (d *acpEditor) newOutput() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := d.words.String()
	d.words.Reset()
	return text
}

// openIn connects an editor to an agent.
func (c *city) openIn(agent, choose string) *acpEditor {
	c.t.Helper()
	cmd := exec.Command(c.gc, "acp", agent, "--city", c.root)
	cmd.Env, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.root, "USER=ed"}, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("gc acp %s ended with %v", agent, err)
		}
	})
	d := &acpEditor{choose: choose}
	d.conn = sdk.NewClientSideConnection(d, in, out)
	return d
}

func (d *acpEditor) prompt(t *testing.T, id sdk.SessionId, text string) sdk.StopReason {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	r, err := d.conn.Prompt(ctx, sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r.StopReason
}

// TestEditorUsesASession: an independent client uses an agent in a terminal and one without by gc acp:
// prompts, answers, a permission, a canceled turn, and the session again.
func TestEditorUsesASession(t *testing.T) {
	c := newCityOf(t, "", []member{{name: "screen"}, {name: "pipes", flags: "--acp", toml: "session = \"acp\"\n", ready: "acp"}})
	c.start()
	defer c.stop()
	for _, agent := range []string{"screen", "pipes"} {
		t.Run(agent, func(t *testing.T) {
			c.oneOf(agent, 0)
			d := c.openIn(agent, "No")
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			about, err := d.conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
			if err != nil || about.AgentInfo == nil || about.AgentInfo.Name != "gc" || !about.AgentCapabilities.LoadSession {
				t.Fatalf("initialize: %+v, %v", about, err)
			}
			s, err := d.conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: c.root, McpServers: []sdk.McpServer{}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				word := fmt.Sprintf("unheard-%d", i)
				if reason := d.prompt(t, s.SessionId, "say [[busy:500ms]] "+word); reason != sdk.StopReasonEndTurn {
					t.Errorf("the turn ended with %s", reason)
				}
				if said := d.newOutput(); !strings.Contains(said, word) || i > 0 && strings.Contains(said, fmt.Sprintf("unheard-%d", i-1)) {
					t.Errorf("of the prompt %s the editor received %q", word, said)
				}
			}
			if reason := d.prompt(t, s.SessionId, "[[permit:Bash|ls]]"); reason != sdk.StopReasonEndTurn {
				t.Errorf("the turn with a question ended with %s", reason)
			}
			if len(d.asked) != 1 || len(d.asked[0].Options) < 2 || d.asked[0].Options[0].Kind != sdk.PermissionOptionKindAllowOnce {
				t.Errorf("the editor was asked %+v", d.asked)
			}
			records, err := ledger.Read(c.ledgerOf(agent))
			if err != nil {
				t.Fatal(err)
			}
			if chosen := ledger.Of(records, ledger.Choice); len(chosen) != 1 || chosen[0].Choice != "No" {
				t.Errorf("the agent received %+v, want No", chosen)
			}
			go func() { // ends with the prompt that it cancels
				c.await(agent+" works", func(s client.Status) bool { return agentIn(s, agent).Activity.State == "busy" })
				_ = d.conn.Cancel(ctx, sdk.CancelNotification{SessionId: s.SessionId})
			}()
			began := time.Now()
			if reason := d.prompt(t, s.SessionId, "[[busy:10m]]"); reason != sdk.StopReasonCancelled {
				t.Errorf("the cancelled turn ended with %s", reason)
			}
			t.Logf("%s: cancelled after %.1f s", agent, time.Since(began).Seconds())
			prompts, err := ledger.Read(c.ledgerOf(agent))
			if err != nil || len(ledger.Prompts(prompts)) != 5 {
				t.Errorf("the agent got %d prompts, want 5; %v", len(ledger.Prompts(prompts)), err)
			}
			other := c.openIn(agent, "")
			if _, err := other.conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: s.SessionId, Cwd: c.root, McpServers: []sdk.McpServer{}}); err != nil || !strings.Contains(other.newOutput(), "unheard-2") {
				t.Errorf("the next editor does not see what was said: %v", err)
			}
			if _, err := other.conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: "another", Cwd: c.root, McpServers: []sdk.McpServer{}}); err == nil {
				t.Error("there is another session")
			}
		})
	}
}
