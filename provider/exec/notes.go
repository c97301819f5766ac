package exec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"gascity/internal/script"
	"gascity/runtime"
)

// metaToken is the key of the instance token.
const metaToken = "GC_INSTANCE_TOKEN"

const (
	maxKey   = 256
	maxValue = 64 << 10
)

// SetMeta keeps the contract of runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	ctx, cancel := p.bounded()
	defer cancel()
	if err := checkKey(key); err != nil {
		return &runtime.Error{Op: "set metadata of", Session: name, Err: err}
	}
	if len(value) > maxValue || !utf8.ValidString(value) {
		return &runtime.Error{Op: "set metadata of", Session: name, Err: fmt.Errorf("the value of %q is no UTF-8 text of at most %d bytes", key, maxValue)}
	}
	if err := p.there(ctx, "set metadata of", name); err != nil {
		return err
	}
	return p.setMeta(ctx, name, key, value)
}

// setMeta stores without a look whether the session is there.
func (p *Provider) setMeta(ctx context.Context, name, key, value string) error {
	if p.notes.inUse() {
		return p.notes.set(name, key, value)
	}
	_, err := p.call(ctx, request{op: script.OpSetMeta, name: name, args: []string{key}, stdin: []byte(value), verb: "set metadata of"})
	if isMissing(err) {
		p.notes.use()
		return p.notes.set(name, key, value)
	}
	return err
}

// GetMeta keeps the contract of runtime.MetaStore.
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
	return "", p.there(ctx, "read metadata of", name)
}

func (p *Provider) getMeta(ctx context.Context, name, key string) (string, error) {
	if p.notes.inUse() {
		return p.notes.get(name, key)
	}
	r, err := p.call(ctx, request{op: script.OpGetMeta, name: name, args: []string{key}, verb: "read metadata of"})
	if err != nil {
		return "", err
	}
	if r.missing {
		return p.notes.get(name, key)
	}
	return strings.TrimSuffix(string(r.out), "\n"), nil
}

// RemoveMeta keeps the contract of runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	ctx, cancel := p.bounded()
	defer cancel()
	if err := checkKey(key); err != nil {
		return &runtime.Error{Op: "remove metadata of", Session: name, Err: err}
	}
	if err := p.there(ctx, "remove metadata of", name); err != nil {
		return err
	}
	if p.notes.inUse() {
		return p.notes.remove(name, key)
	}
	r, err := p.call(ctx, request{op: script.OpRemoveMeta, name: name, args: []string{key}, verb: "remove metadata of"})
	if err == nil && r.missing {
		return p.notes.remove(name, key)
	}
	return err
}

// there returns an error matching [runtime.ErrSessionNotFound] for a session that
// certainly does not run.
func (p *Provider) there(ctx context.Context, verb, name string) error {
	if runtime.ValidateName(name) == nil {
		if p.caps.Has(script.CapObserve) {
			obs, err := p.Observe(ctx, name)
			if err != nil || obs.Session != runtime.Dead {
				return nil //nolint:nilerr // the operation itself tells
			}
		} else if live, err := p.alive(ctx, name); err != nil || live != runtime.Dead {
			return nil //nolint:nilerr // the operation itself tells
		}
	}
	return &runtime.Error{Op: verb, Session: name, Err: runtime.ErrSessionNotFound}
}

func checkKey(key string) error {
	if key == "" || len(key) > maxKey || strings.ContainsAny(key, "\x00/\n") {
		return fmt.Errorf("%.40q is no key: it has 1 to %d bytes without NUL, / and newline", key, maxKey)
	}
	return nil
}

// notes keeps metadata for a script that cannot: one private file for each value.
type notes struct {
	dir string

	mu     sync.Mutex // guards the rest
	used   bool
	memory map[string]map[string]string // without dir
}

func (n *notes) inUse() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.used
}

func (n *notes) use() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used = true
}

func (n *notes) file(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(n.dir, name, hex.EncodeToString(sum[:]))
}

func (n *notes) set(name, key, value string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dir == "" {
		if n.memory == nil {
			n.memory = map[string]map[string]string{}
		}
		if n.memory[name] == nil {
			n.memory[name] = map[string]string{}
		}
		n.memory[name][key] = value
		return nil
	}
	path := n.file(name, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(value), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

func (n *notes) get(name, key string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dir == "" {
		return n.memory[name][key], nil
	}
	value, err := os.ReadFile(n.file(name, key))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(value), err
}

func (n *notes) remove(name, key string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.memory[name], key)
	if n.dir == "" {
		return nil
	}
	err := os.Remove(n.file(name, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clear drops the notes of a session that has ended.
func (n *notes) clear(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.memory, name)
	if n.dir == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(n.dir, name))
}
