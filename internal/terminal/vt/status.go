package vt

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Status is a report of the program status protocol (OSC 7501, revision 0.3) about the
// program itself.
type Status struct {
	State    string // idle, working, blocked, done, error
	Kind     string // for blocked: permission, question, auth, or a word of the program's own
	Message  string // one line for people
	Progress int    // percent, -1 if it said none
}

// The bounds of a report, as the protocol has them.
const (
	maxStatus  = 4096
	maxMessage = 2732 // base64
)

// statusQuery is the query whether the terminal reads reports. The same text is the positive answer.
const statusQuery = "?"

// ParseStatus parses the part of a report after the number. Colons or semicolons separate its pairs. ok is false for a report
// that must be dropped by the protocol, and for a report about a child, which has an id. The state "clear" gives a Status
// without State.
func ParseStatus(report string) (s Status, ok bool) {
	s.Progress = -1
	if len(report) > maxStatus {
		return Status{}, false
	}
	for pair := range strings.FieldsFuncSeq(report, func(r rune) bool { return r == ':' || r == ';' }) {
		key, value, found := strings.Cut(pair, "=")
		if !found {
			continue
		}
		switch key {
		case "state", "status":
			s.State = value
		case "kind":
			s.Kind = value
		case "progress":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= 100 {
				s.Progress = n
			}
		case "msg":
			if s.Message, ok = statusText(value); !ok {
				return Status{}, false
			}
		case "id":
			return Status{}, false
		}
	}
	return s.normalize()
}

// normalize checks the state and removes the fields that do not belong to it.
func (s Status) normalize() (Status, bool) {
	switch s.State {
	case "clear":
		return Status{Progress: -1}, true
	case "blocked":
	case "working", "idle", "done", "error":
		s.Kind = ""
	default:
		return Status{}, false
	}
	return s, true
}

// statusText decodes a text of a report; control characters are refused.
func statusText(value string) (text string, ok bool) {
	if len(value) > maxMessage {
		return "", false
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil || !utf8.Valid(b) || strings.ContainsFunc(string(b), unicode.IsControl) {
		return "", false
	}
	return string(b), true
}
