package shim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// The folder of a session can disappear while its shim and its agent live: the login manager removes
// /run/user/UID after the last logout, cleaners remove what looks old in /tmp. The shims of a fleet
// are found without it, because the folder is the last argument of a shim; a signal makes a shim
// create the folder again. See docs/adr/0027.

// reviveSignal asks a shim to make its folder again. A shim of an earlier release ignores it.
const reviveSignal = syscall.SIGUSR1

// reviveLimit bounds the wait for shims to make their folders again.
const reviveLimit = 5 * time.Second

// UnreachableError reports a session that runs and cannot be reached: its folder was removed
// and its shim did not make it again.
type UnreachableError struct {
	Dir  string
	Shim int // process id
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("it runs (process %d) but cannot be reached: its folder %s was removed and cannot be made again; make its parent folder writable, or stop the session with: kill %d", e.Shim, e.Dir, e.Shim)
}

// search is the result of one search of the machine for the shims of a fleet.
type search struct {
	began time.Time
	lost  map[statedir.Folder]proc.ID // shims that live and whose folder is missing
	err   error
}

// revive searches the machine for live shims of the fleet whose folder is missing, and has them
// make it again. It returns those that did not. Several callers at a time share one search; the
// search begins after the call.
func (f *Fleet) revive(ctx context.Context) (map[statedir.Folder]proc.ID, error) {
	asked := time.Now()
	f.reviving.Lock()
	defer f.reviving.Unlock()
	if !f.last.began.IsZero() && f.last.began.After(asked) && f.last.err == nil {
		return f.last.lost, nil
	}
	f.last = search{began: time.Now()}
	f.last.lost, f.last.err = f.shimsWithoutFolder()
	if f.last.err != nil {
		return nil, f.last.err
	}
	for _, id := range f.last.lost {
		if err := proc.Signal(id, reviveSignal); err != nil && !errors.Is(err, proc.ErrGone) {
			f.last.err = errors.Join(f.last.err, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.reviveLimit)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for len(f.last.lost) > 0 {
		for dir, id := range f.last.lost {
			if alive, err := proc.Alive(id); isRestored(dir) || err == nil && !alive {
				delete(f.last.lost, dir)
			}
		}
		select {
		case <-look.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	if statedir.NotExists(f.opts.Dir) && len(f.last.lost) == 0 {
		f.last.err = f.makeDir()
	}
	return f.last.lost, f.last.err
}

// makeDir makes the folder of all sessions again.
func (f *Fleet) makeDir() error {
	if err := statedir.CheckTrusted(f.opts.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(f.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("the folder of all sessions was removed and cannot be made again: %w", err)
	}
	return statedir.CheckTrusted(f.opts.Dir)
}

// isRestored reports whether a live shim has made its folder again; the socket is made last.
func isRestored(dir statedir.Folder) bool {
	held, err := dir.IsLocked()
	return err == nil && held && !statedir.NotExists(dir.Sock())
}

// socketLost reports whether a session's socket was removed alone: its agent was started, which is
// after the socket was made, and has not ended, which is before the shim removes it.
func socketLost(dir statedir.Folder) bool {
	if !statedir.NotExists(dir.Sock()) || !statedir.NotExists(dir.ExitRecord()) {
		return false
	}
	record, err := readRecord(dir)
	return err == nil && record.Root.PID > 0
}

// shimsWithoutFolder returns the live shims of the fleet whose folder is missing.
func (f *Fleet) shimsWithoutFolder() (map[statedir.Folder]proc.ID, error) {
	lost := map[statedir.Folder]proc.ID{}
	if !filepath.IsAbs(f.opts.Dir) {
		return lost, nil // arguments of shims name nothing then
	}
	all, err := proc.List()
	if err != nil {
		return nil, fmt.Errorf("cannot search for sessions whose folder was removed: %w", err)
	}
	for _, info := range all {
		dir, ok := f.hosts(info)
		if ok && (statedir.NotExists(dir.Lock()) || socketLost(dir)) {
			lost[dir] = info.ID
		}
	}
	return lost, nil
}

// hosts returns the folder of the session that a process is the shim of, if it is one of the fleet.
func (f *Fleet) hosts(info proc.Info) (statedir.Folder, bool) {
	if !info.IsOwn() || info.SID != info.PID || info.Ended() || !info.Catches(reviveSignal) {
		return "", false
	}
	argv, err := proc.Argv(info.PID)
	if err != nil || len(argv) < 2 {
		return "", false
	}
	dir := statedir.Folder(argv[len(argv)-1])
	if filepath.Dir(string(dir)) != filepath.Clean(f.opts.Dir) || !statedir.IsFolderName(dir) {
		return "", false
	}
	now, err := proc.Stat(info.PID)
	return dir, err == nil && now.ID == info.ID // else the number changed hands while it was read
}

// adopt searches for a live shim of a session without a folder. It reports whether the folder is
// there now.
func (f *Fleet) adopt(ctx context.Context, dir statedir.Folder) (bool, error) {
	lost, err := f.revive(ctx)
	if err != nil {
		return false, err
	}
	if id, there := lost[dir]; there {
		return false, &UnreachableError{Dir: string(dir), Shim: id.PID}
	}
	return isRestored(dir), nil
}

// mayHaveLostFolder reports whether a session without a folder may have a live shim: it was not searched
// for yet, its shim was alive when it was seen last, or the folder of all sessions is missing.
func (f *Fleet) mayHaveLostFolder(name string) bool {
	f.mu.Lock()
	id, seen := f.shims[name]
	f.mu.Unlock()
	if f.isFirstSearch() || statedir.NotExists(f.opts.Dir) {
		return true
	}
	if !seen {
		return false
	}
	alive, err := proc.Alive(id)
	return alive || err != nil
}

// isFirstSearch is true once in the life of the fleet: shims that lost their folder before it was opened
// are searched for then.
func (f *Fleet) isFirstSearch() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !f.searched
	f.searched = true
	return first
}
