package exec

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

const (
	maxKey   = 256
	maxValue = 64 << 10
)

// SetMeta implements runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	ctx, cancel := p.bounded()
	defer cancel()
	if err := checkKey(key); err != nil {
		return &runtime.Error{Op: "set metadata of", Session: name, Err: err}
	}
	if len(value) > maxValue || !utf8.ValidString(value) {
		return &runtime.Error{Op: "set metadata of", Session: name, Err: fmt.Errorf("the value of %q must be UTF-8 text of at most %d bytes", key, maxValue)}
	}
	if err := p.checkExists(ctx, "set metadata of", name); err != nil {
		return err
	}
	return p.setMeta(ctx, name, key, value)
}

// setMeta stores a value without checking that the session exists.
func (p *Provider) setMeta(ctx context.Context, name, key, value string) error {
	if p.notes.enabled.Load() {
		return p.notes.Set(name, key, value)
	}
	_, err := p.call(ctx, request{op: script.OpSetMeta, name: name, args: []string{key}, stdin: []byte(value), verb: "set metadata of"})
	if isMissing(err) {
		p.notes.enabled.Store(true)
		return p.notes.Set(name, key, value)
	}
	return err
}

// GetMeta implements runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	ctx, cancel := p.bounded()
	defer cancel()
	if runtime.ValidateName(name) != nil {
		return "", &runtime.Error{Op: "read metadata of", Session: name, Err: runtime.ErrSessionNotFound}
	}
	if err := checkKey(key); err != nil {
		return "", &runtime.Error{Op: "read metadata of", Session: name, Err: err}
	}
	value, err := p.getMeta(ctx, name, key)
	if err != nil || value != "" {
		return value, err
	}
	return "", p.checkExists(ctx, "read metadata of", name)
}

// getMeta returns a metadata value of a session, from the script, or from gc's own files if the script cannot store
// metadata. It is empty if the key is not set.
func (p *Provider) getMeta(ctx context.Context, name, key string) (string, error) {
	if p.notes.enabled.Load() {
		return p.notes.Get(name, key)
	}
	r, err := p.call(ctx, request{op: script.OpGetMeta, name: name, args: []string{key}, verb: "read metadata of"})
	if err != nil {
		return "", err
	}
	if r.missing {
		return p.notes.Get(name, key)
	}
	return strings.TrimSuffix(string(r.out), "\n"), nil
}

// RemoveMeta implements runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	ctx, cancel := p.bounded()
	defer cancel()
	if err := checkKey(key); err != nil {
		return &runtime.Error{Op: "remove metadata of", Session: name, Err: err}
	}
	if err := p.checkExists(ctx, "remove metadata of", name); err != nil {
		return err
	}
	if p.notes.enabled.Load() {
		return p.notes.Remove(name, key)
	}
	r, err := p.call(ctx, request{op: script.OpRemoveMeta, name: name, args: []string{key}, verb: "remove metadata of"})
	if err == nil && r.missing {
		return p.notes.Remove(name, key)
	}
	return err
}

// checkExists returns an error that matches [runtime.ErrSessionNotFound] if the session certainly
// does not run.
func (p *Provider) checkExists(ctx context.Context, verb, name string) error {
	if runtime.ValidateName(name) == nil {
		if p.listings.recent(name) {
			return nil
		}
		if obs, err := p.find(ctx, name); err != nil || obs.Session != runtime.Dead {
			return nil //nolint:nilerr // the following operation reports the error
		}
	}
	return &runtime.Error{Op: verb, Session: name, Err: runtime.ErrSessionNotFound}
}

// checkKey returns an error if a key of metadata is not valid.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey || strings.ContainsAny(key, "\x00/\n") {
		return fmt.Errorf("%.40q is not a valid key: a key has 1 to %d bytes, without NUL, slash and newline", key, maxKey)
	}
	return nil
}
