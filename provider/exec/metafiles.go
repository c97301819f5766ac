package exec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"gascity/internal/fsutil"
)

// metaID identifies a value: by the name of the session and the key.
type metaID struct{ name, key string }

// metaFiles stores the metadata of sessions for a session script that does not store it: one
// private file for each value. The zero value stores it in memory. It is safe for concurrent use.
type metaFiles struct {
	// Dir is a private directory, created when needed. If it is empty, values are stored in memory.
	Dir string

	// enabled reports that the script stores no metadata.
	enabled atomic.Bool

	mu     sync.Mutex
	memory map[metaID]string // used if Dir is empty
}

// file returns the path of the file with the value of a key. Its name is a hash of the key, because a key may contain
// characters that file names cannot have.
func (n *metaFiles) file(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(n.Dir, name, hex.EncodeToString(sum[:]))
}

// Set stores a value. A concurrent reader of the file gets the old or the new value.
func (n *metaFiles) Set(name, key, value string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Dir == "" {
		if n.memory == nil {
			n.memory = map[metaID]string{}
		}
		n.memory[metaID{name, key}] = value
		return nil
	}
	path := n.file(name, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return fsutil.ReplaceFile(path, []byte(value))
}

// Get returns a value, or "" if there is none.
func (n *metaFiles) Get(name, key string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Dir == "" {
		return n.memory[metaID{name, key}], nil
	}
	value, err := os.ReadFile(n.file(name, key))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(value), err
}

// Remove deletes a value. It returns nil if there is none.
func (n *metaFiles) Remove(name, key string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Dir == "" {
		delete(n.memory, metaID{name, key})
		return nil
	}
	err := os.Remove(n.file(name, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Clear deletes the metadata of a session.
func (n *metaFiles) Clear(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Dir == "" {
		maps.DeleteFunc(n.memory, func(id metaID, _ string) bool { return id.name == name })
		return nil
	}
	return os.RemoveAll(filepath.Join(n.Dir, name))
}
