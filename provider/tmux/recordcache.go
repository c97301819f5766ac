package tmux

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"gascity/internal/statedir"
)

// recordCache caches the records that this process has read. A cached record is valid as long as its file has not
// changed. Commands that use it have the fence of its instance as a condition, so an outdated record has no effect.
// The records are shared and must not be changed.
type recordCache struct {
	mu   sync.Mutex
	read map[statedir.Folder]cachedRecord
}

type cachedRecord struct {
	file   fs.FileInfo
	record *record
}

// load returns the record as [readRecord] does, from the cache if the file has not changed. The caller must not
// change the record.
func (c *recordCache) load(dir statedir.Folder) (*record, error) {
	file, err := os.Stat(dir.Record())
	if errors.Is(err, fs.ErrNotExist) {
		c.drop(dir)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	known, ok := c.read[dir]
	c.mu.Unlock()
	if ok && os.SameFile(known.file, file) && known.file.ModTime().Equal(file.ModTime()) && known.file.Size() == file.Size() {
		return known.record, nil
	}
	r, err := readRecord(dir)
	if err != nil || r == nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = map[statedir.Folder]cachedRecord{}
	}
	c.read[dir] = cachedRecord{file, r}
	return r, nil
}

// drop removes a record from the cache.
func (c *recordCache) drop(dir statedir.Folder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.read, dir)
}
