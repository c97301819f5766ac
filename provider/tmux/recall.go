package tmux

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"gascity/internal/statedir"
)

// recalls are the records that this process has read. Each is believed as long as its file
// is the same one; who acts on it acts under the fence of its instance, so that a record
// that is over does nothing. The records are shared: they must not be changed.
type recalls struct {
	mu   sync.Mutex
	read map[statedir.Folder]recalled
}

type recalled struct {
	file   fs.FileInfo
	record *record
}

// recall is [readRecord] for those who only read the record.
func (c *recalls) recall(dir statedir.Folder) (*record, error) {
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
		c.read = map[statedir.Folder]recalled{}
	}
	c.read[dir] = recalled{file, r}
	return r, nil
}

func (c *recalls) drop(dir statedir.Folder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.read, dir)
}
