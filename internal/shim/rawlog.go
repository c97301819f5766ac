package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// rawLog keeps the agent's raw output in a file of bounded size. When it is full
// it becomes <path>.1, replacing the former one.
type rawLog struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File // nil when there is no log or it failed
	size int64
}

func openRawLog(path string, size int64) (*rawLog, error) {
	l := &rawLog{path: path, max: size}
	if path == "" {
		return l, nil
	}
	if l.max <= 0 {
		l.max = DefaultLogSize
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return l, l.open()
}

func (l *rawLog) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// write appends p. A log that cannot be written is given up with a note on
// stderr: the agent goes on.
func (l *rawLog) write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	if err == nil && l.size >= l.max {
		err = l.rotate()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim: raw log given up:", err)
		l.file.Close()
		l.file = nil
	}
}

func (l *rawLog) rotate() error {
	if err := l.file.Close(); err != nil {
		return err
	}
	l.file = nil
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return err
	}
	return l.open()
}
