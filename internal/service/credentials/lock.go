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

// Locks is a directory with a lock file for each shared login. A renewal holds the lock, so that
// two cities of one user do not renew a login at the same time. An empty Dir means no locks.
type Locks struct{ Dir string }

// lockRetry is the pause between two attempts to get a lock that another process holds, because the
// system reports no event for that.
const lockRetry = 50 * time.Millisecond

// acquire waits for the lock of a command, for at most within. The lock is held until every process
// that has the file has closed it. If Dir is empty, it returns nil without an error.
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
