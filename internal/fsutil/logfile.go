package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// KeptLogs is the number of rotated logs, in addition to the current one.
const KeptLogs = 3

const (
	logDirMode  = 0o700
	logFileMode = 0o600
)

// LogFile is a log of bounded size. Each write is in one file as a whole. It is safe for concurrent use.
type LogFile struct {
	path string
	size int64 // size at which the log is rotated, in bytes

	mu      sync.Mutex
	file    *os.File
	written int64
}

// OpenLog opens a log that is rotated before it grows past size bytes. It creates the folder of the log if it is missing.
func OpenLog(path string, size int64) (*LogFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), logDirMode); err != nil {
		return nil, fmt.Errorf("cannot make the folder for logs: %w", err)
	}
	f := &LogFile{path: path, size: size}
	return f, f.open()
}

// open opens the current file for appending and reads its size.
func (f *LogFile) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, logFileMode)
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.written = file, info.Size()
	return nil
}

// Write appends b. It rotates the log first if b does not fit into the current file.
func (f *LogFile) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written > 0 && f.written+int64(len(b)) > f.size {
		if err := f.rotateLocked(); err != nil {
			return 0, err
		}
	}
	n, err := f.file.Write(b)
	f.written += int64(n)
	return n, err
}

// rotateLocked renames log to log.1, log.1 to log.2 and so on; the oldest file is overwritten.
func (f *LogFile) rotateLocked() error {
	for i := KeptLogs; i > 0; i-- {
		from := f.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", f.path, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", f.path, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	old := f.file
	return errors.Join(f.open(), old.Close())
}

// Close closes the file.
func (f *LogFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
