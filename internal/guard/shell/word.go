package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Unknown replaces each unknown part in the text of a word. A NUL byte cannot occur in the words
// of a shell.
const Unknown = '\x00'

// Word is a word of a command, as far as it is known.
type Word struct {
	// Text is the word without quotes, with [Unknown] for each unknown part.
	Text string
	// Known is true if the word is exactly Text.
	Known bool
	// Split is true if the unknown parts may become any number of words.
	Split bool
	// Glob is true if the word is a pattern that the shell replaces by file names.
	Glob bool
	// Listed is true if the unknown parts are names of files that a program finds in the working
	// directory.
	Listed bool
	// Program is true if the word is a text in a language, such as a pattern or a program of awk,
	// and not the name of a file.
	Program bool
	// Any contains the values that the word has one after the other, like the variable of a loop;
	// Text is unknown then.
	Any []Word
}

// words returns the words of a command as far as they are known. One word of the source may become
// several, by braces or by a variable.
func (s *scope) words(list []*syntax.Word) []Word {
	out := s.reader.opts.Scratch.allocWords(len(list))
	for _, w := range list {
		if values, ok := s.fields(w); ok {
			out = append(out, values...)
			continue
		}
		if !slices.ContainsFunc(w.Parts, hasBrace) {
			out = append(out, s.word(w))
			continue
		}
		split := &syntax.Word{Parts: slices.Clone(w.Parts)} // do not change the tree, which is walked again
		if !syntax.SplitBraces(split) {
			out = append(out, s.word(w))
			continue
		}
		for each, err := range expand.BracesSeq(nil, split) {
			if err != nil || len(out) >= maxWords {
				out = append(out, Word{Text: string(Unknown), Split: true})
				break
			}
			if one := s.word(each); one.Text != "" || !one.Known || !bare(each) { // an empty text without quotes is not a word
				out = append(out, one)
			}
		}
	}
	return out
}

// hasBrace reports whether a part of a word is a text with a brace, without which there is no brace expansion.
func hasBrace(p syntax.WordPart) bool {
	lit, ok := p.(*syntax.Lit)
	return ok && strings.Contains(lit.Value, "{")
}

// bare reports whether no part of a word is in quotes.
func bare(w *syntax.Word) bool {
	return !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.Lit); return !ok })
}

// word returns a word of the script with the values of its variables, as far as they are known.
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

// single returns the only part of a word, without its quotes; nil if the word has several parts.
// quoted is true if it was in quotes.
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

// looped returns the values that a word has one after the other because it is the variable of a
// loop. ok is false for any other word.
func (s *scope) looped(w *syntax.Word) ([]Word, bool) {
	part, _ := single(w)
	p, ok := part.(*syntax.ParamExp)
	if !ok || !plain(p) {
		return nil, false
	}
	values, ok := s.loops[p.Param.Value]
	return values, ok
}

// plain reports whether a parameter expansion is the unmodified value of a variable.
func plain(p *syntax.ParamExp) bool { return simple(p) && p.Index == nil }

// simple reports the same as plain, but also allows an array index.
func simple(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil &&
		p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 && len(p.Modifiers) == 0
}

// flattener builds a Word from the parts of a word.
type flattener struct {
	scope  *scope
	text   strings.Builder
	known  bool
	split  bool
	glob   bool
	listed bool // all unknown parts are listed names
}

// word returns the word that was built.
func (f *flattener) word() Word {
	if f.known && f.text.String() == "[" { // the program [
		f.glob = false
	}
	return Word{Text: f.text.String(), Known: f.known, Split: f.split, Glob: f.glob, Listed: !f.known && f.listed}
}

// unknown adds an unknown part to the word. split is true if the part may become several words.
func (f *flattener) unknown(split bool) {
	f.text.WriteRune(Unknown)
	f.known, f.listed = false, false
	f.split = f.split || split
}

// part adds one part of a word, for example a text in quotes or a variable. first means that it is
// the first part. An expansion outside of quotes can become several words.
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
			f.expansion(inner, canBeSeveralWords(inner))
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

// single adds a text in single quotes.
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

// expansion adds the value of a variable or a substitution to the word, as far as it is known.
// split is true outside of quotes.
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

// canBeSeveralWords reports whether a part of a word can become several words although it is in quotes, like
// "$@".
func canBeSeveralWords(part syntax.WordPart) bool {
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

// special reports whether a shell would change this text outside of quotes, because it contains
// blanks or wildcards or is empty.
func special(text string) bool { return strings.ContainsAny(text, " \t\n*?[\\") || text == "" }

// literal adds unquoted text.
func (f *flattener) literal(value string, first bool) {
	if name, rest, ok := strings.Cut(value, "=~"); first && ok && syntax.ValidName(name) { // a tilde after an assignment is expanded too
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
		default: // the home of another user, or a previous directory
			f.unknown(false)
		}
		value = value[1+len(user):]
	}
	f.text.Grow(len(value))
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

// unescape removes the backslashes before the given characters.
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
