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

	"gascity/internal/fsutil"
)

// Locks is a directory with a lock file for each shared login. A renewal holds the lock, so that
// two cities of one user do not renew a login at the same time. An empty Dir means no locks.
type Locks struct{ Dir string }

// acquire waits for the lock of the login that the command renews, for at most within. The lock is
// released when every process that has the returned file open has closed it. If l.Dir is empty,
// acquire locks nothing and returns nil.
func (l Locks) acquire(ctx context.Context, command string, within time.Duration) (*os.File, error) {
	if l.Dir == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errors.New("another process has locked it"))
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
	switch err := fsutil.Lock(ctx, file); {
	case err == nil:
		return file, nil
	case ctx.Err() != nil:
		return nil, errors.Join(fmt.Errorf("another city, or a helper of an earlier controller, renews the login (%s): %w", path, err), file.Close())
	default:
		return nil, errors.Join(fmt.Errorf("cannot lock the login: %w", err), file.Close())
	}
}
