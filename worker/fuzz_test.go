package worker

import (
	"context"
	"strings"
	"testing"

	"gascity/internal/httpwire"
)

// FuzzStream: whatever a stream says, a message with an ID is yielded once, in the
// order of the text, and nothing panics.
func FuzzStream(f *testing.F) {
	f.Add("id: 1\nevent: prompt\ndata: {\"seq\":1,\"id\":\"a\"}\n\nevent: end\ndata: {}\n\n")
	f.Add("event: gap\ndata: {\"next\":0}\n\n: c\n\ndata\ndata:\ndata: x\n\n")
	f.Add("event: prompt\ndata: {\"id\":\"a\"}\n\nevent: prompt\ndata: {\"id\":\"a\"}\n\n")
	f.Add("event: identity\ndata: {\"data\":{\"token\":\"x\"}}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // no question is asked
		seen := map[string]bool{}
		s := &messages{client: &Client{Socket: "/nowhere"}, yield: func(m Message, err error) bool {
			if err != nil || m.ID != "" && seen[m.ID] {
				t.Fatalf("message %q came twice, or %v", m.ID, err)
			}
			seen[m.ID] = true
			return true
		}}
		each := func(kind string, data []byte) error { return s.dispatch(ctx, kind, data) }
		if httpwire.ReadEvents(strings.NewReader(text), each) == nil {
			t.Fatal("a stream ended without a reason")
		}
	})
}
