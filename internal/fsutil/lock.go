package fsutil

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockInterval is the pause between two tries to get a lock. The system reports no event when a lock is released.
const lockInterval = 5 * time.Millisecond

// Flock calls flock(2), and repeats it when a signal interrupts it. With syscall.LOCK_NB the error matches syscall.EWOULDBLOCK
// if the lock is held.
func Flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Lock locks the file exclusively. It waits until the lock is free. If ctx ends first, it returns the cause of ctx.
func Lock(ctx context.Context, file *os.File) error { return WaitFlock(ctx, file, syscall.LOCK_EX) }

// WaitFlock is [Lock] with a kind of lock: syscall.LOCK_EX or syscall.LOCK_SH.
func WaitFlock(ctx context.Context, file *os.File, how int) error {
	for {
		err := Flock(file, how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ReplaceFile writes a file with mode 0600. Readers, and other processes that replace the same file, see the old content or the
// whole new content.
func ReplaceFile(path string, content []byte) error {
	return replaceFile(path, content, func(*os.File) error { return nil })
}

// ReplaceFileIf is like ReplaceFile for a file that exists: it keeps the mode, and the new content is on the disk before it replaces the
// old one. check is called directly before that; if it returns an error, the file stays as it is, and ReplaceFileIf returns an error
// that matches it.
func ReplaceFileIf(path string, content []byte, check func() error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return replaceFile(path, content, func(file *os.File) error {
		if err := errors.Join(file.Chmod(info.Mode().Perm()), file.Sync()); err != nil {
			return err
		}
		return check()
	})
}

func replaceFile(path string, content []byte, finish func(*os.File) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err == nil {
		err = finish(file)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
