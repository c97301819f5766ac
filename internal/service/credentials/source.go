package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity/worker"
)

// Value is a credential.
type Value struct {
	Secret  worker.Secret
	Expires time.Time // zero: it does not, as far as anybody knows
}

// Source reads a credential from where it is. Exactly one of Env, File and Command is
// set.
type Source struct {
	Env     string // a variable
	File    string
	Command string        // a shell command, which prints it; ended with all that it started after Timeout
	Life    time.Duration // how long one is good that does not say so, of a file from its change on; zero: for ever
	Timeout time.Duration // of the command; zero is 30 s
}

// Environment is what sources are read from.
type Environment struct {
	Lookup  func(name string) (string, bool)
	Environ []string // of commands
	Dir     string   // of commands
	Locks   Locks    // of commands; its zero value locks nothing
	Now     func() time.Time
}

const maxValue = 64 << 10

// ErrEmpty reports that there is nothing where a credential should be.
var ErrEmpty = errors.New("it is empty or not there")

// answer is what a file or a command may say in place of the bare value.
type answer struct {
	Value     string     `json:"value"`
	ExpiresAt *time.Time `json:"expires_at"`
}

// Read reads the credential. The error never has anything of what was read.
func (s Source) Read(ctx context.Context, w Environment) (Value, error) {
	var text []byte
	var err error
	now := w.Now()
	begun := now
	switch {
	case s.Env != "":
		value, _ := w.Lookup(s.Env)
		text = []byte(value)
	case s.File != "":
		text, begun, err = readFile(s.File)
	default:
		text, err = s.run(ctx, w)
	}
	if err != nil {
		return Value{}, err
	}
	v, err := parse(text)
	if err != nil {
		return Value{}, err
	}
	if v.Expires.IsZero() && s.Life > 0 {
		v.Expires = begun.Add(s.Life)
	}
	if !v.Expires.IsZero() && !v.Expires.After(now) {
		return Value{}, fmt.Errorf("it has ended already, at %s", v.Expires.UTC().Format(time.RFC3339))
	}
	return v, nil
}

// readFile returns what is in a file, and since when it is there.
func readFile(path string) (text []byte, since time.Time, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxValue {
		return nil, time.Time{}, fmt.Errorf("%s is not a file of at most %d bytes", path, maxValue)
	}
	text, err = os.ReadFile(path)
	return text, info.ModTime(), err
}

// parse reads {"value": ..., "expires_at": ...}, or the value itself, on one line.
func parse(text []byte) (Value, error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return Value{}, ErrEmpty
	case len(text) > maxValue:
		return Value{}, fmt.Errorf("it has more than %d bytes", maxValue)
	case text[0] != '{':
		return bare(string(text))
	}
	var a answer
	if json.Unmarshal(text, &a) != nil { // its error may have a part of the value
		return Value{}, errors.New(`it is not a JSON object with the texts "value" and "expires_at" (RFC 3339)`)
	}
	v, err := bare(a.Value)
	if err == nil && a.ExpiresAt != nil {
		v.Expires = *a.ExpiresAt
	}
	return v, err
}

func bare(text string) (Value, error) {
	switch {
	case text == "":
		return Value{}, ErrEmpty
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return Value{}, errors.New("it is not a text on one line")
	}
	return Value{Secret: worker.Secret(text)}, nil
}
