package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	logSize  = 8 << 20 // a log is rotated when it would grow past this
	logsKept = 3       // rotated logs beside the current one
)

// rotatingFile is a log of bounded size. Each write goes to one file as a whole.
type rotatingFile struct {
	path string
	size int64 // limit

	mu      sync.Mutex
	file    *os.File
	written int64
}

func openLog(path string, size int64) (*rotatingFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), private); err != nil {
		return nil, fmt.Errorf("cannot make the folder for logs: %w", err)
	}
	f := &rotatingFile{path: path, size: size}
	return f, f.open()
}

func (f *rotatingFile) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, privateFile)
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

// Write appends b, in a new file if the present one is full.
func (f *rotatingFile) Write(b []byte) (int, error) {
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

// rotateLocked shifts log to log.1, log.1 to log.2 and so on; the oldest goes.
func (f *rotatingFile) rotateLocked() error {
	for i := logsKept; i > 0; i-- {
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
func (f *rotatingFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
