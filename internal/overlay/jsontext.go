package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// value is a JSON value with its position in a text.
type value struct {
	start, end int // positions in the text, brackets included
	kind       byte
	members    []member // of an object, in the order of the text
	items      []*value // of an array
}

// The kinds of values that are distinguished.
const (
	object byte = '{'
	array  byte = '['
	scalar byte = 0
)

type member struct {
	key   string
	start int // position of the key
	value *value
}

// parseObject parses a text that must be a JSON object. The positions of the values are valid until the text is changed.
func parseObject(text []byte) (*value, error) {
	if !json.Valid(text) {
		return nil, errors.New("it is not valid JSON")
	}
	p := &jsonParser{text, json.NewDecoder(bytes.NewReader(text))}
	p.tokens.UseNumber()
	v := p.value()
	if v.kind != object {
		return v, errors.New("it is not a JSON object")
	}
	return v, nil
}

// jsonParser parses a text that is valid JSON.
type jsonParser struct {
	text   []byte
	tokens *json.Decoder
}

// next returns the next token and its position.
func (p *jsonParser) next() (token json.Token, start int) {
	start = int(p.tokens.InputOffset())
	for start < len(p.text) && bytes.IndexByte([]byte(" \t\r\n,:"), p.text[start]) >= 0 {
		start++
	}
	token, _ = p.tokens.Token() // the text is valid
	return token, start
}

// value parses the next value.
func (p *jsonParser) value() *value {
	token, start := p.next()
	v := &value{start: start}
	switch token {
	case json.Delim(object):
		v.kind = object
		for p.tokens.More() {
			key, start := p.next()
			name, _ := key.(string) // always a string
			v.members = append(v.members, member{name, start, p.value()})
		}
		p.next()
	case json.Delim(array):
		v.kind = array
		for p.tokens.More() {
			v.items = append(v.items, p.value())
		}
		p.next()
	}
	v.end = int(p.tokens.InputOffset())
	return v
}

// lookup returns the index and value of a key. If a key is repeated, the last one is used, as JSON readers do. Without such a
// key it returns -1 and nil.
func (v *value) lookup(key string) (int, *value) {
	for i, m := range slices.Backward(v.members) {
		if m.key == key {
			return i, m.value
		}
	}
	return -1, nil
}

// withoutRepeats parses an object, and returns it and its text without the members whose key a later member has too. JSON readers
// do not use these members.
func withoutRepeats(text []byte) ([]byte, *value, error) {
	root, err := parseObject(text)
	for err == nil {
		in, i := root.repeated()
		if in == nil {
			break
		}
		text = removePart(text, in, i, "")
		root, err = parseObject(text)
	}
	return text, root, err
}

// repeated returns the index of a member whose key a later member has too, and its object: v or one inside v. Without such a member
// the object is nil.
func (v *value) repeated() (in *value, index int) {
	for i, m := range v.members {
		if last, _ := v.lookup(m.key); last != i {
			return v, i
		}
		if in, index = m.value.repeated(); in != nil {
			return in, index
		}
	}
	for _, item := range v.items {
		if in, index = item.repeated(); in != nil {
			return in, index
		}
	}
	return nil, 0
}

// part is the place of a member or an item in the text.
type part struct{ start, end int }

// parts returns the places of the members of an object, or of the items of an array.
func (v *value) parts() []part {
	parts := make([]part, 0, len(v.members)+len(v.items))
	for _, m := range v.members {
		parts = append(parts, part{m.start, m.value.end})
	}
	for _, item := range v.items {
		parts = append(parts, part{item.start, item.end})
	}
	return parts
}

// find returns the value at a path of keys below v; nil if there is none.
func (v *value) find(path []string) *value {
	for _, key := range path {
		if v == nil || v.kind != object {
			return nil
		}
		_, v = v.lookup(key)
	}
	return v
}

// canonical returns the JSON text with sorted keys and without white space, so that texts can be compared.
func canonical(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return string(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(out)
}

func (v *value) canonical(text []byte) string { return canonical(text[v.start:v.end]) }
