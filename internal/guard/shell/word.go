package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Unknown stands in a word's text for a part that is not known. It cannot be in
// the words of a shell.
const Unknown = '\x00'

// Word is a word of a command, as far as it is known.
type Word struct {
	// Text is the word after the shell has taken its quotes away, with [Unknown] for
	// each part that is not known.
	Text string
	// Known says that the word is Text and nothing else.
	Known bool
	// Split says that unknown parts may become any number of words.
	Split bool
	// Glob says that it is a pattern for the names of files.
	Glob bool
	// Listed says that what is unknown are names that a program has found here.
	Listed bool
	// Program says that the command reads it as a text of a language, such as a pattern or a
	// program of awk: it does not name a file.
	Program bool
	// Any are the values that it takes one after the other, as a loop's variable does;
	// Text is unknown then.
	Any []Word
}

// words returns what a word of the source becomes: several with braces, or where
// the words of a variable are known.
func (s *scope) words(list []*syntax.Word) []Word {
	out := s.reader.opts.Scratch.allocWords(len(list))
	for _, w := range list {
		if values, ok := s.fields(w); ok {
			out = append(out, values...)
			continue
		}
		split := &syntax.Word{Parts: slices.Clone(w.Parts)} // the tree stays as it is: it is walked again
		if !syntax.SplitBraces(split) {
			out = append(out, s.word(w))
			continue
		}
		for each, err := range expand.BracesSeq(nil, split) {
			if err != nil || len(out) >= maxWords {
				out = append(out, Word{Text: string(Unknown), Split: true})
				break
			}
			if one := s.word(each); one.Text != "" || !one.Known || !bare(each) { // nothing outside quotes is no word
				out = append(out, one)
			}
		}
	}
	return out
}

// bare reports whether no part of a word is in quotes.
func bare(w *syntax.Word) bool {
	return !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.Lit); return !ok })
}

func (s *scope) word(w *syntax.Word) Word {
	if w == nil {
		return Word{Known: true}
	}
	if values, ok := s.looped(w); ok {
		return Word{Text: string(Unknown), Any: values}
	}
	f := &flattener{scope: s, known: true, listed: true}
	for i, part := range w.Parts {
		f.part(part, i == 0)
	}
	return f.word()
}

// document returns the text of a here-document.
func (s *scope) document(r *syntax.Redirect) Word {
	quoted := slices.ContainsFunc(r.Word.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, `\`)
	})
	if r.Hdoc == nil {
		return Word{Known: true}
	}
	f := &flattener{scope: s, known: true, listed: true}
	for _, part := range r.Hdoc.Parts {
		switch lit, ok := part.(*syntax.Lit); {
		case ok && quoted:
			f.text.WriteString(lit.Value)
		case ok:
			f.text.WriteString(unescape(lit.Value, "\\$`"))
		default:
			f.expansion(part, false)
		}
	}
	w := f.word()
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(w.Text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		w.Text = strings.Join(lines, "")
	}
	return w
}

// single returns the only part of a word, out of its quotes.
func single(w *syntax.Word) (part syntax.WordPart, quoted bool) {
	if len(w.Parts) != 1 {
		return nil, false
	}
	if q, ok := w.Parts[0].(*syntax.DblQuoted); ok {
		if len(q.Parts) == 1 {
			return q.Parts[0], true
		}
		return nil, true
	}
	return w.Parts[0], false
}

// looped returns the values of a word that is just the variable of a loop.
func (s *scope) looped(w *syntax.Word) ([]Word, bool) {
	part, _ := single(w)
	p, ok := part.(*syntax.ParamExp)
	if !ok || !plain(p) {
		return nil, false
	}
	values, ok := s.loops[p.Param.Value]
	return values, ok
}

// plain reports whether a parameter expansion is a variable's value as it is.
func plain(p *syntax.ParamExp) bool { return simple(p) && p.Index == nil }

// simple is plain, or a whole array.
func simple(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil &&
		p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 && len(p.Modifiers) == 0
}

