package hooks

import (
	"bytes"
	"encoding/json"
	"time"

	"gascity/worker"
)

// Codec is how a transcript accounts for tokens. The empty one reports nothing.
type Codec string

// The codecs. Each reads JSON lines; a line that it does not understand reports
// nothing.
const (
	// CodecBlocks has one record for each block of a message, each with the usage of
	// the whole message: they are one by the message's id. The buckets are disjoint.
	CodecBlocks Codec = "blocks"
	// CodecRollout has one record for each response, beside running totals that are
	// left out. What was cached is in the input, reasoning in the output.
	CodecRollout Codec = "rollout"
	// CodecFolded writes a message again when it changes: the last record of an id
	// counts. What was cached is in the input, thoughts are beside the output.
	CodecFolded Codec = "folded"
)

const fromTranscript = "transcript"

// Usage reads what the responses in a piece of a transcript took: one event for each
// response, in the order of their first record, by the last record of each. The piece
// begins at the beginning of a line; one that it breaks off in is left out, and used is
// how much of the piece was read.
func (c Codec) Usage(text []byte) (events []worker.TelemetryEvent, used int) {
	used = bytes.LastIndexByte(text, '\n') + 1
	read, ok := map[Codec]func(*record) (worker.TelemetryEvent, bool){
		CodecBlocks: block, CodecRollout: response, CodecFolded: folded,
	}[c]
	if !ok {
		return nil, used
	}
	at := map[string]int{}
	for line := range bytes.Lines(text[:used]) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		e, ok := read(&r)
		if !ok || e.MessageID == "" {
			continue
		}
		e.Type, e.Timestamp, e.Usage.Source = worker.TurnComplete, r.Timestamp, fromTranscript
		if i, seen := at[e.MessageID]; seen {
			events[i] = e
			continue
		}
		at[e.MessageID] = len(events)
		events = append(events, e)
	}
	return events, used
}

// rolloutTurnEnd marks the line of a transcript of [CodecRollout] that ends a turn.
var rolloutTurnEnd = []byte(`"type":"task_complete"`)

// Has reports whether a response with these words is in a piece of a transcript, and
// accounted for. The prompt may have them, too.
func (c Codec) Has(text, words []byte) bool {
	if c == CodecRollout { // it accounts for a response behind its words
		for at := bytes.LastIndex(text, words); at >= 0; at = bytes.LastIndex(text[:at], words) {
			line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
			if end := bytes.IndexByte(line, '\n'); end >= 0 && bytes.Contains(line[:end], rolloutTurnEnd) {
				continue // the end of the turn repeats the words, behind the account
			}
			events, _ := c.Usage(line)
			return len(events) > 0
		}
		return false
	}
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, words) {
			if events, _ := c.Usage(line); len(events) > 0 {
				return true
			}
		}
	}
	return false
}

// summaryTaken is what stands in place of the model's answer to the summary of a
// conversation that was compacted, in a transcript of [CodecFolded].
const summaryTaken = "Got it. Thanks for the additional context!"

// Compaction finds the last compaction in a piece of a transcript of an agent CLI that calls
// no hook for it. Its name is the same wherever the transcript has it again. used is as with
// [Codec.Usage].
func (c Codec) Compaction(text []byte) (name string, used int) {
	used = bytes.LastIndexByte(text, '\n') + 1
	if c != CodecFolded {
		return "", used
	}
	for line := range bytes.Lines(text[:used]) {
		var r struct {
			Set struct {
				Messages []struct {
					ID      string          `json:"id"`
					Content json.RawMessage `json:"content"`
				} `json:"messages"`
			} `json:"$set"`
		}
		if !bytes.Contains(line, []byte(summaryTaken)) || json.Unmarshal(line, &r) != nil {
			continue
		}
		for _, m := range r.Set.Messages {
			if bytes.Contains(m.Content, []byte(summaryTaken)) {
				name = m.ID
				break // what the model said later may have the same words
			}
		}
	}
	return name, used
}

// record is a line of any of the transcripts.
type record struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	ID        string    `json:"id"`
	Model     string    `json:"model"`
	Message   struct {
		ID    string  `json:"id"`
		Model string  `json:"model"`
		Usage *counts `json:"usage"`
	} `json:"message"`
	Payload struct {
		Type     string  `json:"type"`
		Response string  `json:"response_id"`
		Model    string  `json:"model"`
		Usage    *counts `json:"usage"`
	} `json:"payload"`
	Tokens *struct {
		Input    *int64 `json:"input"`
		Output   *int64 `json:"output"`
		Cached   *int64 `json:"cached"`
		Thoughts *int64 `json:"thoughts"`
	} `json:"tokens"`
}

// counts are the names that agent CLIs have for their buckets.
type counts struct {
	Input     *int64 `json:"input_tokens"`
	Output    *int64 `json:"output_tokens"`
	CacheRead *int64 `json:"cache_read_input_tokens"`
	CacheMade *int64 `json:"cache_creation_input_tokens"`
	Cached    *int64 `json:"cached_input_tokens"`
	Reasoning *int64 `json:"reasoning_output_tokens"`
}

// synthetic is the model of a message that no model wrote.
const synthetic = "<synthetic>"

func block(r *record) (worker.TelemetryEvent, bool) {
	m := &r.Message
	if r.Type != "assistant" || m.Usage == nil || m.Model == synthetic {
		return worker.TelemetryEvent{}, false
	}
	return worker.TelemetryEvent{MessageID: m.ID, Usage: &worker.Usage{
		InputTokens: m.Usage.Input, OutputTokens: m.Usage.Output, CacheReadTokens: m.Usage.CacheRead, CacheCreationTokens: m.Usage.CacheMade, Model: m.Model,
	}}, true
}

func response(r *record) (worker.TelemetryEvent, bool) {
	p := &r.Payload
	if r.Type != "token_usage_record" && p.Type != "token_usage_record" || p.Usage == nil {
		return worker.TelemetryEvent{}, false
	}
	return worker.TelemetryEvent{MessageID: p.Response, Usage: &worker.Usage{
		InputTokens: p.Usage.Input, OutputTokens: p.Usage.Output, CacheReadTokens: p.Usage.Cached, ReasoningTokens: p.Usage.Reasoning, Model: p.Model, Semantics: worker.ThinkingInside,
	}}, true
}

func folded(r *record) (worker.TelemetryEvent, bool) {
	t := r.Tokens
	if t == nil {
		return worker.TelemetryEvent{}, false
	}
	return worker.TelemetryEvent{MessageID: r.ID, Usage: &worker.Usage{
		InputTokens: t.Input, OutputTokens: t.Output, CacheReadTokens: t.Cached, ReasoningTokens: t.Thoughts, Model: r.Model, Semantics: worker.CacheInInput,
	}}, true
}
