package shell

import "strings"

// Plain reports whether a script can be read without the parser.
func Plain(script string) bool {
	_, ok := plainWords(script, NewScratch())
	return ok
}

// ParseByParser reads a script with the parser, even if it could be read without.
func ParseByParser(script string, opts Options) ([]Command, error) {
	r := newReader(opts)
	if err := fit(script); err != nil {
		return nil, err
	}
	file, err := newParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	s := &scope{reader: r, source: script, script: &surveyed{node: file}, runsOnce: true}
	s.stmts(file.Stmts, input{})
	return r.result()
}

// SedActs reports whether a sed program runs a command, or reads or writes a file; ok is false if
// it cannot be parsed.
func SedActs(text string) (acts, ok bool) {
	for _, brackets := range []bool{true, false} {
		p, read := parseSed(text, brackets)
		ok = ok || read
		acts = acts || read && (p.runsText || len(p.commands)+len(p.reads)+len(p.writes) > 0)
	}
	return acts, ok
}

// SplitWords splits a text like env -S; known is false if the text has a variable.
func SplitWords(text string) (words []string, known bool) {
	known = true
	for _, w := range splitWords(Word{Text: text, Known: true}) {
		words, known = append(words, w.Text), known && w.Known
	}
	return words, known
}
