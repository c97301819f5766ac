package config

import (
	"context"
	"fmt"
	"strings"
)

// SecretKind says where the value of a [Secret] is.
type SecretKind string

// The kinds of secrets. The empty kind means that there is no secret.
const (
	SecretLiteral SecretKind = "literal" // in city.toml
	SecretEnv     SecretKind = "env"     // in an environment variable of the controller
	SecretFile    SecretKind = "file"    // in a file
	SecretCommand SecretKind = "command" // in the output of a shell command
	// SecretCredential is the value of a [credentials.<name>].
	SecretCredential SecretKind = "credential"
)

// Secret is a credential, or a reference to one. Printing it never shows the credential: as a
// string, in Go syntax, JSON and TOML it is the reference, or asterisks if the value itself is in
// city.toml (a literal).
type Secret struct {
	kind SecretKind
	text string // the reference, or the value of a literal
}

// Masked is the text that is shown instead of a credential.
const Masked = "********"

// NewSecret returns a secret of a kind. text is, depending on the kind, the name of the variable or
// credential, the path, the command line, or the credential itself.
func NewSecret(kind SecretKind, text string) Secret { return Secret{kind, text} }

// ParseSecret parses a secret that is written as a string: env:NAME, file:PATH, command:LINE or
// credential:NAME. Any other text is the credential itself.
func ParseSecret(text string) Secret {
	for _, kind := range []SecretKind{SecretEnv, SecretFile, SecretCommand, SecretCredential} {
		if rest, ok := strings.CutPrefix(text, string(kind)+":"); ok {
			return Secret{kind, rest}
		}
	}
	if text == "" {
		return Secret{}
	}
	return Secret{SecretLiteral, text}
}

// Kind returns where the value is; empty if there is no secret.
func (s Secret) Kind() SecretKind { return s.kind }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.kind == "" }

// Reference returns the name of the variable or credential, the path or the command line. It is
// empty if the credential itself is in city.toml.
func (s Secret) Reference() string {
	if s.kind == SecretLiteral {
		return ""
	}
	return s.text
}

// String returns the reference, for example "env:NAME", or asterisks if the credential itself is in
// city.toml.
func (s Secret) String() string {
	switch s.kind {
	case "":
		return ""
	case SecretLiteral:
		return Masked
	default:
		return string(s.kind) + ":" + s.text
	}
}

// GoString returns String(), so that %#v does not print the value.
func (s Secret) GoString() string { return s.String() }

// MarshalText returns String(), so that JSON and TOML do not contain the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SecretSource has the functions that read the values that secrets refer to. All except Credential
// are required.
type SecretSource struct {
	Env     func(name string) (string, bool)
	File    func(path string) ([]byte, error)
	Command func(ctx context.Context, line string) ([]byte, error)
	// Credential returns the current value of a named credential. Nil: there are no credentials.
	Credential func(ctx context.Context, name string) (string, error)
}

// Resolve returns the credential, without line ends at its end. If there is no secret, it returns
// "". A missing or empty value is an error. The error contains the reference and never the value.
func (s Secret) Resolve(ctx context.Context, from SecretSource) (string, error) {
	var data []byte
	var err error
	switch s.kind {
	case "":
		return "", nil
	case SecretLiteral:
		return s.text, nil
	case SecretEnv:
		value, _ := from.Env(s.text)
		data = []byte(value)
	case SecretFile:
		data, err = from.File(s.text)
	case SecretCommand:
		data, err = from.Command(ctx, s.text)
	case SecretCredential:
		if from.Credential == nil {
			return "", fmt.Errorf("credentials are not available here: %s", s)
		}
		var value string
		value, err = from.Credential(ctx, s.text)
		data = []byte(value)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the secret %s: %w", s, err)
	}
	value := strings.TrimRight(string(data), "\r\n")
	if value == "" {
		return "", fmt.Errorf("the secret %s is empty or not set", s)
	}
	return value, nil
}
