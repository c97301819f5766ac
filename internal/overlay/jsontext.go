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

var errNoJSON = errors.New("it is not valid JSON")

// parseJSON parses a text. The positions of the values are valid until the text is changed.
func parseJSON(text []byte) (*value, error) {
	if !json.Valid(text) {
		return nil, errNoJSON
	}
	p := &jsonParser{text: text}
	return p.value(), nil
}

// parseObject is parseJSON for a text that must be a JSON object.
func parseObject(text []byte) (*value, error) {
	v, err := parseJSON(text)
	if err == nil && v.kind != object {
		err = errors.New("it is not a JSON object")
	}
	return v, err
}

// jsonParser parses a text that is valid JSON.
type jsonParser struct {
	text []byte
	at   int
}

func (p *jsonParser) space() {
	for p.at < len(p.text) && bytes.IndexByte([]byte(" \t\r\n"), p.text[p.at]) >= 0 {
		p.at++
	}
}

// next skips white space and, if present, the given separator.
func (p *jsonParser) next(separator byte) {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == separator {
		p.at++
		p.space()
	}
}

// value parses the value at the current position.
func (p *jsonParser) value() *value {
	p.space()
	v := &value{start: p.at}
	switch p.text[p.at] {
	case object:
		v.kind = object
		p.at++
		for p.next(','); p.text[p.at] != '}'; p.next(',') {
			m := member{start: p.at}
			m.key = p.key()
			p.next(':')
			m.value = p.value()
			v.members = append(v.members, m)
		}
		p.at++
	case array:
		v.kind = array
		p.at++
		for p.next(','); p.text[p.at] != ']'; p.next(',') {
			v.items = append(v.items, p.value())
		}
		p.at++
	case '"':
		p.skipString()
	default:
		for p.at < len(p.text) && bytes.IndexByte([]byte(",]} \t\r\n"), p.text[p.at]) < 0 {
			p.at++
		}
	}
	v.end = p.at
	return v
}

// skipString moves the position after the string that begins there.
func (p *jsonParser) skipString() {
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
}

// key parses the string at the current position.
func (p *jsonParser) key() string {
	start := p.at
	p.skipString()
	var key string
	if err := json.Unmarshal(p.text[start:p.at], &key); err != nil {
		return string(p.text[start:p.at]) // cannot happen in valid JSON
	}
	return key
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
