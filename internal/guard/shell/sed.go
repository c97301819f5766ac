package shell

import "strings"

// sedProgram contains what a program of sed does apart from editing text.
type sedProgram struct {
	commands []string // commands that it runs, with its command e
	runsText bool     // it runs the edited text as a command: e without a command, or s///e
	reads    []string // files that it reads, with r and R
	writes   []string // files that it writes, with w, W and s///w
}

// parseSed parses a program of GNU sed. ok is false if it cannot be parsed, so that its effect is
// unknown. brackets states whether a delimiter between [ and ] is part of the pattern, because
// versions of sed differ.
func parseSed(text string, brackets bool) (sedProgram, bool) {
	p := sedParser{text: text, brackets: brackets, ok: true}
	for p.ok {
		p.skip(" \t\n;")
		if p.at >= len(p.text) {
			return p.program, p.open == 0
		}
		p.command()
	}
	return p.program, false
}

// sedParser is the state of parseSed.
type sedParser struct {
	text     string
	at       int
	open     int // number of open blocks
	brackets bool
	ok       bool
	program  sedProgram
}

// next returns the next byte and moves past it; zero at the end.
func (p *sedParser) next() byte {
	c := p.peek()
	if p.at < len(p.text) {
		p.at++
	}
	return c
}

// peek returns the next byte; zero at the end.
func (p *sedParser) peek() byte {
	if p.at >= len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// skip moves past all following bytes that are in set.
func (p *sedParser) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

// line returns the text up to the end of the line and moves past it.
func (p *sedParser) line() string {
	line, _, _ := strings.Cut(p.text[p.at:], "\n")
	p.at += len(line)
	return strings.TrimLeft(line, " \t")
}

// command parses one command of sed with its addresses.
func (p *sedParser) command() {
	if p.address() {
		p.skip(" \t")
		if p.peek() == ',' {
			p.at++
			p.skip(" \t")
			if !p.address() {
				p.ok = false
				return
			}
		}
	}
	p.skip(" \t!")
	switch c := p.next(); c {
	case '{':
		p.open++
		return
	case '}':
		p.open--
	case '#':
		p.line()
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
	case 'l', 'L', 'q', 'Q':
		p.skip(" \t")
		p.skip(digits)
	case 'a', 'i', 'c':
		p.appended()
	case ':', 'b', 't', 'T', 'v':
		p.skip(" \t")
		for p.at < len(p.text) && strings.IndexByte(" \t\n;}", p.text[p.at]) < 0 {
			p.at++
		}
		return // GNU sed treats the text after a label and a blank as the next command
	case 'r', 'R':
		p.program.reads = append(p.program.reads, p.line())
	case 'w', 'W':
		p.program.writes = append(p.program.writes, p.line())
	case 'e':
		p.run(p.line())
	case 's':
		p.substitute()
	case 'y':
		delimiter := p.next()
		p.delimited(delimiter, false)
		p.delimited(delimiter, false)
	default:
		p.ok = false
		return
	}
	p.skip(" \t")
	if c := p.peek(); p.at < len(p.text) && strings.IndexByte("\n;}#", c) < 0 {
		p.ok = false
	}
}

// digits contains the digits of numbers in addresses; an unknown part may be one.
const digits = "0123456789" + string(Unknown)

// address parses the address before a command of sed, such as a line number, and reports whether
// there was one.
func (p *sedParser) address() bool {
	switch c := p.peek(); {
	case strings.IndexByte(digits, c) >= 0 && p.at < len(p.text):
		p.skip(digits)
		p.skip(" \t")
		if p.peek() == '~' {
			p.at++
			p.skip(digits)
		}
	case c == '+' || c == '~':
		p.at++
		p.skip(digits)
	case c == '$':
		p.at++
	case c == '/', c == '\\':
		p.at++
		if c == '\\' {
			c = p.next()
		}
		p.delimited(c, true)
		p.skip("IM")
	default:
		return false
	}
	return true
}

// delimited returns the text up to the delimiter and moves past it. pattern is true if the text is
// a regular expression, in which a delimiter between brackets may not count.
func (p *sedParser) delimited(delimiter byte, pattern bool) string {
	from := p.at
	for p.at < len(p.text) {
		switch c := p.next(); {
		case c == '\\':
			p.next()
		case c == delimiter:
			return p.text[from : p.at-1]
		case c == '[' && pattern && p.brackets:
			p.set()
		}
	}
	p.ok = false
	return ""
}

// set moves past a set of characters in brackets, after the opening bracket. A bracket that is not
// closed is an ordinary character.
func (p *sedParser) set() {
	at := p.at
	if at < len(p.text) && p.text[at] == '^' {
		at++
	}
	if at < len(p.text) && p.text[at] == ']' {
		at++
	}
	for at < len(p.text) && p.text[at] != '\n' {
		switch c := p.text[at]; {
		case c == ']':
			p.at = at + 1
			return
		case c == '[' && at+1 < len(p.text) && strings.IndexByte(":.=", p.text[at+1]) >= 0:
			end := strings.Index(p.text[at+2:], string(p.text[at+1])+"]")
			if end < 0 {
				return
			}
			at += 2 + end + 2
		default:
			at++
		}
	}
}

// substitute parses the rest of the command s.
func (p *sedParser) substitute() {
	delimiter := p.next()
	p.delimited(delimiter, true)
	replacement := p.delimited(delimiter, false)
	for p.ok {
		switch c := p.peek(); {
		case p.at < len(p.text) && strings.IndexByte("gpiImM \t"+digits, c) >= 0:
			p.at++
		case c == 'e':
			p.at++
			p.program.runsText = true
			p.program.commands = append(p.program.commands, replacement)
		case c == 'w':
			p.at++
			p.program.writes = append(p.program.writes, p.line())
			return
		default:
			return
		}
	}
}

// appended moves past the text that the commands a, i and c of sed insert. A backslash at the end
// of a line continues the text.
func (p *sedParser) appended() {
	p.skip(" \t")
	for p.at < len(p.text) {
		switch p.next() {
		case '\\':
			p.next()
		case '\n':
			p.at--
			return
		}
	}
}

// run records a command that the sed program runs. An empty command means that it runs the edited
// text.
func (p *sedParser) run(command string) {
	if strings.TrimSpace(command) == "" {
		p.program.runsText = true
		return
	}
	p.program.commands = append(p.program.commands, command)
}

// sedOptions describes the options of sed that contain programs.
var sedOptions = textOptions{
	short: "ef", values: "l", attached: "i",
	long: map[string]byte{"--expression": 'e', "--file": 'f', "--line-length": 'l'},
}

// sed collects the commands that a program of sed runs, and marks c as hidden if the guard cannot
// see them all.
func (r *reader) sed(c *Command, in input, depth int) {
	var scripts []string
	whole := false
	add := func(i int, w Word) {
		whole = whole || w.Text == string(Unknown) || w.Split && !w.Known || w.Any != nil
		scripts = append(scripts, w.Text)
		if i >= 0 {
			c.program(i)
		}
	}
	files := sedOptions.each(c.Words[1:], func(letter byte, i int, w Word) {
		switch {
		case letter == 'e':
			add(i+1, w)
		case letter == 'f' && (stream(w) || w.Text == "-") && in.known && w.Text != "/dev/fd/63":
			add(-1, Word{Text: in.text, Known: true})
		case letter == 'f' && (stream(w) || w.Text == "-"):
			c.Hidden = "it runs a program of sed that another program writes"
		case letter == 'f': // a file: its program is not read
			scripts = append(scripts, "")
		}
	})
	if len(scripts) == 0 && c.Hidden == "" {
		if len(files) == 0 {
			if c.More {
				c.Hidden = "it runs a program of sed that is added later"
			}
			return
		}
		add(files[0]+1, c.Words[files[0]+1])
	}
	if whole {
		c.Hidden = "it runs a program of sed that is not known"
		return
	}
	r.sedScript(c, strings.Join(scripts, "\n"), in, depth)
}

// sedScript collects the commands, and records the files, in the text of one sed program.
func (r *reader) sedScript(c *Command, text string, in input, depth int) {
	inner := behind(*c, "sed")
	inner.Words, inner.Reads, inner.Writes, inner.More = nil, nil, nil, false
	known := strings.IndexByte(text, byte(Unknown)) < 0
	parsed := false
	for _, brackets := range []bool{true, false} {
		program, ok := parseSed(text, brackets)
		if !ok {
			continue
		}
		for _, name := range program.reads {
			c.Reads = append(c.Reads, wordOf(name))
		}
		for _, name := range program.writes {
			if strings.TrimSpace(name) != "" {
				c.Writes = append(c.Writes, wordOf(name))
			}
		}
		for _, command := range program.commands {
			r.nestedUnknown(inner, command, depth)
		}
		if program.runsText {
			if in.known {
				r.mention(inner, in.text+" .", depth)
			}
			c.Hidden = "its sed program runs its input as commands"
		}
		parsed = true
		if !strings.Contains(text, "[") {
			return
		}
	}
	if !parsed && known && strings.Contains(text, "e") {
		c.Hidden = "its program of sed cannot be read"
	}
}

// wordOf returns a word with the text, which may contain unknown parts.
func wordOf(text string) Word {
	return Word{Text: text, Known: strings.IndexByte(text, byte(Unknown)) < 0}
}

// nestedUnknown collects the commands in a script with unknown parts. These are treated like the
// value of a variable.
func (r *reader) nestedUnknown(c Command, text string, depth int) {
	r.nested(c, strings.ReplaceAll(text, string(Unknown), "$unknown"), input{redirected: true}, depth)
}
