package config

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"gascity/runtime"
)

// Span is a part of a text, in bytes.
type Span struct{ From, To int }

// ErrHidden reports a text whose credentials cannot be separated from the rest.
var ErrHidden = errors.New("a credential in it cannot be separated from the rest")

// HiddenSpans returns the values in a city.toml that must not be shown, in order: those that
// [City.Values] masks, and what a comment assigns to the name of a credential. In a text that is not
// valid TOML it is the rest of each line that assigns to such a name; a value on several lines there is
// [ErrHidden].
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

// collect adds the strings of a value: all to scalars, and to hidden those that belong to a credential.
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

// isHidden reports whether an entry is the value of a credential. Sections and references are not.
func isHidden(e *entry) bool {
	switch e.name {
	case "worker_token_age", "credential", "credentials": // keys of gc that only sound like it
		return false
	case "url":
		return e.value.kind == stringKind && ParseSecret(e.value.text).Kind() == SecretLiteral && mayHoldCredential(e.value.text)
	case "api_key", "auth_token", "token":
		if e.value.kind == stringKind && ParseSecret(e.value.text).Kind() != SecretLiteral {
			return false
		}
	}
	return runtime.CredentialName(e.name)
}

// mayHoldCredential reports whether an address may hold a credential, as that of a webhook does: it has a user or more than a host.
func mayHoldCredential(address string) bool {
	_, host, _ := strings.Cut(address, "//")
	return strings.Contains(host, "@") || strings.Contains(strings.TrimRight(host, `/"' `), "/")
}

// isCredential reports whether a line of a file assigns a credential to a key; rest is what follows the equals sign.
func isCredential(key, rest string) bool {
	return runtime.CredentialName(key) || key == "url" && mayHoldCredential(rest)
}

// hiddenComments returns what the comments of a valid text assign to credentials.
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

// hiddenInLines returns what the lines of a text that is not valid assign to credentials.
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

// hiddenInLine returns the rest of a line after the name of a credential and an equals sign.
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

// lineEnd returns where the line at an offset ends, without its line end.
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
