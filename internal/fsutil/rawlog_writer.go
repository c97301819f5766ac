package fsutil

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// DefaultRawLogSize is the default size in bytes at which a log is rotated.
const DefaultRawLogSize = 16 << 20

// Suffixes of a log's files.
const (
	indexSuffix = ".idx"
	oldSuffix   = ".1"
)

// indexStep is the shortest time between two records of the index.
const indexStep = time.Second

// retryAfter is the pause after a failed write before the next attempt.
const retryAfter = 10 * time.Second

// recordSize is the size of one record of an index.
const recordSize = 16

// RawLogWriter appends to a log. It is safe for concurrent use. With an empty path it writes nothing.
type RawLogWriter struct {
	path string
	max  int64

	mu        sync.Mutex
	file      *os.File // nil after a failed write
	index     *os.File
	size      int64
	indexedAt time.Time
	failedAt  time.Time
}

// OpenRawLog opens the log at path for appending. It creates the folder if it is missing. size is the size in bytes at which
// the log is rotated; zero means [DefaultRawLogSize]. With an empty path, the writer discards all output.
func OpenRawLog(path string, size int64) (*RawLogWriter, error) {
	w := &RawLogWriter{path: path, max: size}
	if w.max <= 0 {
		w.max = DefaultRawLogSize
	}
	if path == "" {
		return w, nil
	}
	return w, w.open()
}

// open opens the log and its index for appending.
func (w *RawLogWriter) open() error {
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

// Write appends p, which was printed at the given time. If the log cannot be written, for example on a full disk, output is
// missing in it, and Write tries again after retryAfter. Write returns only the first error of consecutive failures.
func (w *RawLogWriter) Write(p []byte, at time.Time) error {
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
	w.closeLocked() // the next attempt opens it again
	if !first {
		return nil
	}
	return err
}

// appendLocked writes p and, if a second has passed, an index record. It rotates the log if it is full.
func (w *RawLogWriter) appendLocked(p []byte, at time.Time) error {
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

// rotateLocked renames the log and its index to the previous ones and opens new files.
func (w *RawLogWriter) rotateLocked() error {
	w.closeLocked()
	// The index is removed first: without its index, a previous log is read as a whole.
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

func (w *RawLogWriter) closeLocked() {
	if w.file != nil {
		_, _ = w.file.Close(), w.index.Close() // no data is buffered
	}
	w.file, w.index = nil, nil
}

// Close closes the files. A later Write opens them again.
func (w *RawLogWriter) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeLocked()
}
