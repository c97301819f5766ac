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
	"time"

	"github.com/fsnotify/fsnotify"
)

// Query says what to read of a log.
type Query struct {
	Since  time.Time // output from then on, to the second; zero is all that is kept
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
	former := copyFile(ctx, w, path+oldSuffix, q.Since)
	if former != nil && !errors.Is(former, fs.ErrNotExist) {
		return former
	}
	t := &tail{path: path, out: w}
	defer t.close()
	err := t.begin(q.Since)
	if errors.Is(err, fs.ErrNotExist) && (q.Follow || former == nil) {
		err = nil
	}
	if err != nil || !q.Follow {
		return err
	}
	return t.follow(ctx, changes)
}

func copyFile(ctx context.Context, w io.Writer, path string, since time.Time) error {
	t := &tail{path: path, out: w}
	defer t.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.begin(since)
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

// begin writes what is there since the moment.
func (t *tail) begin(since time.Time) error {
	file, err := os.Open(t.path)
	if err != nil {
		return err
	}
	t.file = file
	if _, err := file.Seek(offsetAt(t.path+indexSuffix, since), io.SeekStart); err != nil {
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
	err := t.begin(time.Time{})
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

// offsetAt returns where the output since the moment begins: at the last record
// that is not after it.
func offsetAt(index string, since time.Time) int64 {
	if since.IsZero() {
		return 0
	}
	records, err := os.ReadFile(index)
	if err != nil {
		return 0
	}
	n := len(records) / recordSize
	at := func(i, field int) int64 {
		return int64(binary.BigEndian.Uint64(records[i*recordSize+field:]))
	}
	later := sort.Search(n, func(i int) bool { return at(i, 0) > since.UnixMilli() })
	switch {
	case later == 0:
		return 0
	case later == n:
		// Output of the last indexed second may go on beyond it.
		if since.Sub(time.UnixMilli(at(n-1, 0))) > indexStep {
			return endOf(index)
		}
	case since.Sub(time.UnixMilli(at(later-1, 0))) > indexStep:
		return at(later, 8)
	}
	return at(later-1, 8)
}

// endOf returns the size of the log that the index belongs to.
func endOf(index string) int64 {
	info, err := os.Stat(index[:len(index)-len(indexSuffix)])
	if err != nil {
		return 0
	}
	return info.Size()
}
