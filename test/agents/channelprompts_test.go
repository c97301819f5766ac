package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gascity/worker"
)

// TestAnExtensionIsHandedPrompts: pi's extension takes each prompt of the city's stream once,
// though it is sent again over one connection after the other, says how far it has come, and
// refuses what it cannot do.
func TestAnExtensionIsHandedPrompts(t *testing.T) {
	together(t)
	for _, name := range driven("pi") {
		c := newFakeCity(t)
		long := strings.Repeat("\ta line of many\n", 40_000)
		messages := []worker.Message{
			{ID: "p1", Kind: worker.PromptMessage, Seq: 1, Data: data(t, worker.Prompt{Content: "!one\t/two"})},
			{ID: "c1", Kind: worker.ContextMessage, Seq: 2, Data: data(t, worker.Context{})},
			{ID: "p2", Kind: worker.PromptMessage, Seq: 3, Data: data(t, worker.Prompt{Content: long})},
		}
		var after []string
		c.stream = func(w io.Writer, last string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			after = append(after, last)
			fmt.Fprint(w, ": a comment\n\n")
			for i, m := range messages[:min(len(after), len(messages))] { // all of them again, and one more
				fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", i+1, m.Kind, data(t, m))
			}
			if len(after) > len(messages) {
				fmt.Fprint(w, "event: end\ndata: {}\n\n")
			}
		}
		e := extend(t, name, c)
		c.await("the last word", func() bool { return slices.Contains(acks(c), "p2 submitted") })
		if got, want := e.call("handed", nil, nil), string(data(t, []string{"!one\t/two", long})); got != want {
			t.Errorf("it was handed %.200q", got)
		}
		e.call("agent_settled", object{}, nil)
		c.await("that it has worked on it", func() bool { return slices.Contains(acks(c), "p2 consumed") })
		for _, want := range []string{"p1 submitted", "c1 refused", "p1 consumed"} {
			if !slices.Contains(acks(c), want) {
				t.Errorf("the city received %v, and not %s", acks(c), want)
			}
		}
		read := func() []string { c.mu.Lock(); defer c.mu.Unlock(); return slices.Clone(after) }
		c.await("that it comes again", func() bool { return len(read()) == 4 })
		if want := []string{"", "1", "2", "3"}; !slices.Equal(read(), want) {
			t.Errorf("it went on after %q, want %q", read(), want)
		}
	}
}

// TestAPersonAndTheCityAtOnce: what a person has entered goes first, and a prompt of the city's is
// neither taken for it nor lost; what they enter while one goes in comes behind it. An extension
// whose conversation is over says that it did not get it, and its agent CLI goes on.
func TestAPersonAndTheCityAtOnce(t *testing.T) {
	together(t)
	for _, name := range driven("pi") {
		c := newFakeCity(t)
		messages := make(chan worker.Message, 10)
		c.stream = func(w io.Writer, _ string) {
			for m := range messages {
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", m.Kind, data(t, m))
				_ = http.NewResponseController(w.(http.ResponseWriter)).Flush() // who is gone is seen by the test
			}
		}
		t.Cleanup(func() { close(messages) })
		e := extend(t, name, c)
		sent := uint64(0)
		send := func(id, text string) { // and waits until it was read
			sent++
			messages <- worker.Message{ID: id, Kind: worker.PromptMessage, Seq: sent, Data: data(t, worker.Prompt{Content: text})}
			messages <- worker.Message{ID: "after " + id, Kind: worker.HealthMessage, Seq: sent}
			c.await("what came behind "+id, func() bool { return slices.Contains(acks(c), "after "+id+" refused") })
		}
		e.call("input", object{"text": "a person's", "source": "interactive"}, nil)
		send("p1", "slow")
		if got := e.call("handed", nil, nil); got != "[]" {
			t.Errorf("before the person's own it was handed %s", got)
		}
		e.call("message_start", object{"message": object{"role": "user", "content": "a person's"}}, nil)
		c.await("that it is handed the prompt", func() bool { return e.call("handed", nil, nil) != "[]" })
		if slices.Contains(acks(c), "p1 submitted") {
			t.Error("the person's message was taken for the prompt")
		}
		e.call("input", object{"text": "more", "source": "interactive"}, nil)
		c.await("that p1 is taken", func() bool { return slices.Contains(acks(c), "p1 submitted") })
		if got := e.call("handed", nil, nil); got != `["slow",[{"type":"text","text":"more"}]]` {
			t.Errorf("what was entered meanwhile is not behind the prompt: %s", got)
		}
		e.call("stale", nil, nil)
		send("p2", "for a conversation that is over")
		c.await("that it did not get it", func() bool { return slices.Contains(acks(c), "p2 refused") })
		if got := e.call("handed", nil, nil); strings.Contains(got, "over") {
			t.Errorf("it was handed %s", got)
		}
	}
}

func acks(c *fakeCity) (all []string) {
	for _, r := range c.reports("/ack") {
		all = append(all, r.ack.ID+" "+string(r.ack.State))
	}
	return all
}

func data(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
