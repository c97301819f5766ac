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

// OwnershipCheckInterval is how often a controller makes sure that the city is still its own.
const OwnershipCheckInterval = 5 * time.Second

// ErrOwnershipLost reports that somebody removed the controller's lock or its socket.
var ErrOwnershipLost = errors.New("the controller ends, agents keep running")

// OwnershipWatcher watches over what makes this process the city's only controller, which
// everybody can reach. When a person has removed it, to go on would mean two
// controllers for one city, or one that cannot be stopped.
type OwnershipWatcher struct {
	files    map[string]os.FileInfo // as they were made
	listener *net.UnixListener
	every    time.Duration
}

// NewOwnershipWatcher remembers the lock and the socket as they are now.
func NewOwnershipWatcher(root string, listener *net.UnixListener, every time.Duration) (*OwnershipWatcher, error) {
	s := &OwnershipWatcher{files: map[string]os.FileInfo{}, listener: listener, every: every}
	for _, path := range []string{filepath.Join(root, StateFolder, LockFile), listener.Addr().String()} {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, fmt.Errorf("cannot look at what was just made: %w", err)
		}
		s.files[path] = info
	}
	return s, nil
}

// Run returns nil when ctx ends, and an error matching ErrOwnershipLost when one of the
// files is gone or another one.
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
			s.listener.SetUnlinkOnClose(false) // it may be a successor's
			return fmt.Errorf("%s was taken away: %w", path, ErrOwnershipLost)
		}
	}
}
