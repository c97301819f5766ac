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
	"gascity/internal/fsutil"
)

// Lock makes this process the city's only controller until release is called or the process exits
// for any reason. If another controller holds the lock, Lock waits up to one second, because that
// controller may be stopping. Then it returns an error that matches client.ErrRefused and contains
// the process ID.
func Lock(ctx context.Context, root string, pid int) (release func() error, err error) {
	if err := os.MkdirAll(filepath.Join(root, StateFolder), Private); err != nil {
		return nil, fmt.Errorf("cannot create the city's state directory: %w", err)
	}
	if err := checkState(root); err != nil {
		return nil, err
	}
	return lockWithin(ctx, root, pid, lockTimeout, "; stop it with: gc controller stop")
}

// LockForRemoval acquires the same lock as Lock before the city is removed, and waits longer. It
// creates no directory: the error matches fs.ErrNotExist if the city has no state, or if another
// process has just removed it.
func LockForRemoval(ctx context.Context, root string, pid int) (release func() error, err error) {
	return lockWithin(ctx, root, pid, removalLockTimeout, ", or another process is stopping or removing the city: wait until that process has ended, or end it; the agents keep running meanwhile")
}

// lockWithin locks the city's lock file and writes pid into it. remedy ends the error if another
// process keeps the lock for longer than limit.
func lockWithin(ctx context.Context, root string, pid int, limit time.Duration, remedy string) (release func() error, err error) {
	path := filepath.Join(root, StateFolder, LockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, PrivateFile)
	if err != nil {
		return nil, fmt.Errorf("cannot open the controller's lock: %w", err)
	}
	err = flockWithin(ctx, limit, file)
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
		_, _ = file.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0) // the process ID is only shown to people, so an error does not matter
	}
	return file.Close, nil
}

// isSameFile reports whether path still names an open file.
func isSameFile(path string, file *os.File) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}

const (
	// lockTimeout is how long a controller waits for the previous one.
	lockTimeout = time.Second
	// removalLockTimeout is how long a process that removes the city waits for another one.
	removalLockTimeout = 20 * time.Second
)

// flockWithin locks the file. It waits up to limit for another process to release it.
func flockWithin(parent context.Context, limit time.Duration, file *os.File) error {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	err := fsutil.Lock(ctx, file)
	if ctx.Err() != nil && err != nil {
		return syscall.EWOULDBLOCK
	}
	return err
}

// lockHolderText returns the process ID in a lock file as text for a message; empty if there is
// none.
func lockHolderText(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// Locked reports whether a process holds the city's lock. who is the process as text for a message.
func Locked(root string) (held bool, who string, err error) {
	file, err := os.Open(filepath.Join(root, StateFolder, LockFile))
	if err != nil {
		return false, "", err
	}
	defer file.Close()
	err = fsutil.Flock(file, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, lockHolderText(file), nil
	}
	return false, lockHolderText(file), err
}

// sharedLockFile, in StateFolder, is locked by every process that uses an outpost.
const sharedLockFile = "visit.lock"

// LockShared locks the directory of an outpost, which has no controller, for shared use. The last
// process that calls leave removes the empty directory for sockets, so that no socket in use is
// removed.
func LockShared(root string) (leave func() error, err error) {
	path := filepath.Join(root, StateFolder, sharedLockFile)
	for {
		if err := os.MkdirAll(filepath.Dir(path), Private); err != nil {
			return nil, fmt.Errorf("cannot create the directory of the outpost: %w", err)
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, PrivateFile)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed between the two lines
		}
		if err == nil {
			err = fsutil.Flock(file, syscall.LOCK_SH)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot lock the outpost: %w", err)
		}
		if !isSameFile(path, file) {
			_ = file.Close() // the outpost was just removed, and nothing was written
			continue
		}
		return func() error {
			if isSameFile(path, file) && fsutil.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				RemoveEmptyRuntimeDir(root)
			}
			return file.Close()
		}, nil
	}
}
