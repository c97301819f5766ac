package citydir

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// OwnershipCheckInterval is the time between two checks that the controller still owns the city.
const OwnershipCheckInterval = 5 * time.Second

// ErrOwnershipLost reports that the controller's lock or socket was removed.
var ErrOwnershipLost = errors.New("the controller exits, agents keep running")

// OwnershipWatcher checks that the controller's lock and socket still exist. If a person removes
// them, a second controller could start, or no client could stop this one. So this controller must
// exit.
type OwnershipWatcher struct {
	files    map[string]os.FileInfo // the files as this process created them
	listener *net.UnixListener
	every    time.Duration
}

// NewOwnershipWatcher returns a watcher for the lock and the socket as they are now.
func NewOwnershipWatcher(root string, listener *net.UnixListener, every time.Duration) (*OwnershipWatcher, error) {
	s := &OwnershipWatcher{files: map[string]os.FileInfo{}, listener: listener, every: every}
	for _, path := range []string{filepath.Join(root, StateFolder, LockFile), listener.Addr().String()} {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the controller's own file: %w", err)
		}
		s.files[path] = info
	}
	return s, nil
}

// Run checks the files until ctx ends, and then returns nil. It returns an error matching
// ErrOwnershipLost if one of the files was removed or replaced.
func (s *OwnershipWatcher) Run(ctx context.Context) error {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for path, ours := range s.files {
			now, err := os.Lstat(path)
			if err == nil && os.SameFile(ours, now) || err != nil && !errors.Is(err, os.ErrNotExist) {
				continue
			}
			s.listener.SetUnlinkOnClose(false) // the socket may belong to another controller now
			return fmt.Errorf("%s was removed or replaced: %w", path, ErrOwnershipLost)
		}
	}
}
