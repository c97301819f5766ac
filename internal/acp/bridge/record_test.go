package bridge_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/acp/bridge"
	"gascity/internal/agentcli"
	"gascity/internal/agentcli/transcript"
)

// TestTheConversationIsRecorded runs a turn and reads the record of the conversation as gc does for people.
func TestTheConversationIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "s"+transcript.RecordSuffix)
	b := beginBy(t, func(*bench) bridge.Spec {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return bridge.Spec{Command: "exec '" + self + "' agent", Record: path}
	})
	type object map[string]any
	chunk := func(kind, text string) object {
		return object{"sessionUpdate": kind, "content": object{"type": "text", "text": text}}
	}
	said := func(text string) []object {
		return []object{{"type": "content", "content": object{"type": "text", "text": text}}}
	}
	var script []object
	for _, update := range []object{
		chunk("agent_thought_chunk", "A list is "), chunk("agent_thought_chunk", "wanted."),
		chunk("agent_message_chunk", "I list\n"), chunk("agent_message_chunk", "them."),
		{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "a command", "kind": "execute", "status": "pending"},
		{"sessionUpdate": "tool_call_update", "toolCallId": "1", "rawInput": object{"command": "ls -la"}},
		{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed", "content": said("a.go")},
		{"sessionUpdate": "tool_call", "toolCallId": "2", "kind": "read", "locations": []object{{"path": "/w/x"}}},
		{"sessionUpdate": "tool_call_update", "toolCallId": "2", "status": "failed", "content": said("no such file")},
		{"sessionUpdate": "tool_call", "toolCallId": "3", "title": "make test", "kind": "execute", "status": "pending"},
		chunk("agent_message_chunk", "The tests "),
		{"sessionUpdate": "tool_call_update", "toolCallId": "3", "status": "in_progress", "content": said("ok a")},
		chunk("agent_message_chunk", "still "),
		{"sessionUpdate": "tool_call_update", "toolCallId": "3", "status": "completed", "content": said("ok")},
		{"sessionUpdate": "tool_call_update", "toolCallId": "3", "status": "completed", "content": said("too late")},
		chunk("agent_message_chunk", "run."),
	} {
		script = append(script, object{"method": "session/update", "params": object{"sessionId": "s", "update": update}})
	}
	prompt, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.deliver("1", string(prompt), time.Minute); err != nil {
		t.Fatal(err)
	}
	b.until("the turn has ended", func(s bridge.State) bool { return s.Turns > 0 })
	r := transcript.NewReader(path, agentcli.TranscriptRecord, transcript.Options{})
	if err := r.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.Entries() {
		line := fmt.Sprintf("%d %s %s", e.Turn, e.Kind, e.Text)
		if e.Tool != nil {
			line += fmt.Sprintf("%s %s %s: %s", e.Tool.Name, e.Tool.Argument, e.Tool.Status, e.Tool.Result)
		}
		got = append(got, line)
	}
	want := []string{
		"1 prompt " + string(prompt), "1 thinking A list is wanted.", "1 answer I list\nthem.", "1 tool Bash ls -la done: a.go", "1 tool Read /w/x failed: no such file", "1 tool Bash make test done: ok", "1 answer The tests still run.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the record is wrong: %v, %v", info, err)
	}
}
