// Package redact takes the values of credentials out of what is kept, logged or
// shown.
package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gascity/internal/config"
	"gascity/runtime"
)

const (
	shortestSecret = 8   // shorter values are words that stand everywhere
	secretsKept    = 512 // values; the ones that were hidden longest ago are forgotten
)

// Redactor knows the values of credentials and takes them out of what is kept or
// shown. The zero value knows none. Safe for concurrent use.
type Redactor struct {
	mu     sync.RWMutex
	values []string // the latest last; each once
	sorted []string // the longest first; it is replaced, never changed
}

// Hide adds a value that must never be kept or shown.
func (r *Redactor) Hide(value string) {
	if len(value) < shortestSecret {
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
// Nobody changes the result.
func (r *Redactor) hidden() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sorted
}

// Text returns s without the hidden values, not even one that a terminal has
// wrapped.
func (r *Redactor) Text(s string) string {
	if len(s) < shortestSecret {
		return s
	}
	return conceal(s, r.hidden())
}

func conceal(s string, values []string) string {
	for _, value := range values {
		if strings.Contains(s, value) {
			s = strings.ReplaceAll(s, value, config.Masked)
		}
	}
	if strings.Contains(s, "\n") {
		s = concealWrapped(s, values)
	}
	return s
}

// concealWrapped takes out values whose lines are broken elsewhere than in the
// value.
func concealWrapped(s string, values []string) string {
	flat, at := unwrap(s)
	covered := make([]bool, len(s))
	found := false
	for _, value := range values {
		value, _ = unwrap(value)
		for from := 0; len(value) >= shortestSecret; {
			i := strings.Index(flat[from:], value)
			if i < 0 {
				break
			}
			first, last := at[from+i], at[from+i+len(value)-1]
			for ; first <= last; first++ {
				covered[first], found = true, true
			}
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

// Texts is Text for many texts at once, in place.
func (r *Redactor) Texts(texts ...*string) {
	values := r.hidden()
	for _, s := range texts {
		*s = conceal(*s, values)
	}
}

// Data returns a map without the hidden values: those of names like credentials'
// are hidden as a whole.
func (r *Redactor) Data(m map[string]string) map[string]string {
	out := maps.Clone(m)
	for name, value := range out {
		if out[name] = r.Text(value); value != "" && runtime.CredentialName(name) {
			out[name] = config.Masked
		}
	}
	return out
}

// Value returns a copy of v in which no text holds a hidden value: fields,
// elements and what pointers lead to.
func Value[T any](r *Redactor, v T) T {
	values := r.hidden()
	if len(values) == 0 {
		return v
	}
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
	case reflect.Slice, reflect.Map, reflect.Pointer:
		if !v.IsNil() {
			v.Set(redactedCopy(v, values))
		}
	default:
	}
}

// redactedCopy is a copy of what a slice, map or pointer refers to.
func redactedCopy(v reflect.Value, values []string) reflect.Value {
	element := func(of reflect.Value) reflect.Value {
		fresh := reflect.New(v.Type().Elem())
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
			fresh.SetMapIndex(key, element(one).Elem())
		}
		return fresh
	default:
		return element(v.Elem())
	}
}

// Writer writes without the hidden values.
type Writer struct {
	*Redactor

	To io.Writer
}

// Write writes b without the hidden values.
func (w Writer) Write(b []byte) (int, error) {
	clean := b
	for _, value := range w.hidden() {
		if bytes.Contains(clean, []byte(value)) {
			clean = bytes.ReplaceAll(clean, []byte(value), []byte(config.Masked))
		}
	}
	if _, err := w.To.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// NewLogger returns the controller's logger, which hides credentials by name and
// by value.
func NewLogger(to Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if runtime.CredentialName(a.Key) {
				a.Value = slog.StringValue(config.Masked)
			}
			return a
		},
	}))
}
