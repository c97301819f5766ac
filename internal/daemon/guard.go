package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"gascity/internal/premises"
)

// guardEvery is how often a controller makes sure that the city is still its own.
const guardEvery = 5 * time.Second

// errOusted reports that somebody removed the controller's lock or its socket.
var errOusted = errors.New("the controller ends, the agents go on")

// sentry watches over what makes this process the city's only controller, which
// everybody can reach. When a person has removed it, to go on would mean two
// controllers for one city, or one that nobody can tell to stop.
type sentry struct {
	files    map[string]os.FileInfo // as they were made
	listener *net.UnixListener
	every    time.Duration
}

// newGuard remembers the lock and the socket as they are now.
func newGuard(root string, listener *net.UnixListener, every time.Duration) (*sentry, error) {
	g := &sentry{files: map[string]os.FileInfo{}, listener: listener, every: every}
	for _, path := range []string{filepath.Join(root, premises.StateFolder, premises.LockFile), listener.Addr().String()} {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, fmt.Errorf("cannot look at what was just made: %w", err)
		}
		g.files[path] = info
	}
	return g, nil
}

// run returns nil when ctx ends, and an error matching errOusted when one of the
// files is gone or another one.
func (g *sentry) run(ctx context.Context) error {
	tick := time.NewTicker(g.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for path, ours := range g.files {
			now, err := os.Lstat(path)
			if err == nil && os.SameFile(ours, now) || err != nil && !errors.Is(err, os.ErrNotExist) {
				continue
			}
			g.listener.SetUnlinkOnClose(false) // it may be a successor's
			return fmt.Errorf("%s was taken away: %w", path, errOusted)
		}
	}
}
