package channel

import (
	"encoding/json"
	"testing"
)

// TestAConversationThatAPersonPicks checks that a prompt waits while the client asks for another
// conversation, and then goes to the one on the screen. A conversation that cannot be opened, or
// one of a sub-agent, changes nothing.
func TestAConversationThatAPersonPicks(t *testing.T) {
	t.Parallel()
	c := newConversation()
	id := 0
	opens := func(method, result, failure string) {
		t.Helper()
		id++
		raw, _ := json.Marshal(id)
		c.handleClient(message{ID: raw, Method: method})
		if !c.busy() {
			t.Errorf("%s: a prompt does not wait for the answer", method)
		}
		answer := message{ID: raw, Result: json.RawMessage(result)}
		if failure != "" {
			answer = message{ID: raw, Error: &rpcError{Message: failure}}
		}
		c.handleServer(answer)
	}
	for _, step := range []struct {
		method, result, failure string
		want                    string
		busy                    bool
	}{
		{methodThreadStart, `{"thread":{"id":"t1"}}`, "", "t1", false},
		{methodThreadResume, `{"thread":{"id":"t2"}}`, "", "t2", false},
		{methodThreadResume, "", "no such thread", "t2", false},
		{methodThreadStart, `{"thread":{"id":"t3","ephemeral":true}}`, "", "t2", false},
		{methodThreadFork, `{"thread":{"id":"t4","turns":[{"id":"u1","status":"inProgress"}]}}`, "", "t4", true},
		{methodThreadResume, `{"thread":{"id":"t1"}}`, "", "t1", false},
	} {
		opens(step.method, step.result, step.failure)
		if c.thread != step.want || c.busy() != step.busy {
			t.Errorf("%s %s: on the screen is %s, busy %v; want %s, %v", step.method, step.result, c.thread, c.busy(), step.want, step.busy)
		}
	}
}
