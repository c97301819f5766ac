package vt

import (
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
	text := string(rest)
	switch number {
	case 9:
		progress, ok := strings.CutPrefix(text, "4;")
		state, _, _ := strings.Cut(progress, ";")
		return Notice{Progress, progress}, ok && len(state) == 1 && state >= "0" && state <= "4"
	case 133: // a shell reports a prompt, a command or its end
		if text == "" || text[0] < 'A' || text[0] > 'P' {
			return Notice{}, false
		}
		return Notice{SemanticPrompt, text[:1]}, true
	case 7501:
		return Notice{ProgramStatus, text}, true
	}
	return Notice{}, false
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
	case 0, 2:
		s.setTitle(rest)
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

// setTitle handles OSC 0 and 2, which set the title of the window.
func (s *Screen) setTitle(text []byte) {
	if string(text) != s.title {
		title, ok := cleanTitle(text)
		if !ok {
			return
		}
		s.title = title
	}
	s.notify(Notice{Title, s.title})
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
		s.notify(Notice{Title, s.title})
	}
}