// flattener puts the parts of a word together.
type flattener struct {
	scope  *scope
	text   strings.Builder
	known  bool
	split  bool
	glob   bool
	listed bool // all that is unknown is listed
}

func (f *flattener) word() Word {
	if f.known && f.text.String() == "[" { // a program
		f.glob = false
	}
	return Word{Text: f.text.String(), Known: f.known, Split: f.split, Glob: f.glob, Listed: !f.known && f.listed}
}

func (f *flattener) unknown(split bool) {
	f.text.WriteRune(Unknown)
	f.known, f.listed = false, false
	f.split = f.split || split
}

func (f *flattener) part(part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		f.literal(p.Value, first)
	case *syntax.SglQuoted:
		f.single(p)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				f.text.WriteString(unescape(lit.Value, "\"\\$`"))
				continue
			}
			f.expansion(inner, several(inner))
		}
	case *syntax.ExtGlob:
		f.glob = true
		f.unknown(true)
	case *syntax.ProcSubst: // the name of a pipe
		f.text.WriteString("/dev/fd/63")
	default:
		f.expansion(part, true)
	}
}

func (f *flattener) single(p *syntax.SglQuoted) {
	if !p.Dollar {
		f.text.WriteString(p.Value)
		return
	}
	text, _, err := expand.Format(nil, p.Value, nil)
	if err != nil || strings.Contains(p.Value, `\c`) {
		f.unknown(false)
		return
	}
	text, _, _ = strings.Cut(text, "\x00")
	f.text.WriteString(text)
}

// expansion adds what the shell puts in the place of a variable or a substitution.
func (f *flattener) expansion(part syntax.WordPart, split bool) {
	switch p := part.(type) {
	case *syntax.ParamExp:
		if text, ok := f.scope.value(p); ok && (!split || !special(text)) {
			f.text.WriteString(text)
			return
		}
	case *syntax.CmdSubst:
		out := f.scope.captured(p)
		if out.listed {
			f.text.WriteRune(Unknown)
			f.known, f.split = false, f.split || split
			return
		}
		if text := strings.TrimRight(out.text, "\n"); out.known && (!split || !special(text)) {
			f.text.WriteString(text)
			return
		}
	case *syntax.ArithmExp:
		split = false
	}
	f.unknown(split)
}

// several reports whether a part becomes several words in quotes too, as "$@" does.
func several(part syntax.WordPart) bool {
	found := false
	syntax.Walk(part, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
			index, _ := p.Index.(*syntax.Word)
			found = found || p.Param.Value == "@" || p.Names == syntax.NamesPrefixWords || index != nil && index.Lit() == "@"
		}
		return !found
	})
	return found
}

// special reports whether a text outside quotes becomes something else.
func special(text string) bool { return strings.ContainsAny(text, " \t\n*?[\\") || text == "" }

// literal adds unquoted text.
func (f *flattener) literal(value string, first bool) {
	if name, rest, ok := strings.Cut(value, "=~"); first && ok && syntax.ValidName(name) { // as in an assignment
		f.text.WriteString(name + "=")
		value = "~" + rest
	}
	if first && strings.HasPrefix(value, "~") {
		user, _, _ := strings.Cut(value[1:], "/")
		home := f.scope.reader.opts.Home
		switch {
		case user == "" && home != "":
			f.text.WriteString(home)
		case user == "":
			f.text.WriteByte('~')
		case strings.HasSuffix(home, "/"+user):
			f.text.WriteString(home)
		default: // another user's, or a previous folder
			f.unknown(false)
		}
		value = value[1+len(user):]
	}
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '\\':
			i++
			if i < len(value) && value[i] != '\n' {
				f.text.WriteByte(value[i])
			}
		case '*', '?', '[':
			f.glob = true
			f.text.WriteByte(c)
		default:
			f.text.WriteByte(c)
		}
	}
}

// unescape takes the backslashes before the given characters away.
func unescape(value, special string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			if value[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, value[i+1]) >= 0 {
				i++
			}
		}
		out.WriteByte(value[i])
	}
	return out.String()
}
