package acp

import "gascity/worker"

// Window is how many tokens of the model's context window are used, and how many it has. A Size of zero means that this is not
// known.
type Window struct{ Used, Size int64 }

// Spent returns the token usage of the turn; nil if it was not reported. The protocol defines a field for it; some agents report
// it in _meta instead.
func (r PromptResult) Spent() *worker.Usage {
	var meta struct {
		Quota struct {
			Count  *counted `json:"token_count"`
			Models []struct {
				Model string `json:"model"`
			} `json:"model_usage"`
		} `json:"quota"`
	}
	read(r.Meta, &meta)
	model := ""
	if len(meta.Quota.Models) == 1 {
		model = meta.Quota.Models[0].Model
	}
	var u struct {
		Input      *int64 `json:"inputTokens"`
		Output     *int64 `json:"outputTokens"`
		CacheRead  *int64 `json:"cachedReadTokens"`
		CacheWrite *int64 `json:"cachedWriteTokens"`
		Thought    *int64 `json:"thoughtTokens"`
	}
	if read(r.Usage, &u); u.Input != nil || u.Output != nil {
		return &worker.Usage{
			InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheCreationTokens: u.CacheWrite, ReasoningTokens: u.Thought, Model: model,
		}
	}
	if c := meta.Quota.Count; c != nil && (c.Input != nil || c.Output != nil) {
		return &worker.Usage{InputTokens: c.Input, OutputTokens: c.Output, Model: model, Semantics: worker.CacheInInput}
	}
	return nil
}

type counted struct {
	Input  *int64 `json:"input_tokens"`
	Output *int64 `json:"output_tokens"`
}
