package statedir

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// Cache stores what was read from the records of sessions. An entry is valid as long as the session's record file has not
// changed. The zero value is ready to use. It is safe for concurrent use.
type Cache[T any] struct {
	mu   sync.Mutex
	read map[Folder]cached[T]
}

type cached[T any] struct {
	file  fs.FileInfo
	value *T
}

// Load returns the result of read, from the cache if the record in the folder has not changed. It returns nil if there is no
// record. The value is shared: the caller must not change it.
func (c *Cache[T]) Load(dir Folder, read func(Folder) (*T, error)) (*T, error) {
	file, err := os.Stat(dir.Record())
	if errors.Is(err, fs.ErrNotExist) {
		c.Drop(dir)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	known, ok := c.read[dir]
	c.mu.Unlock()
	if ok && os.SameFile(known.file, file) && known.file.ModTime().Equal(file.ModTime()) && known.file.Size() == file.Size() {
		return known.value, nil
	}
	value, err := read(dir)
	if err != nil || value == nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = map[Folder]cached[T]{}
	}
	c.read[dir] = cached[T]{file, value}
	return value, nil
}

// Drop removes the entry of a folder.
func (c *Cache[T]) Drop(dir Folder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.read, dir)
}
