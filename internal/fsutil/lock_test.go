package fsutil_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fsutil"
)

func TestLockWaitsUntilTheLockIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	holder, other := open(), open()
	if err := fsutil.Lock(t.Context(), holder); err != nil {
		t.Fatal(err)
	}
	if err := fsutil.Flock(other, syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a lock that is held: %v", err)
	}
	late := errors.New("it is too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, late)
	defer cancel()
	if err := fsutil.Lock(ctx, other); !errors.Is(err, late) {
		t.Errorf("Lock returned %v at the end of its context", err)
	}
	got := make(chan error, 1)
	go func() { got <- fsutil.WaitFlock(t.Context(), other, syscall.LOCK_SH) }()
	holder.Close()
	if err := <-got; err != nil {
		t.Errorf("the lock was released, and Lock returned %v", err)
	}
}

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"a longer text", "short"} {
		if err := fsutil.ReplaceFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if info, _ := os.Stat(path); err != nil || string(got) != text || info.Mode() != 0o600 {
			t.Errorf("the file is %q with mode %v: %v", got, info.Mode(), err)
		}
	}
	if err := fsutil.ReplaceFile(filepath.Join(dir, "missing", "file"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fsutil.ReplaceFile(filepath.Join(dir, "folder"), nil); err == nil {
		t.Error("a directory was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestReplaceFileIf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	replace := func(text string, check error) error {
		return fsutil.ReplaceFileIf(path, []byte(text), func() error {
			if old, err := os.ReadFile(path); err != nil || string(old) != "old" {
				t.Errorf("before the check the file is %q: %v", old, err)
			}
			return check
		})
	}
	if err := replace("new", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	for _, check := range []error{refused, nil} {
		err := replace("new", check)
		got, readErr := os.ReadFile(path)
		want := map[bool]string{true: "old", false: "new"}[check != nil]
		if info, _ := os.Stat(path); !errors.Is(err, check) || readErr != nil || string(got) != want || info.Mode() != 0o644 {
			t.Errorf("after the check %v the file is %q with mode %v: %v", check, got, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
