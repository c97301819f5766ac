package exec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// metaFiles are the metadata of sessions of a session script that keeps none: a private file for each
// value. The zero value keeps them in memory. It is safe for concurrent use.
type metaFiles struct {
	// Dir is a private folder, made when it is needed. Empty: in memory.
	Dir string

	mu      sync.Mutex // guards the rest
	enabled bool
	memory  map[string]map[string]string // without Dir
}

// IsEnabled reports whether [metaFiles.Enable] was called: the script is known to keep nothing.
func (n *metaFiles) IsEnabled() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.enabled
}

// Enable remembers that the script keeps nothing.
func (n *metaFiles) Enable() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.enabled = true
}

func (n *metaFiles) file(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(n.Dir, name, hex.EncodeToString(sum[:]))
}

// Set keeps a value; a file has the old one or the new one, whenever it is read.
func (n *metaFiles) Set(name, key, value string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Dir == "" {
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

// Get returns a value, empty if there is none.
func (n *metaFiles) Get(name, key string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Dir == "" {
		return n.memory[name][key], nil
	}
	value, err := os.ReadFile(n.file(name, key))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(value), err
}

// Remove drops a value; that there is none is no error.
func (n *metaFiles) Remove(name, key string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.memory[name], key)
	if n.Dir == "" {
		return nil
	}
	err := os.Remove(n.file(name, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Clear drops the notes of a session that has ended.
func (n *metaFiles) Clear(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.memory, name)
	if n.Dir == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(n.Dir, name))
}
