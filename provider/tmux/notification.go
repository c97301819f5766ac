package tmux

import "bytes"

// kinds are the notifications of all versions of tmux that this package uses, by name. Output of panes has its own parsers.
var kinds = map[string]eventKind{
	"window-add":              eventWindowAdd,
	"window-close":            eventWindowClose,
	"window-renamed":          eventWindowRenamed,
	"unlinked-window-add":     eventWindowAdd,
	"unlinked-window-close":   eventWindowClose,
	"unlinked-window-renamed": eventWindowRenamed,
	"window-pane-changed":     eventWindowPane,
	"layout-change":           eventLayout,
	"pane-mode-changed":       eventPaneMode,
	"sessions-changed":        eventSessionsChanged,
	"session-renamed":         eventSessionRenamed,
	"client-session-changed":  eventClientSession,
	"client-detached":         eventClientDetached,
	"exit":                    eventExited,
	"pause":                   eventPaused,
	"continue":                eventContinued,
}

// parseNotification parses a notification line without its newline. Data of the event shares the memory of the line.
func parseNotification(line []byte) controlEvent {
	name, rest, _ := bytes.Cut(line, []byte(" "))
	name, ok := bytes.CutPrefix(name, []byte("%"))
	var pane, text []byte
	switch kind := kinds[string(name)]; {
	case ok && string(name) == "output": // %PANE TEXT
		pane, text, ok = bytes.Cut(rest, []byte(" "))
	case ok && string(name) == "extended-output": // %PANE AGE [MORE...] : TEXT
		if pane, text, ok = bytes.Cut(rest, []byte(" : ")); !ok {
			pane, ok = bytes.CutSuffix(rest, []byte(" :"))
		}
		pane, _, _ = bytes.Cut(pane, []byte(" "))
	case ok && kind != 0:
		return controlEvent{Kind: kind, Text: string(rest)}
	}
	if !ok || len(pane) < 2 || pane[0] != '%' {
		return controlEvent{Kind: eventOther, Text: string(line)}
	}
	return controlEvent{Kind: eventOutput, Pane: string(pane), Data: unescape(text)}
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
