package agentcli_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/agentcli"
	"gascity/worker"
)

type spent struct {
	ID            string
	In, Out, Read int64
	Semantics     worker.Semantics
}

func read(c agentcli.TranscriptFormat, text string) ([]spent, int) {
	events, used := c.Usage([]byte(text))
	var out []spent
	for _, e := range events {
		out = append(out, spent{e.MessageID, deref(e.Usage.InputTokens), deref(e.Usage.OutputTokens), deref(e.Usage.CacheReadTokens), e.Usage.Semantics})
	}
	return out, used
}

func deref(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

const (
	blocks = `{"type":"user","message":{"role":"user","content":"x"}}
{"type":"assistant","message":{"id":"m1","model":"m","usage":{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":3}},"apiBlockIndex":0}
{"type":"assistant","message":{"id":"m1","model":"m","usage":{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":3}},"apiBlockIndex":1}
{"type":"assistant","message":{"id":"m2","model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}}}
{"type":"assistant","message":{"id":"m3","model":"m","usage":{"output_tokens":1}}}
garbage
{"type":"assistant","message":{"id":"m4","model":"m","usage":{"input_tokens":1,"outp`
	rollout = `{"type":"session_meta","payload":{"id":"t"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900}}}}
{"type":"token_usage_record","payload":{"response_id":"r1","usage":{"input_tokens":100,"cached_input_tokens":90,"output_tokens":9,"reasoning_output_tokens":4}}}
`
	foldings = `{"id":"g1","type":"gemini","model":"m","tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"total":13}}
{"$set":{"x":1}}
{"id":"g1","type":"gemini","model":"m","tokens":{"input":11,"output":3,"cached":4,"thoughts":1,"total":15}}
`
)

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		codec agentcli.TranscriptFormat
		text  string
		want  []spent
	}{
		{agentcli.TranscriptBlocks, blocks, []spent{{"m1", 5, 7, 3, ""}, {"m3", -1, 1, -1, ""}}},
		{agentcli.TranscriptRollout, rollout, []spent{{"r1", 100, 9, 90, worker.ThinkingInside}}},
		{agentcli.TranscriptFolded, foldings, []spent{{"g1", 11, 3, 4, worker.CacheInInput}}},
		{"", blocks, nil},
	} {
		got, _ := read(c.codec, c.text)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.codec, diff)
		}
	}
}

func TestHas(t *testing.T) {
	t.Parallel()
	const asked, said = `{"type":"user","message":{"content":"say fin"}}` + "\n", `{"type":"assistant","message":{"id":"m","content":"fin","usage":{}}}` + "\n"
	const words, spent = `{"type":"response_item","payload":{"content":"fin"}}` + "\n", `{"type":"token_usage_record","payload":{"response_id":"r","usage":{}}}` + "\n"
	const over = `{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"fin"}}` + "\n"
	for _, c := range []struct {
		codec agentcli.TranscriptFormat
		text  string
		want  bool
	}{
		{agentcli.TranscriptBlocks, asked, false},
		{agentcli.TranscriptBlocks, asked + said[:len(said)-1], false},
		{agentcli.TranscriptBlocks, asked + said, true},
		{agentcli.TranscriptRollout, spent + words, false},
		{agentcli.TranscriptRollout, spent + words + spent, true},
		{agentcli.TranscriptRollout, words + spent + over, true},
		{agentcli.TranscriptRollout, words + over, false},
		{agentcli.TranscriptRollout, spent, false},
	} {
		if got := c.codec.Has([]byte(c.text), []byte("fin")); got != c.want {
			t.Errorf("%s: %v of %q", c.codec, got, c.text)
		}
	}
}

// FuzzUsage checks that a transcript that is read in two parts, divided anywhere, gives the same
// usage as one that is read at once.
func FuzzUsage(f *testing.F) {
	for _, text := range []string{blocks, rollout, foldings} {
		f.Add(text, 40)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		for _, c := range []agentcli.TranscriptFormat{agentcli.TranscriptBlocks, agentcli.TranscriptRollout, agentcli.TranscriptFolded} {
			whole := map[string]spent{}
			all, used := read(c, text)
			for _, s := range all {
				whole[s.ID] = s
			}
			if used > len(text) {
				t.Fatalf("read %d of %d", used, len(text))
			}
			at := min(max(cut, 0), len(text))
			parts := map[string]spent{}
			first, n := read(c, text[:at])
			rest, _ := read(c, text[n:])
			for _, s := range append(first, rest...) {
				parts[s.ID] = s
			}
			if diff := cmp.Diff(whole, parts); diff != "" {
				t.Errorf("%s: %s", c, diff)
			}
		}
	})
}

// TestPromptText checks that what an agent CLI adds around pasted text is removed from a prompt.
func TestPromptText(t *testing.T) {
	t.Parallel()
	claude, _ := agentcli.LookupHooks("claude")
	codex, _ := agentcli.LookupHooks("codex")
	for _, c := range []struct {
		cli       agentcli.Hooks
		got, want string
	}{
		{claude, "\n\n<pasted_content id=\"a8f0\">\none</pasted_content>\ntwo\n</pasted_content id=\"a8f0\">", "\n\n\none</pasted_content>\ntwo\n"},
		{claude, "first <pasted_content id=\"1\">a</pasted_content id=\"1\"> then <pasted_content id=\"2\">b</pasted_content id=\"2\">.", "first a then b."},
		{claude, "what is <pasted_content id=\"x\">?", "what is <pasted_content id=\"x\">?"},
		{claude, "</pasted_content>", "</pasted_content>"},
		{codex, "<pasted_content id=\"1\">a</pasted_content>", "<pasted_content id=\"1\">a</pasted_content>"},
	} {
		if got := c.cli.PromptText(agentcli.HookInput{Prompt: c.got}); got != c.want {
			t.Errorf("%q is %q, want %q", c.got, got, c.want)
		}
	}
}
