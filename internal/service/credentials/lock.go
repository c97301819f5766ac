package credentials

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Locks is a folder with a file for each shared login: a renewal holds its lock, so
// that two cities of one user do not do so at the same time.
type Locks struct{ Dir string }

// lockRetry is the pause between two tries for a lock that another process has: there
// is no event for it.
const lockRetry = 50 * time.Millisecond

// acquire waits for the lock of a command, at most so long. It is held until every process that
// has the file has closed it. No folder: there is nothing to lock, and no file.
func (l Locks) acquire(ctx context.Context, command string, within time.Duration) (*os.File, error) {
	if l.Dir == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errors.New("its lock is held"))
	defer cancel()
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot lock the login: %w", err)
	}
	sum := sha256.Sum256([]byte(command))
	path := filepath.Join(l.Dir, hex.EncodeToString(sum[:8])+".lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the login: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("cannot lock the login: %w", err), file.Close())
		}
		timer := time.NewTimer(lockRetry)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(fmt.Errorf("another city, or a helper of an earlier controller, renews the login (%s): %w", path, context.Cause(ctx)), file.Close())
		}
	}
}
