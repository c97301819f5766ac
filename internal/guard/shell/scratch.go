package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Scratch is reusable memory for parsing. After Clear it can be used for the next call. The
// results of a call are stored in it.
type Scratch struct {
	parser *syntax.Parser
	found  []Command
	words  []Word
}

// NewScratch returns an empty Scratch, large enough for most calls.
func NewScratch() *Scratch {
	return &Scratch{parser: newParser(), found: make([]Command, 0, 16), words: make([]Word, 0, 64)}
}

// Clear empties the memory. Do not use earlier results after it.
func (r *Scratch) Clear() {
	clear(r.found[:cap(r.found)])
	clear(r.words)
	r.found, r.words = r.found[:0], r.words[:0]
}

// parse parses a script.
func (r *Scratch) parse(text string) (*syntax.File, error) {
	return r.parser.Parse(strings.NewReader(text), "")
}

// allocWords returns an empty slice with capacity for n words.
func (r *Scratch) allocWords(n int) []Word {
	from := len(r.words)
	if from+n > cap(r.words) {
		return make([]Word, 0, n)
	}
	r.words = r.words[:from+n]
	return r.words[from : from : from+n]
}
