package citydir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/client"
)

// Lock makes this process the city's one controller until release is called
// or it ends, whatever it dies of. If there is one already, the error matches
// client.ErrRefused and names its process; one that is about to end, or was just
// killed, is waited for.
func Lock(ctx context.Context, root string, pid int) (release func() error, err error) {
	if err := os.MkdirAll(filepath.Join(root, StateFolder), Private); err != nil {
		return nil, fmt.Errorf("cannot make the city directory: %w", err)
	}
	if err := checkState(root); err != nil {
		return nil, err
	}
	return lockWithin(ctx, root, pid, lockTimeout, "; gc controller stop ends it")
}

// LockForRemoval is Lock for who takes the city away, and waits longer. It makes no folder: the error
// matches fs.ErrNotExist if the city has none, or somebody else has just removed it.
func LockForRemoval(ctx context.Context, root string, pid int) (release func() error, err error) {
	return lockWithin(ctx, root, pid, removalLockTimeout, ", or is just being uninstalled: end that process, or wait for it; agents keep running without it")
}

func lockWithin(ctx context.Context, root string, pid int, patience time.Duration, remedy string) (release func() error, err error) {
	path := filepath.Join(root, StateFolder, LockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, PrivateFile)
	if err != nil {
		return nil, fmt.Errorf("cannot open the controller's lock: %w", err)
	}
	err = flockWithin(ctx, patience, file)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("%w: the city has a controller already%s%s", client.ErrRefused, lockHolderText(file), remedy)
	case err != nil:
		err = fmt.Errorf("cannot lock %s: %w", path, err)
	case !isSameFile(path, file):
		err = fmt.Errorf("the city was just uninstalled: %s is gone: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0) // it only shows people who holds it; the disk may be full
	}
	return file.Close, nil
}

// isSameFile reports whether path is still the name of an open file.
func isSameFile(path string, file *os.File) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}

const (
	// lockTimeout is how long a controller waits for the one before it.
	lockTimeout = time.Second
	// removalLockTimeout is how long one that takes the city away waits for another.
	removalLockTimeout = 20 * time.Second
	lockPause          = 20 * time.Millisecond
)

// flockWithin locks the file as soon as no other process does.
func flockWithin(parent context.Context, limit time.Duration, file *os.File) error {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	for {
		err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lockPause):
		}
	}
}

// lockHolderText names the process in a lock file.
func lockHolderText(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// Locked reports whether some process holds the lock of the city, and which.
func Locked(root string) (held bool, who string, err error) {
	file, err := os.Open(filepath.Join(root, StateFolder, LockFile))
	if err != nil {
		return false, "", err
	}
	defer file.Close()
	err = flock(file, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, lockHolderText(file), nil
	}
	return false, lockHolderText(file), err
}

// flock retries when a signal interrupts it.
func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// sharedLockFile, in StateFolder, is locked by all who are at a place without a controller.
const sharedLockFile = "visit.lock"

// LockShared says that this process uses the folders of a place that has no controller, an
// outpost. The last visitor tidies up, so no socket in use is removed.
func LockShared(root string) (leave func() error, err error) {
	path := filepath.Join(root, StateFolder, sharedLockFile)
	for {
		if err := os.MkdirAll(filepath.Dir(path), Private); err != nil {
			return nil, fmt.Errorf("the outpost has no folder: %w", err)
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, PrivateFile)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed between the two lines
		}
		if err == nil {
			err = flock(file, syscall.LOCK_SH)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot enter the outpost: %w", err)
		}
		if !isSameFile(path, file) {
			_ = file.Close() // nothing was written; the outpost was just removed
			continue
		}
		return func() error {
			if isSameFile(path, file) && flock(file, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				RemoveEmptyRuntimeDir(root)
			}
			return file.Close()
		}, nil
	}
}
