package agentcli_test

import (
	"testing"

	"gascity/internal/agentcli"
)

// TestTotals checks that the newest complete line with token counts is used, and that counts that
// began again are new.
func TestTotals(t *testing.T) {
	line := func(input, cached, output, sum, last string) string {
		return `{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":` + input + `,"cached_input_tokens":` + cached + `,"output_tokens":` + output +
			`,"reasoning_output_tokens":1,"total_tokens":` + sum + `},"last_token_usage":{"total_tokens":` + last + "}}}}\n"
	}
	if _, ok := agentcli.LastUsageTotals([]byte("{}\n" + line("9", "9", "9", "9", "9")[:40])); ok {
		t.Error("half a line was read")
	}
	before, ok := agentcli.LastUsageTotals([]byte(line("100", "7", "11", "111", "111")))
	if !ok || before.Last != 111 {
		t.Fatalf("%+v, %v", before, ok)
	}
	now, ok := agentcli.LastUsageTotals([]byte(line("100", "7", "11", "111", "111") + line("1200", "77", "21", "1221", "1110") + `{"payload":{"info":null,"note":"total_token_usage"}}` + "\n" + "half"))
	if !ok || now.Last != 1110 {
		t.Fatalf("%+v, %v", now, ok)
	}
	u := now.Since(before)
	if *u.InputTokens != 1100 || *u.CacheReadTokens != 70 || *u.OutputTokens != 10 || *u.ReasoningTokens != 0 {
		t.Errorf("since then: %d %d %d", *u.InputTokens, *u.CacheReadTokens, *u.OutputTokens)
	}
	if u = before.Since(now); *u.InputTokens != 100 {
		t.Errorf("of totals that began again: %d", *u.InputTokens)
	}
}

// TestUsageFileOf checks that the ID of a conversation cannot lead to another file.
func TestUsageFileOf(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"HOME": "/home/a"}[name] }
	if got, ok := agentcli.UsageFileOf("codex-acp", "01-ab", getenv); !ok || got != "/home/a/.codex/sessions/*/*/*/rollout-*-01-ab.jsonl" {
		t.Errorf("%q, %v", got, ok)
	}
	for _, id := range []string{"", "*", "../../x", "a[b"} {
		if got, ok := agentcli.UsageFileOf("codex-acp", id, getenv); ok {
			t.Errorf("of %q it is %q", id, got)
		}
	}
	if _, ok := agentcli.UsageFileOf("another", "1", getenv); ok {
		t.Error("another one has a ledger")
	}
}
