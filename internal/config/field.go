package config

import (
	"reflect"
)

// field describes one key of a section, from the struct tags of its Go field.
type field struct {
	name   string
	alias  string
	doc    string
	preset string // the default
	index  []int
	typ    reflect.Type
}

var keysType = reflect.TypeFor[Keys]()

// fieldsOf returns the keys of the section with the Go type t, in the order of the struct. It
// includes the keys of embedded structs.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if name, tagged := f.Tag.Lookup("toml"); tagged && name != "-" {
			fields = append(fields, field{
				name: name, index: f.Index, typ: f.Type,
				alias: f.Tag.Get("alias"), doc: f.Tag.Get("doc"), preset: f.Tag.Get("default"),
			})
		}
	}
	return fields
}

// matches reports whether key is the name of the field or its second name.
func (f field) matches(key string) bool {
	return key == f.name || f.alias != "" && key == f.alias
}

// words returns the allowed values of a type that has a fixed list of them, and nil for every other
// type.
func words(t reflect.Type) []string {
	if w, ok := reflect.TypeAssert[word](reflect.Zero(t)); ok {
		return w.Words()
	}
	return nil
}
