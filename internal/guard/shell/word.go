package shell

import (
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
	// Any are the values that it takes one after the other, as a loop's variable does;
	// Text is unknown then.
	Any []Word
}

// Could reports whether the word may turn out to be one that fits, by its known
// parts. fits gets what comes before the first unknown part and after the last.
func (w Word) Could(fits func(head, tail string) bool) bool {
	first := strings.IndexRune(w.Text, Unknown)
	if first < 0 {
		return fits(w.Text, "")
	}
	return fits(w.Text[:first], w.Text[strings.LastIndexByte(w.Text, Unknown)+1:])
}

// words returns what a word of the source becomes: several with braces.
func (s *scope) words(list []*syntax.Word) []Word {
	var out []Word
	for _, w := range list {
		if !syntax.SplitBraces(w) {
			out = append(out, s.word(w))
			continue
		}
		for each, err := range expand.BracesSeq(nil, w) {
			if err != nil || len(out) >= maxWords {
				out = append(out, Word{Text: string(Unknown), Split: true})
				break
			}
			out = append(out, s.word(each))
		}
	}
	return out
}

func (s *scope) word(w *syntax.Word) Word {
	if w == nil {
		return Word{Known: true}
	}
	if values, ok := s.looped(w); ok {
		return Word{Text: string(Unknown), Any: values}
	}
	f := &flattener{scope: s, known: true}
	for i, part := range w.Parts {
		f.part(part, i == 0)
	}
	return Word{Text: f.text.String(), Known: f.known, Split: f.split, Glob: f.glob}
}

// looped returns the values of a word that is just the variable of a loop.
func (s *scope) looped(w *syntax.Word) ([]Word, bool) {
	if len(w.Parts) != 1 {
		return nil, false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || !plain(p) {
		return nil, false
	}
	values, ok := s.loops[p.Param.Value]
	return values, ok
}

// plain reports whether a parameter expansion is a variable's value as it is.
func plain(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Exp == nil && p.Names == 0 && len(p.Modifiers) == 0
}

// flattener puts the parts of a word together.
type flattener struct {
	scope *scope
	text  strings.Builder
	known bool
	split bool
	glob  bool
}

func (f *flattener) unknown(split bool) {
	f.text.WriteRune(Unknown)
	f.known = false
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
			f.expansion(inner, false)
		}
	case *syntax.ExtGlob:
		f.glob = true
		f.unknown(true)
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
	if err != nil {
		f.unknown(false)
		return
	}
	text, _, _ = strings.Cut(text, "\x00")
	f.text.WriteString(text)
}

// expansion adds what the shell puts in the place of a variable or a substitution.
func (f *flattener) expansion(part syntax.WordPart, split bool) {
	p, ok := part.(*syntax.ParamExp)
	if ok && plain(p) && p.Param.Value == "HOME" && f.scope.reader.opts.Home != "" && !f.scope.assigned["HOME"] {
		f.text.WriteString(f.scope.reader.opts.Home)
		return
	}
	if _, arithmetic := part.(*syntax.ArithmExp); arithmetic {
		split = false
	}
	f.unknown(split)
}

// literal adds unquoted text.
func (f *flattener) literal(value string, first bool) {
	if rest, ok := strings.CutPrefix(value, "~"); first && ok && (rest == "" || rest[0] == '/') {
		if home := f.scope.reader.opts.Home; home != "" {
			f.text.WriteString(home)
		} else {
			f.text.WriteByte('~')
		}
		value = rest
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
