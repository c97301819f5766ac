package agentcli

import (
	"bytes"
	"encoding/json"
	"slices"

	"gascity/worker"
)

// UsageFileOf returns a file pattern for the file in which an agent that speaks the Agent Client
// Protocol records the token usage of a conversation. It is for an agent that does not report its
// usage in the protocol. agent is the name that the agent gives itself. ok is false if no such file
// is known.
func UsageFileOf(agent, conversation string, getenv func(string) string) (pattern string, ok bool) {
	if agent != "codex-acp" {
		return "", false
	}
	return transcriptTable()["codex"].Files(conversation, getenv)
}

// ReportsErrorsToModel reports whether an agent that speaks the Agent Client Protocol does not use
// a tool if its permission request is answered with an error, and gives its model the error's text.
// agent is the name that the agent gives itself.
func ReportsErrorsToModel(agent string) bool { return agent == "@agentclientprotocol/claude-agent-acp" }

// UsageTotals are the token counts of a conversation so far.
type UsageTotals struct {
	Input, Cached, Output, Reasoning int64
	Sum                              int64 // the sum as the agent CLI reports it
	Last                             int64 // the sum of its last response
}

// LastUsageTotals returns the newest token counts of the whole conversation in a transcript; ok is
// false if it has none.
func LastUsageTotals(text []byte) (UsageTotals, bool) {
	lines := bytes.Split(text[:bytes.LastIndexByte(text, '\n')+1], []byte{'\n'})
	for _, line := range slices.Backward(lines) {
		if !bytes.Contains(line, []byte("total_token_usage")) {
			continue
		}
		var r struct {
			Payload struct {
				Info *struct {
					Total runningTotals `json:"total_token_usage"`
					Last  runningTotals `json:"last_token_usage"`
				} `json:"info"`
			} `json:"payload"`
		}
		if json.Unmarshal(line, &r) == nil && r.Payload.Info != nil {
			t := r.Payload.Info.Total
			return UsageTotals{Input: t.Input, Cached: t.Cached, Output: t.Output, Reasoning: t.Reasoning, Sum: t.Sum, Last: r.Payload.Info.Last.Sum}, true
		}
	}
	return UsageTotals{}, false
}

type runningTotals struct {
	Input     int64 `json:"input_tokens"`
	Cached    int64 `json:"cached_input_tokens"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_output_tokens"`
	Sum       int64 `json:"total_tokens"`
}

// Since returns the usage between the earlier totals and t. If t is smaller, the agent CLI
// has begun to count again, and the result is all of t.
func (t UsageTotals) Since(earlier UsageTotals) worker.Usage {
	if t.Sum < earlier.Sum {
		earlier = UsageTotals{}
	}
	input, output, cached, reasoning := t.Input-earlier.Input, t.Output-earlier.Output, t.Cached-earlier.Cached, t.Reasoning-earlier.Reasoning
	return worker.Usage{
		InputTokens: &input, OutputTokens: &output, CacheReadTokens: &cached, ReasoningTokens: &reasoning,
		Semantics: worker.ThinkingInside, Source: fromTranscript,
	}
}
