package guard

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed sets/*.toml
var shipped embed.FS

// Shipped returns the names of the built-in sets.
func Shipped() []string {
	entries, err := shipped.ReadDir("sets")
	if err != nil {
		return nil // cannot happen: the directory is embedded in the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// ShippedSet returns a built-in set. For an unknown name the error lists the known ones.
func ShippedSet(name string) (Set, error) {
	if !slices.Contains(Shipped(), name) {
		return Set{}, fmt.Errorf("there is no rule set %q; known are: %s", name, strings.Join(Shipped(), ", "))
	}
	data, err := shipped.ReadFile("sets/" + name + ".toml")
	if err != nil {
		return Set{}, err
	}
	return Decode(name, data)
}

// Decode decodes a set from TOML. name is used in errors, and as the set's name if the text has
// none. Errors have line and column.
func Decode(name string, data []byte) (Set, error) {
	var set Set
	if err := strict(name, data, &set); err != nil {
		return Set{}, err
	}
	if set.Name == "" {
		set.Name = name
	}
	for i, line := range linesOf(data, "[[rules]]") {
		if i < len(set.Rules) {
			set.Rules[i].Line = line
		}
	}
	return set, nil
}

// linesOf returns the numbers of the lines that begin with the header of a table, such as
// [[rules]].
func linesOf(data []byte, header string) []int {
	var lines []int
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if text := bytes.ReplaceAll(line, []byte(" "), nil); bytes.HasPrefix(text, []byte(header)) {
			lines = append(lines, number)
		}
	}
	return lines
}

// FileError is an error in a file of rules or cases, with its position.
type FileError struct {
	File         string
	Line, Column int // from 1; zero: unknown
	Fault        string
	Unknown      string // the unknown key or word; empty for another error
}

// Error returns the message with the position.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Fault
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Fault)
}

// strict decodes TOML into into. An unknown key is an error with its position. name is the file in
// errors.
func strict(name string, data []byte, into any) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(into)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		row, column := unknown.Errors[0].Position()
		key := unknown.Errors[0].Key()
		return &FileError{name, row, column, fmt.Sprintf("unknown key %q", strings.Join(key, ".")), key[len(key)-1]}
	}
	if fault, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := fault.Position()
		return &FileError{File: name, Line: row, Column: column, Fault: strings.TrimPrefix(fault.Error(), "toml: ")}
	}
	if err != nil {
		return &FileError{File: name, Fault: err.Error()}
	}
	return nil
}
