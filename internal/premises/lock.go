package premises

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	path := filepath.Join(root, StateFolder, LockFile)
	if err := os.MkdirAll(filepath.Dir(path), Private); err != nil {
		return nil, fmt.Errorf("cannot make the city's folder: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, PrivateFile)
	if err != nil {
		return nil, fmt.Errorf("cannot open the controller's lock: %w", err)
	}
	err = flockWithin(ctx, lockPatience, file)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%w: the city has a controller already%s; gc controller stop ends it", client.ErrRefused, holder(file))
	} else if err != nil {
		err = fmt.Errorf("cannot lock %s: %w", path, err)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Truncate(0); err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot write the controller's lock: %w", err), file.Close())
		}
	}
	return file.Close, nil
}

const (
	// lockPatience is how long a controller waits for the one before it.
	lockPatience = time.Second
	lockPause    = 20 * time.Millisecond
)

// flockWithin locks the file as soon as nobody else does.
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

// holder names the process in a lock file.
func holder(file *os.File) string {
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
		return true, holder(file), nil
	}
	return false, holder(file), err
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
