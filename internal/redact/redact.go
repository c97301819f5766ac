// Package redact masks secrets in what is stored, logged or shown: the values of credentials
// that the city knows, and every token that gc itself makes, which is recognized by its form
// for as long as anybody may quote it.
//
// It is applied where a value is encoded, not where it is made: by the store, by the loggers
// and by the servers of both APIs. What a sender writes for an agent is not masked: the content
// of a prompt, the files and metadata that go with it, the condition and the text of a wait, and
// everything that an agent's own worker reads. Terminals that are attached and the recorded
// output on disk are exact, too.
package redact

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gascity/internal/agent"
	"gascity/internal/config"
	"gascity/runtime"
)

const (
	shortestSecret = 8   // shorter values are words that stand everywhere
	secretsKept    = 512 // values; the ones that were hidden longest ago are forgotten
)

// Redactor knows the values of credentials and takes them out of what is kept or
// shown. The zero value and nil know none, and mask tokens of gc alone. Safe for concurrent use.
type Redactor struct {
	mu     sync.RWMutex
	values []string // the latest last; each once
	sorted []string // the longest first; it is replaced, never changed
}

// Hide adds a value that must never be kept or shown.
func (r *Redactor) Hide(value string) {
	if len(value) < shortestSecret || token.FindString(value) == value {
		return
	}
	forms := []string{value}
	if quoted, err := json.Marshal(value); err == nil && string(quoted[1:len(quoted)-1]) != value {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	values := slices.DeleteFunc(slices.Clone(r.values), func(v string) bool { return slices.Contains(forms, v) })
	values = append(values, forms...)
	r.values = values[max(0, len(values)-secretsKept):]
	r.sorted = slices.Clone(r.values)
	slices.SortStableFunc(r.sorted, func(a, b string) int { return len(b) - len(a) })
}

// HideEnvironment adds the values of all variables that are called like
// credentials.
func (r *Redactor) HideEnvironment(env []string) {
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && runtime.CredentialName(name) {
			r.Hide(value)
		}
	}
}

// HideVariables is HideEnvironment for variables by name.
func (r *Redactor) HideVariables(env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if runtime.CredentialName(name) {
			r.Hide(env[name])
		}
	}
}

// hidden returns the values, the longest first: one may be a part of another.
// The result must not be changed.
func (r *Redactor) hidden() []string {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sorted
}

// Text returns s without the hidden values, not even one that a terminal has
// wrapped.
func (r *Redactor) Text(s string) string {
	return conceal(s, r.hidden())
}

var (
	// token matches a token of gc, or a beginning of one that is too long to stand there by chance.
	token = regexp.MustCompile(agent.InstanceTokenPrefix[:2] + `(?:[io]_[A-Z2-7]{8,26}|w_[A-Za-z0-9_-]{20,43})`)
	// wholeToken matches a token without what follows it.
	wholeToken = regexp.MustCompile(agent.InstanceTokenPrefix[:2] + `(?:[io]_[A-Z2-7]{26}|w_[A-Za-z0-9_-]{43})`)
)

// tokenBegun matches the end of a text that may be the beginning of a token.
var tokenBegun = regexp.MustCompile(`g(?:c(?:[iow](?:_[A-Za-z0-9_-]{0,42})?)?)?$`)

// tokenMark is a part of every token.
const tokenMark = "_"

func conceal(s string, values []string) string {
	if len(s) < shortestSecret {
		return s
	}
	for _, value := range values {
		if strings.Contains(s, value) {
			s = strings.ReplaceAll(s, value, config.Masked)
		}
	}
	if strings.Contains(s, "\n") {
		s = concealWrapped(s, values)
	}
	if strings.Contains(s, tokenMark) {
		s = token.ReplaceAllLiteralString(s, config.Masked)
	}
	return s
}

// concealWrapped takes out values whose lines are broken elsewhere than in the
// value.
func concealWrapped(s string, values []string) string {
	flat, at := unwrap(s)
	covered := make([]bool, len(s))
	found := false
	cover := func(from, to int) {
		for i := at[from]; i <= at[to-1]; i++ {
			covered[i], found = true, true
		}
	}
	if strings.Contains(flat, tokenMark) {
		for _, m := range wholeToken.FindAllStringIndex(flat, -1) {
			cover(m[0], m[1])
		}
	}
	for _, value := range values {
		value, _ = unwrap(value)
		for from := 0; len(value) >= shortestSecret; {
			i := strings.Index(flat[from:], value)
			if i < 0 {
				break
			}
			cover(from+i, from+i+len(value))
			from += i + len(value)
		}
	}
	if !found {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		switch {
		case !covered[i]:
			b.WriteByte(s[i])
		case i == 0 || !covered[i-1]:
			b.WriteString(config.Masked)
		}
	}
	return b.String()
}

// unwrap returns s without the ends of its lines, and where each byte was.
func unwrap(s string) (flat string, at []int) {
	b := make([]byte, 0, len(s))
	at = make([]int, 0, len(s))
	for i := range len(s) {
		if s[i] != '\n' && s[i] != '\r' {
			b, at = append(b, s[i]), append(at, i)
		}
	}
	return string(b), at
}

// Data returns a map without the hidden values: those of names like credentials'
// are hidden as a whole, unless r is nil.
func (r *Redactor) Data(m map[string]string) map[string]string {
	out := maps.Clone(m)
	for name, value := range out {
		if out[name] = r.Text(value); r != nil && value != "" && runtime.CredentialName(name) {
			out[name] = config.Masked
		}
	}
	return out
}

// Value returns a copy of v in which no text holds a hidden value: fields,
// elements and what pointers lead to.
func Value[T any](r *Redactor, v T) T {
	values := r.hidden()
	out := reflect.ValueOf(&v).Elem()
	redactValue(out, values)
	return v
}

// redactValue changes v in place, and what it refers to by copies.
func redactValue(v reflect.Value, values []string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(conceal(v.String(), values))
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				redactValue(field, values)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			redactValue(v.Index(i), values)
		}
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			v.Set(redactedCopy(v, values))
		}
	default:
	}
}

// redactedCopy returns a copy of what a slice, map or pointer refers to.
func redactedCopy(v reflect.Value, values []string) reflect.Value {
	element := func(of reflect.Value) reflect.Value {
		fresh := reflect.New(of.Type())
		fresh.Elem().Set(of)
		redactValue(fresh.Elem(), values)
		return fresh
	}
	switch v.Kind() {
	case reflect.Slice:
		fresh := reflect.MakeSlice(v.Type(), 0, v.Len())
		for _, one := range v.Seq2() {
			fresh = reflect.Append(fresh, element(one).Elem())
		}
		return fresh
	case reflect.Map:
		fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, one := range v.Seq2() {
			fresh.SetMapIndex(element(key).Elem(), element(one).Elem())
		}
		return fresh
	case reflect.Interface:
		return element(v.Elem()).Elem()
	default:
		return element(v.Elem())
	}
}
