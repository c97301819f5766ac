package config

import (
	"reflect"
	"slices"
	"strings"
)

// field describes one key of a section, according to its struct tags.
type field struct {
	name   string // without the asterisk of a prefix
	alias  string
	doc    string
	later  string // the feature that does not exist yet
	preset string // the default
	prefix bool   // the field contains every key that begins with name
	index  []int
	typ    reflect.Type
}

var keysType = reflect.TypeFor[Keys]()

// fieldsOf returns the keys of a section, including those of embedded groups, in the order of the
// struct.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if f.Type != keysType {
				for _, inner := range fieldsOf(f.Type) {
					inner.index = slices.Insert(inner.index, 0, i)
					fields = append(fields, inner)
				}
			}
			continue
		}
		name, tagged := f.Tag.Lookup("toml")
		if !tagged || name == "-" {
			continue
		}
		name, prefix := strings.CutSuffix(name, "*")
		fields = append(fields, field{
			name: name, prefix: prefix, index: []int{i}, typ: f.Type,
			alias: f.Tag.Get("alias"), doc: f.Tag.Get("doc"), later: f.Tag.Get("later"), preset: f.Tag.Get("default"),
		})
	}
	return fields
}

// matches reports whether the field is for the key.
func (f field) matches(key string) bool {
	return key == f.name || f.alias != "" && key == f.alias || f.prefix && strings.HasPrefix(key, f.name)
}

// words returns the allowed values of a type with a closed list.
func words(t reflect.Type) []string {
	if w, ok := reflect.TypeAssert[word](reflect.Zero(t)); ok {
		return w.Words()
	}
	return nil
}
