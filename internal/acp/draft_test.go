package acp

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestDraftMessagesAreDecoded decodes what only the draft of version 2 of the protocol has.
func TestDraftMessagesAreDecoded(t *testing.T) {
	read := func(text string) Update {
		var p UpdateParams
		if err := json.Unmarshal([]byte(`{"sessionId":"s","update":`+text+`}`), &p); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return p.Update
	}
	if u := read(`{"sessionUpdate":"state_update","state":"idle","stopReason":"error","error":{"code":-32000,"message":"sign in"},"usage":{"inputTokens":3},"background":[{},{}]}`); u.State.State != StateIdle ||
		u.State.Background != 2 || u.State.Error == nil || u.State.Error.Code != CodeAuthRequired || u.State.Result.StopReason != "error" {
		t.Errorf("a state is read as %+v", u.State)
	} else if s := u.State.Result.Spent(); s == nil || *s.InputTokens != 3 {
		t.Errorf("its usage is read as %+v", s)
	}
	if u := read(`{"sessionUpdate":"state_update","state":"idle","stopReason":null,"background":null}`); u.State.State != StateIdle || u.State.Error != nil || u.State.Result.StopReason != "" {
		t.Errorf("a snapshot is read as %+v", u.State)
	}
	if u := read(`{"sessionUpdate":"state_update","state":7,"background":{}}`); u.State.State != "" {
		t.Errorf("a state of another shape is read as %+v", u.State)
	}
	if u := read(`{"sessionUpdate":"agent_message","messageId":"m","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}`); u.Message != "m" || u.Content.Text != "ab" {
		t.Errorf("a whole message is read as %+v", u)
	}
	if u := read(`{"sessionUpdate":"agent_message","messageId":"m","content":null}`); u.Content.Text != "" {
		t.Errorf("a message that is cleared is read as %+v", u)
	}
	if u := read(`{"sessionUpdate":"tool_call_content_chunk","toolCallId":"t","content":{"type":"content","content":{"type":"text","text":"x"}}}`); u.Tool.ID != "t" || !slices.Equal(u.Tool.Texts, []string{"x"}) {
		t.Errorf("a piece of what a tool gave is read as %+v", u.Tool)
	}
	if u := read(`{"sessionUpdate":"tool_call_content_chunk","toolCallId":"t"}`); u.Tool.ID != "t" || len(u.Tool.Texts) > 0 {
		t.Errorf("no piece is read as %+v", u.Tool)
	}
	if u := read(`{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"c","status":"done"}]}}`); len(u.Plan) != 1 || u.Plan[0].Content != "c" {
		t.Errorf("a plan is read as %+v", u.Plan)
	}

	permission := func(text string) (p PermissionParams) {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return p
	}
	if p := permission(`{"title":"T","subject":{"type":"tool_call","toolCall":{"toolCallId":"t","title":"its own","kind":"edit","rawInput":{"a":1}}}}`); p.Title != "T" || p.Tool.ID != "t" || p.Tool.Title != "its own" || string(p.Tool.RawInput) != `{"a":1}` {
		t.Errorf("a permission for a tool is read as %+v", p)
	}
	if p := permission(`{"title":"T","subject":{"type":"command","command":"ls","cwd":"/w","toolCallId":"t"}}`); p.Tool.ID != "t" || p.Tool.Kind != "execute" || string(p.Tool.RawInput) != `{"command":"ls","cwd":"/w"}` {
		t.Errorf("a permission for a command is read as %+v", p)
	}
	if p := permission(`{"title":"T","subject":{"type":"_other"},"options":[{"optionId":"o"}]}`); p.Title != "T" || len(p.Options) != 1 {
		t.Errorf("a permission for something else is read as %+v", p)
	}

	var opened SessionResult
	if err := json.Unmarshal([]byte(`{"sessionId":"s","configOptions":[7,{"configId":"x"},{"configId":"m","category":"mode","currentValue":"a","options":[{"value":"a"},{"options":[{"value":"b"}]}]}]}`), &opened); err != nil {
		t.Fatal(err)
	}
	if mode, ok := opened.Options.Mode(); !ok || mode.ID != "m" || mode.Value != "a" || !slices.Equal(mode.Values, []string{"a", "b"}) {
		t.Errorf("the mode is read as %+v of %+v", mode, opened.Options)
	}
	var about InitializeResult
	if err := json.Unmarshal([]byte(`{"protocolVersion":2,"info":{"name":"n"},"authMethods":[{"methodId":"a","type":"agent","name":"A"},{"id":"b","name":"B"}]}`), &about); err != nil ||
		about.About().Name != "n" || about.AuthMethods[0].ID != "a" || about.AuthMethods[1].ID != "b" {
		t.Errorf("an agent is read as %+v, %v", about, err)
	}
	raw, err := json.Marshal(MCPServer{Type: TypeStdio, Name: "n", Command: "c", Args: []string{}, Env: []Variable{}})
	if err != nil || string(raw) != `{"type":"stdio","name":"n","command":"c","args":[],"env":[]}` {
		t.Errorf("a server is written as %s, %v", raw, err)
	}
}
