package acp

// Window is how many tokens of the model's context window are used, and how many it has. A Size of zero means that this is not
// known.
type Window struct{ Used, Size int64 }

// Spent is the token usage of one turn. A nil field was not reported.
type Spent struct {
	Input, Output, CacheRead, CacheWrite, Thought *int64
	// Cached reports that Input includes tokens that were read from the cache.
	Cached bool
	Model  string
}

// Spent returns the token usage of the turn. The protocol defines a field for it; some agents report it in _meta instead. ok is
// false if it was not reported.
func (r PromptResult) Spent() (s Spent, ok bool) {
	var meta struct {
		Quota struct {
			Count  *counted `json:"token_count"`
			Models []struct {
				Model string `json:"model"`
			} `json:"model_usage"`
		} `json:"quota"`
	}
	read(r.Meta, &meta)
	if len(meta.Quota.Models) == 1 {
		s.Model = meta.Quota.Models[0].Model
	}
	var u struct {
		Input      *int64 `json:"inputTokens"`
		Output     *int64 `json:"outputTokens"`
		CacheRead  *int64 `json:"cachedReadTokens"`
		CacheWrite *int64 `json:"cachedWriteTokens"`
		Thought    *int64 `json:"thoughtTokens"`
	}
	if read(r.Usage, &u); u.Input != nil || u.Output != nil {
		s.Input, s.Output, s.CacheRead, s.CacheWrite, s.Thought = u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Thought
		return s, true
	}
	if c := meta.Quota.Count; c != nil && (c.Input != nil || c.Output != nil) {
		s.Input, s.Output, s.Cached = c.Input, c.Output, true
		return s, true
	}
	return s, false
}

type counted struct {
	Input  *int64 `json:"input_tokens"`
	Output *int64 `json:"output_tokens"`
}
