package rawlog

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Query says what to read of a log.
type Query struct {
	Since  time.Time // output from then on, to the second; zero is all that is kept
	Until  time.Time // output up to then, to the second; zero is all that there is. It excludes Follow
	Follow bool      // go on with what is printed from now on, until ctx ends
}

// Copy writes what the query asks for of the log at path to w, oldest first. A log
// that does not exist is [fs.ErrNotExist] unless it is followed. The end of ctx
// while following is no error.
func Copy(ctx context.Context, w io.Writer, path string, q Query) error {
	var changes *fsnotify.Watcher
	if q.Follow {
		var err error
		if changes, err = fsnotify.NewWatcher(); err != nil {
			return err
		}
		defer changes.Close()
		if err := changes.Add(filepath.Dir(path)); err != nil {
			return err
		}
	}
	former := copyFile(ctx, w, path+oldSuffix, q)
	if former != nil && !errors.Is(former, fs.ErrNotExist) {
		return former
	}
	t := &tail{path: path, out: w}
	defer t.close()
	err := t.begin(q.Since, q.Until)
	if errors.Is(err, fs.ErrNotExist) && (q.Follow || former == nil) {
		err = nil
	}
	if err != nil || !q.Follow {
		return err
	}
	return t.follow(ctx, changes)
}

func copyFile(ctx context.Context, w io.Writer, path string, q Query) error {
	t := &tail{path: path, out: w}
	defer t.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.begin(q.Since, q.Until)
}

// tail reads one log file as it grows and is replaced.
type tail struct {
	path string
	out  io.Writer
	file *os.File
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
	}
	t.file = nil
}

// begin writes what is there of the time between two moments.
func (t *tail) begin(since, until time.Time) error {
	file, err := os.Open(t.path)
	if err != nil {
		return err
	}
	t.file = file
	index := readIndex(t.path + indexSuffix)
	from := index.since(since)
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	if to, ends := index.until(until); ends {
		_, err := io.CopyN(t.out, file, max(0, to-from))
		if errors.Is(err, io.EOF) {
			err = nil // the log was cut meanwhile
		}
		return err
	}
	return t.drain()
}

func (t *tail) drain() error {
	_, err := io.Copy(t.out, t.file)
	return err
}

// follow writes what is added until ctx ends.
func (t *tail) follow(ctx context.Context, changes *fsnotify.Watcher) error {
	for {
		select {
		case e := <-changes.Events:
			if e.Name != t.path {
				continue
			}
			if err := t.step(); err != nil {
				return err
			}
		case _, ok := <-changes.Errors: // events were lost: look
			if !ok {
				return nil
			}
			if err := t.step(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// step writes what was added, and goes over to the new file after a rotation.
func (t *tail) step() error {
	if t.file != nil {
		if err := t.drain(); err != nil {
			return err
		}
		if t.current() {
			return nil
		}
		t.close()
	}
	err := t.begin(time.Time{}, time.Time{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // between the two names
	}
	return err
}

// current reports whether the open file is still the one at path.
func (t *tail) current() bool {
	mine, err := t.file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(t.path)
	return err != nil || os.SameFile(mine, now)
}

// index is where the output of each second begins in a log.
type index struct {
	records []byte
	size    int64 // of the log
}

// readIndex reads the index at path. One that is missing has no records.
func readIndex(path string) index {
	records, err := os.ReadFile(path)
	if err != nil {
		return index{}
	}
	x := index{records: records}
	if info, err := os.Stat(strings.TrimSuffix(path, indexSuffix)); err == nil {
		x.size = info.Size()
	}
	return x
}

func (x index) len() int { return len(x.records) / recordSize }

// at returns a record: the time in unix milliseconds, and the offset.
func (x index) at(i int) (moment, offset int64) {
	record := x.records[i*recordSize:]
	return int64(binary.BigEndian.Uint64(record)), int64(binary.BigEndian.Uint64(record[recordSize/2:]))
}

// after returns the first record that is after a moment.
func (x index) after(moment time.Time) int {
	return sort.Search(x.len(), func(i int) bool { at, _ := x.at(i); return at > moment.UnixMilli() })
}

// since returns where the output since the moment begins: at the last record
// that is not after it.
func (x index) since(moment time.Time) int64 {
	later := x.after(moment)
	if moment.IsZero() || later == 0 {
		return 0
	}
	began, offset := x.at(later - 1)
	if moment.Sub(time.UnixMilli(began)) <= indexStep {
		return offset
	}
	if later == x.len() {
		return x.size // output of the last indexed second may go on beyond it
	}
	_, offset = x.at(later)
	return offset
}

// until returns where the output up to the moment ends, if that is not the end of
// the log.
func (x index) until(moment time.Time) (int64, bool) {
	later := x.after(moment)
	if moment.IsZero() || later == x.len() {
		return 0, false
	}
	_, offset := x.at(later)
	return offset, true
}
