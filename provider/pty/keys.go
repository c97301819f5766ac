package pty

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gascity/internal/terminal/vt"
)

// defaultDetachKeys are the detach keys if none are configured.
var defaultDetachKeys = []string{"C-b d", `C-\`}

// detachKeys finds detach sequences in a person's input. It holds back bytes that may begin a
// sequence until the next byte decides. Pressing the first key of a sequence twice sends that key
// once.
type detachKeys struct {
	sequences [][]byte
	held      []byte
}

// newDetachKeys returns a filter for detach keys. Each name is a sequence of tmux key names, such as "C-b d"; without
// names the default keys are used. An unknown name is an error.
func newDetachKeys(names []string) (*detachKeys, error) {
	if len(names) == 0 {
		names = defaultDetachKeys
	}
	k := &detachKeys{}
	for _, name := range names {
		var sequence []byte
		for key := range strings.FieldsSeq(name) {
			b, err := vt.Key(key, vt.Modes{})
			if err != nil {
				return nil, fmt.Errorf("detach key %q: %w", name, err)
			}
			sequence = append(sequence, b...)
		}
		if len(sequence) == 0 {
			return nil, fmt.Errorf("detach key %q names no key", name)
		}
		k.sequences = append(k.sequences, sequence)
	}
	return k, nil
}

// feed returns the input to send to the session, and whether a detach sequence is complete. Input
// after the sequence is dropped.
func (k *detachKeys) feed(p []byte) (input []byte, detach bool) {
	for _, b := range p {
		k.held = append(k.held, b)
		for len(k.held) > 0 {
			complete, prefix := k.match()
			if complete {
				k.held = nil
				return input, true
			}
			if prefix {
				break
			}
			input = append(input, k.held[0])
			repeated := len(k.held) == 2 && k.held[0] == k.held[1]
			k.held = k.held[1:]
			if repeated && k.isFirst(input[len(input)-1]) {
				k.held = nil
			}
		}
	}
	return input, false
}

// match reports whether the held bytes are a sequence, or the beginning of one.
func (k *detachKeys) match() (complete, prefix bool) {
	for _, s := range k.sequences {
		if bytes.Equal(s, k.held) {
			return true, false
		}
		prefix = prefix || bytes.HasPrefix(s, k.held)
	}
	return false, prefix
}

// isFirst reports whether b begins a sequence of several bytes.
func (k *detachKeys) isFirst(b byte) bool {
	return slices.ContainsFunc(k.sequences, func(s []byte) bool { return len(s) > 1 && s[0] == b })
}
