package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gascity/internal/config"
	"gascity/runtime"
)

const (
	logSize  = 8 << 20 // a log is rotated when it would grow past this
	logsKept = 3       // rotated logs beside the current one

	shortestSecret = 8 // shorter values are words that stand everywhere
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

// redactor replaces the values of credentials in what is written through it.
type redactor struct {
	to interface{ Write(b []byte) (int, error) }

	mu     sync.Mutex
	values [][]byte
}

// hide adds a value that must never be written.
func (r *redactor) hide(value string) {
	if len(value) < shortestSecret {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, []byte(value))
}

// hideEnvironment adds the values of all variables that are called like
// credentials.
func (r *redactor) hideEnvironment(env environment) {
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && runtime.CredentialName(name) {
			r.hide(value)
		}
	}
}

// Write writes b without the hidden values.
func (r *redactor) Write(b []byte) (int, error) {
	r.mu.Lock()
	clean := b
	for _, value := range r.values {
		if bytes.Contains(clean, value) {
			clean = bytes.ReplaceAll(clean, value, []byte(config.Masked))
		}
	}
	r.mu.Unlock()
	if _, err := r.to.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// newLogger returns the controller's logger, which hides credentials by name and
// by value.
func newLogger(to *redactor) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if runtime.CredentialName(a.Key) {
				a.Value = slog.StringValue(config.Masked)
			}
			return a
		},
	}))
}
