package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Log keeps the agent's raw output in a file of bounded size. When it is full
// it becomes <path>.1, replacing the former one. It is safe for concurrent use.
type Log struct {
	path string
	max  int64

	mu       sync.Mutex
	file     *os.File // nil when there is no log or it failed
	size     int64
	failedAt time.Time
	said     bool // on stderr, once
}

// OpenLog opens the log, which is made with its folder; size zero is [DefaultLogSize].
// Without a path nothing is kept.
func OpenLog(path string, size int64) (*Log, error) {
	l := &Log{path: path, max: size}
	if path == "" {
		return l, nil
	}
	if l.max <= 0 {
		l.max = DefaultLogSize
	}
	return l, l.open()
}

func (l *Log) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// DefaultLogSize is how many bytes a log grows to before it is rotated.
const DefaultLogSize = 16 << 20

// logRetry is how long a log rests that could not be written.
const logRetry = 10 * time.Second

// Write appends p. While a log cannot be written, on a full disk or without its
// folder, output is missing in it: the agent goes on.
func (l *Log) Write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" || l.file == nil && time.Since(l.failedAt) < logRetry {
		return
	}
	if err := l.append(p); err != nil {
		if !l.said {
			fmt.Fprintln(os.Stderr, "shim: raw log has gaps:", err)
		}
		l.said, l.failedAt = true, time.Now()
		if l.file != nil {
			_ = l.file.Close() // it is opened anew
		}
		l.file = nil
	}
}

func (l *Log) append(p []byte) error {
	if l.file == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	if err != nil || l.size < l.max {
		return err
	}
	return l.rotate()
}

func (l *Log) rotate() error {
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return err
	}
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return err
	}
	return l.open()
}
