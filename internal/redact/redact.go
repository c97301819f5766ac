// Package redact masks secrets in what is stored, logged or shown: the values of credentials that the city knows, and all
// tokens that gc makes. Tokens are recognized by their form.
//
// Values are masked where they are encoded: by the store, by the loggers and by the servers of both APIs. What a sender writes
// for an agent is not masked: the content of a prompt, its files and metadata, the condition and the text of a wait, and
// everything that an agent's own worker reads. Attached terminals and the recorded output on disk are not masked either.
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
	shortestSecret = 8   // shorter values would match ordinary words
	secretsKept    = 512 // maximum number of values; the oldest ones are dropped
)

// Redactor masks the values of credentials and the tokens of gc. The zero value and nil have no values and mask only tokens. It
// is safe for concurrent use.
type Redactor struct {
	mu     sync.RWMutex
	values []string // the latest last; no duplicates
	sorted []string // the longest first; replaced as a whole, never changed
}

// Hide adds a value that must be masked. It ignores values shorter than 8 bytes.
func (r *Redactor) Hide(value string) {
	if len(value) < shortestSecret || token().FindString(value) == value {
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

// HideEnvironment adds the values of all variables in env ("K=V") whose names are like those of credentials.
func (r *Redactor) HideEnvironment(env []string) {
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && runtime.CredentialName(name) {
			r.Hide(value)
		}
	}
}

// HideVariables is HideEnvironment for a map of variables.
func (r *Redactor) HideVariables(env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if runtime.CredentialName(name) {
			r.Hide(env[name])
		}
	}
}

// hidden returns the values, the longest first, because one value may be a part of another. The caller must not change the
// result.
func (r *Redactor) hidden() []string {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sorted
}

// Text returns s with hidden values and tokens masked, including values that a terminal has wrapped.
func (r *Redactor) Text(s string) string {
	return conceal(s, r.hidden())
}

// The patterns are compiled at the first use, because most commands do not need them.
var (
	// token matches a token of gc, or the beginning of one that is too long to be there by chance.
	token = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(agent.InstanceTokenPrefix[:2] + `(?:[io]_[A-Z2-7]{8,26}|w_[A-Za-z0-9_-]{20,43})`)
	})
	// wholeToken matches a complete token without the text after it.
	wholeToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(agent.InstanceTokenPrefix[:2] + `(?:[io]_[A-Z2-7]{26}|w_[A-Za-z0-9_-]{43})`)
	})
	// tokenBegun matches the end of a text if it may be the beginning of a token.
	tokenBegun = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`g(?:c(?:[iow](?:_[A-Za-z0-9_-]{0,42})?)?)?$`)
	})
)

// tokenMark is a text that every token contains.
const tokenMark = "_"

// conceal returns s with all values and tokens masked.
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
		s = token().ReplaceAllLiteralString(s, config.Masked)
	}
	return s
}

// concealWrapped masks values and tokens that contain line ends which are not part of them.
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
		for _, m := range wholeToken().FindAllStringIndex(flat, -1) {
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

// unwrap returns s without line ends, and the index in s of each remaining byte.
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

// Data returns a copy of m with hidden values masked. If r is not nil, values whose names are like those of credentials are
// masked as a whole.
func (r *Redactor) Data(m map[string]string) map[string]string {
	out := maps.Clone(m)
	for name, value := range out {
		if out[name] = r.Text(value); r != nil && value != "" && runtime.CredentialName(name) {
			out[name] = config.Masked
		}
	}
	return out
}

// Value returns a copy of v with hidden values masked in all strings: in fields, in elements and behind pointers.
func Value[T any](r *Redactor, v T) T {
	values := r.hidden()
	out := reflect.ValueOf(&v).Elem()
	redactValue(out, values)
	return v
}

// redactValue masks v in place. What v refers to is copied first.
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

// redactedCopy returns a masked copy of a slice, map, pointer or interface value.
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
