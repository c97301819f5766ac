package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
)

// drafter is an agent that speaks the draft of version 2: what a prompt says is what it does.
type drafter struct {
	in  *bufio.Scanner
	out io.Writer
}

// draft is an agent that speaks the draft of version 2. It answers until the end of its input.
func draft(in io.Reader, out io.Writer) {
	d := &drafter{bufio.NewScanner(in), out}
	for d.in.Scan() {
		d.handleMessage(d.read())
	}
}

type draftMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version int               `json:"protocolVersion"`
		Session string            `json:"sessionId"`
		Info    map[string]string `json:"info"`
		Prompt  []struct{ Text string }
		Config  string              `json:"configId"`
		Value   string              `json:"value"`
		Servers []map[string]any    `json:"mcpServers"`
		Extra   map[string]struct{} `json:"-"`
	} `json:"params"`
	Result struct {
		Outcome struct {
			Option string `json:"optionId"`
		} `json:"outcome"`
	} `json:"result"`
}

func (d *drafter) read() (m draftMessage) {
	_ = json.Unmarshal(d.in.Bytes(), &m) // what cannot be read does nothing
	return m
}

func (d *drafter) writeLine(line string) { fmt.Fprintln(d.out, `{"jsonrpc":"2.0",`+line+`}`) }

func (d *drafter) update(text string) {
	d.writeLine(`"method":"session/update","params":{"sessionId":"s1","update":{` + text + `}}`)
}

func (d *drafter) state(text string) { d.update(`"sessionUpdate":"state_update","state":` + text) }

func (d *drafter) handleMessage(m draftMessage) {
	answer := func(result string) { d.writeLine(`"id":` + string(m.ID) + `,"result":` + result) }
	switch m.Method {
	case "initialize":
		if m.Params.Version != 2 || m.Params.Info["name"] != "gc" {
			answer(`{"protocolVersion":1}`)
			return
		}
		answer(`{"protocolVersion":2,"info":{"name":"drafter","version":"9"},"capabilities":{"session":{}}}`)
	case "session/new", "session/resume":
		answer(`{"sessionId":"s1","configOptions":[{"configId":"how","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"groupId":"g","name":"G","options":[{"value":"code","name":"Code"}]}]}]}`)
	case "session/set_config_option":
		d.update(`"sessionUpdate":"config_option_update","configOptions":[{"configId":"` + m.Params.Config + `","category":"mode","currentValue":"` + m.Params.Value + `"}]`)
		answer(`{}`)
	case "session/prompt":
		d.prompt(m.Params.Prompt[0].Text, answer)
	case "session/cancel":
		d.state(`"idle","stopReason":"cancelled"`)
	}
}

func (d *drafter) prompt(text string, answer func(string)) {
	const end = `"idle","stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}`
	if text == "snapshots" { // of previous work, and of work of its own, before the prompt is in the conversation
		d.state(end)
		d.state(`"running"`)
		d.state(end)
	}
	d.update(`"sessionUpdate":"user_message","messageId":"u","content":[{"type":"text","text":"..."}]`)
	answer(`{"messageId":"u"}`)
	d.state(`"running","background":[]`)
	switch text {
	case "snapshots":
		d.update(`"sessionUpdate":"agent_message","messageId":"late","content":[{"type":"text","text":"after snapshots"}]`)
		<-time.After(300 * time.Millisecond)
		d.state(end)
	case "ask":
		d.state(`"requires_action"`)
		d.writeLine(`"id":"q","method":"session/request_permission","params":{"sessionId":"s1","title":"Run it?","subject":{"type":"command","command":"rm x","cwd":"/w"},` +
			`"options":[{"optionId":"for-ever","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"}]}`)
		d.in.Scan()
		d.update(`"sessionUpdate":"agent_message","messageId":"m1","content":[{"type":"text","text":"chosen ` + d.read().Result.Outcome.Option + `"}]`)
		d.state(`"running"`)
		d.state(end)
	case "work":
		d.update(`"sessionUpdate":"agent_message_chunk","messageId":"m2","content":{"type":"text","text":"said once"}`)
		d.update(`"sessionUpdate":"agent_message","messageId":"m2","content":[{"type":"text","text":"said once"}]`)
		d.update(`"sessionUpdate":"tool_call_update","toolCallId":"t","title":"its tool"`)
		d.update(`"sessionUpdate":"tool_call_content_chunk","toolCallId":"t","content":{"type":"content","content":{"type":"text","text":"what it gave"}}`)
		d.update(`"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"one step","status":"pending","priority":"high"}]}`)
		d.update(`"sessionUpdate":"_unheard_of","x":1`)
		d.writeLine(`"id":"f","method":"fs/write_text_file","params":{"sessionId":"s1","path":"stolen","content":"x"}`)
		d.in.Scan() // it is refused
		d.state(`"idle","stopReason":"end_turn","background":[{"type":"terminal","terminalId":"b"}]`)
	case "fail":
		d.state(`"idle","stopReason":"error","error":{"code":-32603,"message":"the model is gone"}`)
	case "go on alone":
		d.state(end)
		d.state(`"running"`)
	case "wait":
	default:
		d.state(end)
	}
}

