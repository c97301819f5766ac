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
	Expires time.Time // zero: no expiry is known
}

// Source reads a credential. Exactly one of Env, File and Command is set.
type Source struct {
	Env     string // name of an environment variable
	File    string
	Command string        // a shell command that prints the credential; killed with its child processes after Timeout
	Life    time.Duration // how long a credential without an expiry time is valid, for a file from its last change; zero: for ever
	Timeout time.Duration // time limit of the command; zero: 30 s
}

// Environment is the environment in which sources are read.
type Environment struct {
	Lookup  func(name string) (string, bool)
	Environ []string // environment of commands
	Dir     string   // working directory of commands
	Locks   Locks    // locks of commands; the zero value locks nothing
	Now     func() time.Time
}

const maxValue = 64 << 10

// ErrEmpty means that the source contains no credential.
var ErrEmpty = errors.New("it is empty or does not exist")

// answer is the JSON form of a credential in a file or in the output of a command.
type answer struct {
	Value     string     `json:"value"`
	ExpiresAt *time.Time `json:"expires_at"`
}

// Read reads the credential. The error contains nothing of the text that was read.
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
		return Value{}, fmt.Errorf("it expired at %s", v.Expires.UTC().Format(time.RFC3339))
	}
	return v, nil
}

// readFile returns the content of a file with a credential, and when the file was last changed.
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

// parse parses {"value": ..., "expires_at": ...}, or a value on one line.
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

// bare returns the credential with the given text. It returns an error if the text is empty or not
// exactly one line.
func bare(text string) (Value, error) {
	switch {
	case text == "":
		return Value{}, ErrEmpty
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return Value{}, errors.New("it is not a text on one line")
	}
	return Value{Secret: worker.Secret(text)}, nil
}
