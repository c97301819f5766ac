package config

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"gascity/runtime"
)

// Span is a part of a text, as offsets in bytes. To is the offset after its last byte.
type Span struct{ From, To int }

// ErrHidden means that gc does not know where a credential in a text ends, so the text must not be shown.
var ErrHidden = errors.New("a credential in it cannot be separated from the rest")

// HiddenSpans returns the parts of a city.toml that must not be shown, in order: the credentials, also those in a
// comment such as "# token = ...". If the text is not valid TOML, a part is everything in a line behind the name of a
// credential and an equals sign. If such a value has several lines, the error is [ErrHidden].
func HiddenSpans(source []byte) ([]Span, error) {
	root, err := parseTree("", source)
	if err != nil {
		return hiddenInLines(source)
	}
	var hidden, scalars []Span
	root.collect(false, &hidden, &scalars)
	slices.SortFunc(scalars, func(a, b Span) int { return a.From - b.From })
	hidden = append(hidden, hiddenComments(source, scalars)...)
	slices.SortFunc(hidden, func(a, b Span) int { return a.From - b.From })
	return hidden, nil
}

// collect adds the positions of all strings in a value to scalars, and those of credentials also to hidden. secret is true if the
// value itself belongs to a credential.
func (n *node) collect(secret bool, hidden, scalars *[]Span) {
	if n.kind == stringKind {
		span := Span{n.at.offset, n.at.offset + n.at.length}
		*scalars = append(*scalars, span)
		if secret && n.text != "" {
			*hidden = append(*hidden, span)
		}
	}
	for _, item := range n.items {
		item.collect(secret && item.kind != tableKind, hidden, scalars)
	}
	for _, e := range n.entries {
		e.value.collect(isHidden(e), hidden, scalars)
	}
}

// isHidden reports whether a key of city.toml has a credential as its value. A table and a reference such as env:NAME are no
// credentials.
func isHidden(e *entry) bool {
	switch e.name {
	case "worker_token_age", "credential", "credentials": // keys of gc that only sound like it
		return false
	case "command":
		return e.value.kind == stringKind && len(CommandCredentials(e.value.text)) > 0
	case "url":
		return e.value.kind == stringKind && ParseSecret(e.value.text).Kind() == SecretLiteral && mayHoldCredential(e.value.text)
	case "api_key", "auth_token", "token":
		if e.value.kind == stringKind && ParseSecret(e.value.text).Kind() != SecretLiteral {
			return false
		}
	}
	return runtime.CredentialName(e.name)
}

// mayHoldCredential reports whether an address may contain a credential: it has a user name or a path. The path in the address of
// a webhook is often secret.
func mayHoldCredential(address string) bool {
	_, host, _ := strings.Cut(address, "//")
	return strings.Contains(host, "@") || strings.Contains(strings.TrimRight(host, `/"' `), "/")
}

// isCredential reports whether a line of a file assigns a credential to a key. rest is the text after the equals sign.
func isCredential(key, rest string) bool {
	return runtime.CredentialName(key) || key == "url" && mayHoldCredential(rest) || key == "command" && len(CommandCredentials(rest)) > 0
}

// hiddenComments returns what the comments of a valid city.toml assign to the names of credentials. scalars are the positions of
// its strings, in which a # begins no comment.
func hiddenComments(source []byte, scalars []Span) []Span {
	var hidden []Span
	for at := 0; at < len(source); at++ {
		if len(scalars) > 0 && at >= scalars[0].From {
			at, scalars = max(at, scalars[0].To-1), scalars[1:]
			continue
		}
		if source[at] != '#' {
			continue
		}
		end := lineEnd(source, at)
		hidden = append(hidden, hiddenInLine(source, Span{at, end})...)
		at = end
	}
	return hidden
}

// hiddenInLines returns what the lines of a text that is not valid TOML assign to the names of credentials.
func hiddenInLines(source []byte) ([]Span, error) {
	var hidden []Span
	for at := 0; at < len(source); at++ {
		end := lineEnd(source, at)
		for _, span := range hiddenInLine(source, Span{at, end}) {
			if bytes.ContainsAny(source[span.From:span.From+1], "[{") || bytes.HasPrefix(source[span.From:], []byte(`"""`)) || bytes.HasPrefix(source[span.From:], []byte("'''")) {
				return nil, ErrHidden
			}
			hidden = append(hidden, span)
		}
		at = end
	}
	return hidden, nil
}

// hiddenInLine returns the part of a line after the name of a credential and an equals sign; nil if there is none.
func hiddenInLine(source []byte, line Span) []Span {
	for from := line.From; ; {
		m := assignment.FindSubmatchIndex(source[from:line.To])
		if m == nil {
			return nil
		}
		if isCredential(string(source[from+m[2]:from+m[3]]), string(source[from+m[6]:line.To])) {
			return []Span{{from + m[6], line.To}}
		}
		from += m[6]
	}
}

// lineEnd returns the offset at which the line around an offset ends, before its line end.
func lineEnd(source []byte, at int) int {
	end := len(source)
	if n := bytes.IndexByte(source[at:], '\n'); n >= 0 {
		end = at + n
	}
	if end > at && source[end-1] == '\r' {
		end--
	}
	return end
}
