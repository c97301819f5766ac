package shell

import "strings"

// Plain reports whether a script is read without the parser.
func Plain(script string) bool {
	_, ok := plainWords(script, NewRoom())
	return ok
}

// ParseByParser reads a script by the parser, whatever it is.
func ParseByParser(script string, opts Options) ([]Command, error) {
	r := newReader(opts)
	if err := fit(script); err != nil {
		return nil, err
	}
	file, err := newParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	s := &scope{reader: r, source: script, script: &surveyed{node: file}, straight: true}
	s.stmts(file.Stmts, input{})
	return r.result()
}
