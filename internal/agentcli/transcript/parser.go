package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"gascity/internal/agentcli"
)

// parser parses the lines of a transcript, in their order.
type parser interface {
	// line adds what the line says to l. The error is that the line is not in the format at all; a kind of line that is
	// not known is no error.
	line(text []byte, l *list) error
}

var errFormat = errors.New("not a line of a transcript")

// newParser returns the parser for a format; nil if the format is not known.
func newParser(format agentcli.TranscriptFormat) parser {
	switch format {
	case agentcli.TranscriptBlocks:
		return &blocks{}
	case agentcli.TranscriptRollout:
		return &rollout{}
	case agentcli.TranscriptFolded:
		return &folded{known: map[string]bool{}}
	case agentcli.TranscriptTree:
		return &tree{}
	case agentcli.TranscriptRecord:
		return &record{}
	}
	return nil
}

// decode parses a line that must be a JSON object. A field of another type than in into is an error.
func decode(text []byte, into any) error {
	if len(text) == 0 || text[0] != '{' {
		return errFormat
	}
	return json.Unmarshal(text, into)
}

// moment is a time in JSON. A value that is no time in a known form becomes the zero time and no error.
type moment struct{ time.Time }

// UnmarshalJSON parses a time: text, or milliseconds since 1970. It implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(raw []byte) error {
	var n float64
	switch {
	case json.Unmarshal(raw, &m.Time) == nil:
	case json.Unmarshal(raw, &n) == nil && n > 0 && n < 1e14: // milliseconds since 1970
		m.Time = time.UnixMilli(int64(n)).UTC()
	}
	if m.Year() < 1970 || m.Year() > 9999 { // cannot be encoded, or is no time
		m.Time = time.Time{}
	}
	return nil
}

// part is an element of a message's content, in any format.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`
	UseID     string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

// content is the content of a message: a string, an object or a list of parts. What has another form is empty.
type content []part

// UnmarshalJSON parses a string, an object or a list of objects. It implements json.Unmarshaler.
func (c *content) UnmarshalJSON(raw []byte) error {
	*c = nil
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
	case '{':
		var one part
		if json.Unmarshal(raw, &one) == nil {
			*c = content{one}
		}
	case '[':
		var many []json.RawMessage
		if err := json.Unmarshal(raw, &many); err != nil {
			return err
		}
		for _, each := range many {
			var one part
			var text string
			switch {
			case json.Unmarshal(each, &text) == nil:
				*c = append(*c, part{Type: "text", Text: text})
			case json.Unmarshal(each, &one) == nil:
				*c = append(*c, one)
			}
		}
	}
	return nil
}

// text returns the texts of the content, one below the other. Images are named.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		switch p.Type {
		case "image", "input_image", "inlineData":
			texts = append(texts, "[image]")
		case "thinking", "tool_use", "tool_result", "toolCall":
		default:
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}
