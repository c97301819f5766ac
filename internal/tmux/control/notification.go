package control

import (
	"bytes"
	"strings"
)

// shape says how the words of a notification are read.
type shape struct {
	kind Kind
	// fields says what each word is: $ session, @ window, % pane, c client, - nothing, t all the rest.
	fields string
	// unlinked: the window is not linked to the hub.
	unlinked bool
}

// shapes are the notifications of all versions. Output, pauses, monitors and the end are
// read apart.
var shapes = map[string]shape{
	"window-add":              {kind: WindowAdd, fields: "@"},
	"window-close":            {kind: WindowClose, fields: "@"},
	"window-renamed":          {kind: WindowRenamed, fields: "@t"},
	"unlinked-window-add":     {kind: WindowAdd, fields: "@", unlinked: true},
	"unlinked-window-close":   {kind: WindowClose, fields: "@", unlinked: true},
	"unlinked-window-renamed": {kind: WindowRenamed, fields: "@t", unlinked: true},
	"window-pane-changed":     {kind: WindowPane, fields: "@%"},
	"layout-change":           {kind: Layout, fields: "@t"},
	"pane-mode-changed":       {kind: PaneMode, fields: "%"},
	"sessions-changed":        {kind: SessionsChanged},
	"session-changed":         {kind: SessionChanged, fields: "$t"},
	"session-renamed":         {kind: SessionRenamed, fields: "$t"},
	"session-window-changed":  {kind: SessionWindow, fields: "$@"},
	"client-session-changed":  {kind: ClientSession, fields: "c$t"},
	"client-detached":         {kind: ClientDetached, fields: "c"},
	"paste-buffer-changed":    {kind: BufferChanged, fields: "t"},
	"paste-buffer-deleted":    {kind: BufferDeleted, fields: "t"},
	"config-error":            {kind: ConfigError, fields: "t"},
	"message":                 {kind: Message, fields: "t"},
	"exit":                    {kind: exited, fields: "t"},
	"pause":                   {kind: paused, fields: "%"},
	"continue":                {kind: continued, fields: "%"},
}

// Kinds that are ours alone and reach no subscription.
const (
	exited Kind = iota + 200
	paused
	continued
)

// parseNotification reads a line that stands outside of replies, without its newline. It
// uses the memory of the line for Data. A line that it cannot read is an Unknown.
func parseNotification(line []byte) Event {
	name, rest, _ := bytes.Cut(line, []byte(" "))
	if len(name) < 2 || name[0] != '%' {
		return Event{Kind: Unknown, Text: string(line)}
	}
	name = name[1:]
	var event Event
	var ok bool
	switch string(name) {
	case "output":
		event, ok = parseOutput(rest)
	case "extended-output":
		event, ok = parseExtendedOutput(rest)
	case "subscription-changed":
		event, ok = parseMonitored(rest)
	default:
		if shape, known := shapes[string(name)]; known {
			event, ok = shape.read(string(rest))
		}
	}
	if !ok {
		return Event{Kind: Unknown, Text: string(line)}
	}
	return event
}

// read fills an event with the words.
func (s shape) read(words string) (Event, bool) {
	event := Event{Kind: s.kind, Unlinked: s.unlinked}
	for i := range len(s.fields) {
		if s.fields[i] == 't' {
			event.Text = words
			return event, true
		}
		word, rest, _ := strings.Cut(words, " ")
		if !event.set(s.fields[i], word) {
			return Event{}, false
		}
		words = rest
	}
	return event, true
}

// set stores one word; false when it is not of its kind.
func (e *Event) set(field byte, word string) bool {
	if word == "" || field != 'c' && word[0] != field {
		return false
	}
	switch field {
	case '$':
		e.Session = word
	case '@':
		e.Window = word
	case '%':
		e.Pane = word
	case 'c':
		e.Client = word
	}
	return true
}

// parseOutput reads "%PANE TEXT".
func parseOutput(rest []byte) (Event, bool) {
	pane, text, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(pane) < 2 || pane[0] != '%' {
		return Event{}, false
	}
	return Event{Kind: Output, Pane: string(pane), Data: unescape(text)}, true
}

// parseExtendedOutput reads "%PANE AGE [MORE...] : TEXT".
func parseExtendedOutput(rest []byte) (Event, bool) {
	head, text, ok := bytes.Cut(rest, []byte(" : "))
	if !ok {
		if head, ok = bytes.CutSuffix(rest, []byte(" :")); !ok {
			return Event{}, false
		}
	}
	pane, _, _ := bytes.Cut(head, []byte(" "))
	if len(pane) < 2 || pane[0] != '%' {
		return Event{}, false
	}
	return Event{Kind: Output, Pane: string(pane), Data: unescape(text)}, true
}

// parseMonitored reads "NAME $SESSION @WINDOW INDEX %PANE [MORE...] : VALUE", with "-" for what a
// monitor does not have.
func parseMonitored(rest []byte) (Event, bool) {
	head, value, ok := strings.Cut(string(rest), " : ")
	if !ok {
		if head, ok = strings.CutSuffix(string(rest), " :"); !ok {
			return Event{}, false
		}
	}
	words := strings.Fields(head)
	if len(words) < 5 {
		return Event{}, false
	}
	event := Event{Kind: Monitored, Monitor: words[0], Text: value}
	for i, field := range []byte{'$', '@', 0, '%'} {
		if word := words[i+1]; field != 0 && word != "-" && !event.set(field, word) {
			return Event{}, false
		}
	}
	return event, true
}

// unescape turns the octal escapes of output (\ooo) into bytes, in place. A backslash that
// begins none stands for itself.
func unescape(text []byte) []byte {
	first := bytes.IndexByte(text, '\\')
	if first < 0 {
		return text
	}
	out := text[:first]
	for i := first; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) && isOctal(text[i+1:i+4]) {
			out = append(out, (text[i+1]-'0')<<6|(text[i+2]-'0')<<3|(text[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, text[i])
	}
	return out
}

// isOctal reports whether three digits are the number of a byte.
func isOctal(digits []byte) bool {
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7'
}
