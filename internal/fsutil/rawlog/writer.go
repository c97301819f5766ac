package rawlog

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// DefaultSize is how many bytes a log grows to before it is rotated.
const DefaultSize = 16 << 20

// Suffixes of a log's files.
const (
	indexSuffix = ".idx"
	oldSuffix   = ".1"
)

// indexStep is the shortest time between two records of the index.
const indexStep = time.Second

// retryAfter is how long a log rests that could not be written.
const retryAfter = 10 * time.Second

// recordSize is the size of one record of an index.
const recordSize = 16

// Writer appends to a log. It is safe for concurrent use. The zero path writes
// nothing.
type Writer struct {
	path string
	max  int64

	mu        sync.Mutex
	file      *os.File // nil while the log cannot be written
	index     *os.File
	size      int64
	indexedAt time.Time
	failedAt  time.Time
}

// Open opens the log at path for appending; its folder is made if it is missing.
// size is when it is rotated; zero means [DefaultSize]. An empty path is a log that
// keeps nothing.
func Open(path string, size int64) (*Writer, error) {
	w := &Writer{path: path, max: size}
	if w.max <= 0 {
		w.max = DefaultSize
	}
	if path == "" {
		return w, nil
	}
	return w, w.open()
}

func (w *Writer) open() error {
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return err
	}
	file, err := openAppend(w.path)
	if err != nil {
		return err
	}
	index, err := openAppend(w.path + indexSuffix)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close(), index.Close())
	}
	w.file, w.index, w.size, w.indexedAt = file, index, info.Size(), time.Time{}
	return nil
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Write appends p, printed at the given time. While the log cannot be written, on a
// full disk or without its folder, output is missing in it; it is tried again
// after a while. The error is that of the first attempt that failed in a row.
func (w *Writer) Write(p []byte, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path == "" || w.file == nil && at.Sub(w.failedAt) < retryAfter {
		return nil
	}
	first := w.failedAt.IsZero()
	err := w.appendLocked(p, at)
	if err == nil {
		w.failedAt = time.Time{}
		return nil
	}
	w.failedAt = at
	w.closeLocked() // it is opened again
	if !first {
		return nil
	}
	return err
}

func (w *Writer) appendLocked(p []byte, at time.Time) error {
	if w.file == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	if at.Sub(w.indexedAt) >= indexStep {
		record := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli()))
		record = binary.BigEndian.AppendUint64(record, uint64(w.size))
		if _, err := w.index.Write(record); err != nil {
			return err
		}
		w.indexedAt = at
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	if err != nil || w.size < w.max {
		return err
	}
	return w.rotateLocked()
}

func (w *Writer) rotateLocked() error {
	w.closeLocked()
	// The index first: a previous log without its index is read as a whole.
	err := os.Remove(w.path + oldSuffix + indexSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(w.path, w.path+oldSuffix); err != nil {
		return err
	}
	if err := os.Rename(w.path+indexSuffix, w.path+oldSuffix+indexSuffix); err != nil {
		return err
	}
	return w.open()
}

func (w *Writer) closeLocked() {
	if w.file != nil {
		_, _ = w.file.Close(), w.index.Close() // nothing is buffered that could be lost
	}
	w.file, w.index = nil, nil
}

// Close closes the files. A later Write opens them again.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeLocked()
}
