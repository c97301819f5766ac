package agentcli

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"gascity/worker"
)

const fromTranscript = "transcript"

// Usage returns an event with the token usage of each response of the model in a part of a transcript, in the order of the first
// line about each response. If there are several lines about one response, the last one counts. text must start at the beginning
// of a line. used is the number of bytes that were parsed: all but an incomplete last line.
func (f TranscriptFormat) Usage(text []byte) (events []worker.TelemetryEvent, used int) {
	used = bytes.LastIndexByte(text, '\n') + 1
	read, ok := map[TranscriptFormat]func(*usageRecord) (worker.TelemetryEvent, bool){
		TranscriptBlocks: usageBlock, TranscriptRollout: usageResponse, TranscriptFolded: usageFolded,
	}[f]
	if !ok {
		return nil, used
	}
	at := map[string]int{}
	for line := range bytes.Lines(text[:used]) {
		var r usageRecord
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

// rolloutTurnEnd is a part of the line that ends a turn in a transcript of the format [TranscriptRollout].
var rolloutTurnEnd = []byte(`"type":"task_complete"`)

// Has reports whether a part of a transcript has a response with the words and the usage for it. The words may also be in the
// prompt.
func (f TranscriptFormat) Has(text, words []byte) bool {
	if f == TranscriptRollout { // the usage follows the words of a response
		for at := bytes.LastIndex(text, words); at >= 0; at = bytes.LastIndex(text[:at], words) {
			line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
			if end := bytes.IndexByte(line, '\n'); end >= 0 && bytes.Contains(line[:end], rolloutTurnEnd) {
				continue // the end of the turn repeats the words after the usage
			}
			events, _ := f.Usage(line)
			return len(events) > 0
		}
		return false
	}
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, words) {
			if events, _ := f.Usage(line); len(events) > 0 {
				return true
			}
		}
	}
	return false
}

// summaryTaken is the text with which, in a transcript of the format [TranscriptFolded], the model's part of the conversation
// begins after a compaction.
const summaryTaken = "Got it. Thanks for the additional context!"

// IsCompactionAnswer reports whether text is the message that an agent CLI with the format [TranscriptFolded] writes into a
// transcript after the summary of a compacted conversation, instead of an answer of the model.
func IsCompactionAnswer(text string) bool { return strings.TrimSpace(text) == summaryTaken }

// Compaction returns the ID of the last compaction in a part of a transcript; empty if there is none. It is for an agent CLI that
// calls no hook for a compaction. If the transcript has the same compaction twice, both have the same ID. used is as in
// [TranscriptFormat.Usage].
func (f TranscriptFormat) Compaction(text []byte) (name string, used int) {
	used = bytes.LastIndexByte(text, '\n') + 1
	if f != TranscriptFolded {
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
				break // a later message of the model may contain the same words
			}
		}
	}
	return name, used
}

// usageRecord has the fields about token usage of a line in any of the formats.
type usageRecord struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	ID        string    `json:"id"`
	Model     string    `json:"model"`
	Message   struct {
		ID    string       `json:"id"`
		Model string       `json:"model"`
		Usage *usageCounts `json:"usage"`
	} `json:"message"`
	Payload struct {
		Type     string       `json:"type"`
		Response string       `json:"response_id"`
		Model    string       `json:"model"`
		Usage    *usageCounts `json:"usage"`
	} `json:"payload"`
	Tokens *struct {
		Input    *int64 `json:"input"`
		Output   *int64 `json:"output"`
		Cached   *int64 `json:"cached"`
		Thoughts *int64 `json:"thoughts"`
	} `json:"tokens"`
}

// usageCounts are the names of the token counts in the transcripts.
type usageCounts struct {
	Input     *int64 `json:"input_tokens"`
	Output    *int64 `json:"output_tokens"`
	CacheRead *int64 `json:"cache_read_input_tokens"`
	CacheMade *int64 `json:"cache_creation_input_tokens"`
	Cached    *int64 `json:"cached_input_tokens"`
	Reasoning *int64 `json:"reasoning_output_tokens"`
}

// synthetic is the model name of a message that no model wrote.
const synthetic = "<synthetic>"

// usageBlock returns the usage in a line of the format [TranscriptBlocks]; ok is false if it has none.
func usageBlock(r *usageRecord) (worker.TelemetryEvent, bool) {
	m := &r.Message
	if r.Type != "assistant" || m.Usage == nil || m.Model == synthetic {
		return worker.TelemetryEvent{}, false
	}
	return worker.TelemetryEvent{MessageID: m.ID, Usage: &worker.Usage{
		InputTokens: m.Usage.Input, OutputTokens: m.Usage.Output, CacheReadTokens: m.Usage.CacheRead, CacheCreationTokens: m.Usage.CacheMade, Model: m.Model,
	}}, true
}

// usageResponse returns the usage in a line of the format [TranscriptRollout]; ok is false if it has none.
func usageResponse(r *usageRecord) (worker.TelemetryEvent, bool) {
	p := &r.Payload
	if r.Type != "token_usage_record" && p.Type != "token_usage_record" || p.Usage == nil {
		return worker.TelemetryEvent{}, false
	}
	return worker.TelemetryEvent{MessageID: p.Response, Usage: &worker.Usage{
		InputTokens: p.Usage.Input, OutputTokens: p.Usage.Output, CacheReadTokens: p.Usage.Cached, ReasoningTokens: p.Usage.Reasoning, Model: p.Model, Semantics: worker.ThinkingInside,
	}}, true
}

// usageFolded returns the usage in a line of the format [TranscriptFolded]; ok is false if it has none.
func usageFolded(r *usageRecord) (worker.TelemetryEvent, bool) {
	t := r.Tokens
	if t == nil {
		return worker.TelemetryEvent{}, false
	}
	return worker.TelemetryEvent{MessageID: r.ID, Usage: &worker.Usage{
		InputTokens: t.Input, OutputTokens: t.Output, CacheReadTokens: t.Cached, ReasoningTokens: t.Thoughts, Model: r.Model, Semantics: worker.CacheInInput,
	}}, true
}
