package tmuxserver

import (
	"bytes"
	"strings"
)

// shape describes the words of a notification.
type shape struct {
	kind EventKind
	// fields has one character for each word: $ session, @ window, % pane, c client, t the rest of the line.
	fields string
	// unlinked: the window is not linked into the hub.
	unlinked bool
}

// shapes are the notifications of all versions of tmux, by name. Output and monitors have their own parsers.
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

// Kinds that only this package uses. Subscriptions do not get them.
const (
	exited EventKind = iota + 200
	paused
	continued
)

// parseNotification parses a notification line without its newline. Data of the event shares the memory of the line. For
// a line that it cannot parse it returns an event of kind Unknown.
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
			event, ok = shape.parse(string(rest))
		}
	}
	if !ok {
		return Event{Kind: Unknown, Text: string(line)}
	}
	return event
}

// parse returns the event for the words of a notification; false if a word has the wrong form.
func (s shape) parse(words string) (Event, bool) {
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

// set stores one word in the field of the event; it returns false if the word does not have the form of the field.
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

// parseOutput parses "%PANE TEXT".
func parseOutput(rest []byte) (Event, bool) {
	pane, text, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(pane) < 2 || pane[0] != '%' {
		return Event{}, false
	}
	return Event{Kind: Output, Pane: string(pane), Data: unescape(text)}, true
}

// parseExtendedOutput parses "%PANE AGE [MORE...] : TEXT".
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

// parseMonitored parses "NAME $SESSION @WINDOW INDEX %PANE [MORE...] : VALUE". A field that the monitor does not have is
// "-".
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

// unescape replaces the octal escapes of output (\ooo) by their bytes, in place. Other backslashes remain.
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

// isOctal reports whether three characters are an octal number of at most 255.
func isOctal(digits []byte) bool {
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7'
}