// beginDraft returns a host that runs such an agent.
func beginDraft(t *testing.T) *bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return beginBy(t, func(*bench) bridge.Spec { return bridge.Spec{Command: "exec '" + self + "' draft", Draft: true} })
}

func idle(s bridge.State) bool { return s.Activity == runtime.ActivityIdle }

// TestTurnsInTheDraft checks when a turn ends in the draft of version 2: not with the answer to the
// prompt, but when the session reports that it is idle. A report about other work, or a repeated
// one, ends no turn.
func TestTurnsInTheDraft(t *testing.T) {
	t.Parallel()
	b := beginDraft(t)
	s := b.until("it rests", idle)
	if s.Name != "drafter 9" || s.Mode != "ask" || strings.Join(s.Modes, " ") != "ask code" {
		t.Errorf("it is %q in the mode %q of %v", s.Name, s.Mode, s.Modes)
	}
	for i, text := range []string{"plain", "snapshots", "work"} {
		out, err := b.deliver(text, text, time.Second)
		if err != nil || out.State != runtime.OutcomeSubmitted {
			t.Fatalf("%s: %+v, %v", text, out, err)
		}
		s = b.until("its turn is over", func(s bridge.State) bool { return s.Turns == i+1 && s.Activity != runtime.ActivityBusy })
		if text == "snapshots" {
			b.shows("after snapshots\nacp: ready") // a snapshot of other work has not ended the turn
		}
	}
	if s.Activity != runtime.ActivityBackground {
		t.Errorf("with work in the background it is %s", s.Activity)
	}
	b.shows("[plan pending] one step")
	page := b.output.String()
	if strings.Count(page, "said once") != 1 || !strings.Contains(page, "[tool: its tool]") || !strings.Contains(page, "what it gave") || !strings.Contains(page, "[plan pending] one step") {
		t.Errorf("the page:\n%s", page)
	}
	if _, err := os.Stat(b.cmd.Dir + "/stolen"); err == nil {
		t.Error("it wrote a file through gc, which the draft has no method for")
	}

	if _, err := b.deliver("ask", "ask", time.Second); err != nil {
		t.Fatal(err)
	}
	s = b.until("it asks", func(s bridge.State) bool { return s.Pending != nil })
	if s.Pending.Prompt != "Run it?" || !strings.Contains(s.Pending.Metadata[runtime.MetaInput], "rm x") {
		t.Errorf("it asks %+v", s.Pending)
	}
	if err := b.Respond(t.Context(), runtime.InteractionResponse{RequestID: s.Pending.RequestID, Action: runtime.ActionApprove}); err != nil {
		t.Fatal(err)
	}
	b.until("it rests", idle)
	b.shows("chosen once")

	if _, err := b.deliver("fail", "fail", time.Second); err != nil {
		t.Fatal(err)
	}
	if s = b.until("it rests", idle); !strings.Contains(s.Detail, "the model is gone") {
		t.Errorf("of the failed turn it is said %q", s.Detail)
	}
}

// TestInterruptInTheDraft checks that a cancelled turn ends when the agent reports that it is idle,
// that work of the agent without a prompt ends in the same way, and that no prompt is sent during
// such work.
func TestInterruptInTheDraft(t *testing.T) {
	t.Parallel()
	b := beginDraft(t)
	if _, err := b.deliver("wait", "wait", time.Second); err != nil {
		t.Fatal(err)
	}
	if err := b.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := b.until("it rests", idle); s.Boundary.IsZero() || !strings.Contains(s.Detail, "cancelled") {
		t.Errorf("after the interrupt: %+v", s)
	}
	if _, err := b.deliver("alone", "go on alone", time.Second); err != nil {
		t.Fatal(err)
	}
	b.until("it works by itself", func(s bridge.State) bool { return s.Turns == 2 && s.Activity == runtime.ActivityBusy })
	if out, err := b.deliver("early", "plain", 200*time.Millisecond); err != nil || out.Reason != runtime.RefusedBusy {
		t.Errorf("during its own work a prompt is %+v, %v", out, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := b.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if out, err := b.deliver("later", "plain", time.Second); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("after it a prompt is %+v, %v", out, err)
	}
}

// TestTheDraftWithAnAgentOfVersion1 checks that version 1 is used with an agent that does not
// support the draft.
func TestTheDraftWithAnAgentOfVersion1(t *testing.T) {
	t.Parallel()
	b := beginBy(t, func(b *bench) bridge.Spec {
		return bridge.Spec{Command: "exec " + build.Build(t) + " --acp --ledger " + b.ledger, Draft: true}
	})
	if out, err := b.deliver("a", "hello", time.Second); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("a prompt is %+v, %v", out, err)
	}
	b.until("it rests", idle)
	if n := len(b.prompts()); n != 1 {
		t.Errorf("it took %d prompts", n)
	}
}
