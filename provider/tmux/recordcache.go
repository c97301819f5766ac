package tmux

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"gascity/internal/statedir"
)

// recordCache are the records that this process has read. Each is believed as long as its file
// is the same one; who acts on it acts under the fence of its instance, so that a record
// that is over does nothing. The records are shared: they must not be changed.
type recordCache struct {
	mu   sync.Mutex
	read map[statedir.Folder]cachedRecord
}

type cachedRecord struct {
	file   fs.FileInfo
	record *record
}

// load is [readRecord] for those who only read the record.
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

func (c *recordCache) drop(dir statedir.Folder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.read, dir)
}
