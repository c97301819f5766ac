package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Scratch is the memory of readings, which is used again: by one reading after the other,
// and by the next call's once it is cleared. What a reading has found is in it.
type Scratch struct {
	parser *syntax.Parser
	found  []Command
	words  []Word
}

// NewScratch returns an empty one, large enough for what most calls are.
func NewScratch() *Scratch {
	return &Scratch{parser: newParser(), found: make([]Command, 0, 16), words: make([]Word, 0, 64)}
}

// Clear makes it empty. The results must not be used any more.
func (r *Scratch) Clear() {
	clear(r.found[:cap(r.found)])
	clear(r.words[:cap(r.words)])
	r.found, r.words = r.found[:0], r.words[:0]
}

func (r *Scratch) parse(text string) (*syntax.File, error) {
	return r.parser.Parse(strings.NewReader(text), "")
}

// allocWords returns an empty slice with room for n words.
func (r *Scratch) allocWords(n int) []Word {
	from := len(r.words)
	if from+n > cap(r.words) {
		return make([]Word, 0, n)
	}
	r.words = r.words[:from+n]
	return r.words[from : from : from+n]
}
