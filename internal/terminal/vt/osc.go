package vt

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTitles = 16 // depth of the title stack

// splitOSC splits an operating system command into its number and the rest.
func splitOSC(data []byte) (number int, rest []byte, ok bool) {
	i := 0
	for i < len(data) && data[i]-'0' < 10 && i < 6 {
		number = number*10 + int(data[i]-'0')
		i++
	}
	switch {
	case i == 0:
		return 0, nil, false
	case i == len(data):
		return number, nil, true
	case data[i] != ';':
		return 0, nil, false
	}
	return number, data[i+1:], true
}

// oscNotice returns the notice of an operating system command, if it is one. Titles are not
// handled here.
func oscNotice(number int, rest []byte) (Notice, bool) {
	switch number {
	case 7:
		return textNotice(WorkDir, rest)
	case 9:
		return osc9(rest)
	case 52:
		sel, data, _ := strings.Cut(string(rest), ";")
		return Notice{Kind: Clipboard, Text: sel, Payload: data}, true
	case 133:
		return osc133(string(rest))
	case 777:
		return osc777(string(rest))
	case 7501:
		return Notice{Kind: ProgramStatus, Payload: string(rest)}, true
	}
	return Notice{}, false
}

// textNotice returns a notice with a text of the program; ok is false if the text is not UTF-8.
func textNotice(kind NoticeKind, text []byte) (Notice, bool) {
	if !utf8.Valid(text) {
		return Notice{}, false
	}
	return Notice{Kind: kind, Text: string(text)}, true
}

// osc9 returns a notification, or progress when it starts with 4.
func osc9(rest []byte) (Notice, bool) {
	args, isProgress := bytes.CutPrefix(rest, []byte("4;"))
	if !isProgress {
		return textNotice(Notification, rest)
	}
	state, percent, _ := strings.Cut(string(args), ";")
	code, err := strconv.Atoi(state)
	if err != nil || code < 0 || code > 4 {
		return Notice{}, false
	}
	return Notice{Kind: Progress, Code: code, Text: percent, Payload: string(args)}, true
}

// osc133 parses a shell integration mark (OSC 133), by which a shell reports a prompt, a command or its end; ok is
// false for another text.
func osc133(rest string) (Notice, bool) {
	if rest == "" || rest[0] < 'A' || rest[0] > 'P' {
		return Notice{}, false
	}
	n := Notice{Kind: SemanticPrompt, Text: rest[:1], Code: -1, Payload: strings.TrimPrefix(rest[1:], ";")}
	if n.Text == "D" {
		first, _, _ := strings.Cut(n.Payload, ";")
		if code, err := strconv.Atoi(first); err == nil {
			n.Code = code
		}
	}
	return n, true
}

// osc777 returns a notification with a heading: notify;heading;body.
func osc777(rest string) (Notice, bool) {
	args, ok := strings.CutPrefix(rest, "notify;")
	if !ok || !utf8.ValidString(args) {
		return Notice{}, false
	}
	heading, body, _ := strings.Cut(args, ";")
	return Notice{Kind: Notification, Text: body, Payload: heading}, true
}

// cleanTitle returns a title without control characters; ok is false for invalid UTF-8.
func cleanTitle(b []byte) (title string, ok bool) {
	if !utf8.Valid(b) {
		return "", false
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, string(b)), true
}

// osc executes an operating system command (OSC): titles, colors, status reports and other messages of the program to
// the terminal.
func (s *Screen) osc(data []byte) {
	number, rest, ok := splitOSC(data)
	if !ok {
		return
	}
	switch number {
	case 0, 1, 2:
		s.setTitles(number, rest)
	case 4:
		s.paletteQuery(rest)
	case 8:
		s.hyperlink(rest)
	case 10, 11, 12:
		s.colorQuery(number, rest)
	case 7501:
		if string(rest) == statusQuery {
			s.reply("\x1b]7501;", statusQuery, "\x1b\\")
			return
		}
		s.notifyOSC(number, rest)
	default:
		s.notifyOSC(number, rest)
	}
}

// notifyOSC sends the notice of an operating system command to Options.Notify.
func (s *Screen) notifyOSC(number int, rest []byte) {
	if s.opts.Notify == nil {
		return
	}
	if n, ok := oscNotice(number, rest); ok {
		s.notify(n)
	}
}

// setTitles handles OSC 0, which sets both titles, OSC 1, which sets that of the icon, and OSC 2, which sets that of the window.
func (s *Screen) setTitles(number int, text []byte) {
	if number != 1 {
		if string(text) != s.title {
			title, ok := cleanTitle(text)
			if !ok {
				return
			}
			s.title = title
		}
		s.notify(Notice{Kind: Title, Text: s.title})
	}
	if number != 2 {
		s.setIcon(text)
	}
}

// setIcon sets the icon title and reports it. It ignores an invalid text.
func (s *Screen) setIcon(text []byte) {
	if string(text) != s.icon {
		icon, ok := cleanTitle(text)
		if !ok {
			return
		}
		s.icon = icon
	}
	s.notify(Notice{Kind: IconTitle, Text: s.icon})
}

// hyperlink handles OSC 8: the text printed next belongs to the link.
func (s *Screen) hyperlink(rest []byte) {
	args, uri, ok := strings.Cut(string(rest), ";")
	if !ok || !utf8.ValidString(uri) {
		return
	}
	e := s.extraOf(s.pen.attr)
	e.link, e.id = uri, ""
	if uri != "" {
		for arg := range strings.SplitSeq(args, ":") {
			if id, ok := strings.CutPrefix(arg, "id="); ok && utf8.ValidString(id) {
				e.id = id
			}
		}
	}
	s.setExtra(e)
}

// pushTitle saves the window title on the stack of titles. It does nothing if the stack is full.
func (s *Screen) pushTitle() {
	if len(s.titles) < maxTitles {
		s.titles = append(s.titles, s.title)
	}
}

// popTitle restores the title from the title stack and reports it. It does nothing if the stack is
// empty.
func (s *Screen) popTitle() {
	if n := len(s.titles); n > 0 {
		s.title = s.titles[n-1]
		s.titles = s.titles[:n-1]
		s.notify(Notice{Kind: Title, Text: s.title})
	}
}
