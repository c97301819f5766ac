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

// The folder of a session can be removed while its shim and its agent run: the login manager removes /run/user/UID after the
// last logout, and cleanup programs remove old files in /tmp. A fleet can find its shims without the folders, because the
// folder is the last argument of a shim. A signal makes a shim create its folder again. See docs/adr/0027.

// reviveSignal makes a shim create its folder again. A shim of an earlier release ignores it.
const reviveSignal = syscall.SIGUSR1

// reviveLimit bounds the wait for shims that create their folders again.
const reviveLimit = 5 * time.Second

// UnreachableError reports a session that runs and cannot be reached: its folder was removed and its shim did not create it
// again.
type UnreachableError struct {
	Dir  string
	Shim int // process id
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("it runs (process %d) but cannot be reached: its folder %s was removed and cannot be created again; make its parent folder writable, or stop the session with: kill %d", e.Shim, e.Dir, e.Shim)
}

// search is the result of one search of all processes for shims of the fleet.
type search struct {
	began time.Time
	lost  map[statedir.Folder]proc.ID // live shims whose folder is missing
	err   error
}

// revive searches all processes for live shims of the fleet whose folder is missing, and sends them reviveSignal. It returns
// the shims that did not create their folder again within reviveLimit. Concurrent callers share a search that began after their
// call.
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

// makeDir creates the folder of all sessions again.
func (f *Fleet) makeDir() error {
	if err := statedir.CheckTrusted(f.opts.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(f.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("the folder of all sessions was removed and cannot be created again: %w", err)
	}
	return statedir.CheckTrusted(f.opts.Dir)
}

// isRestored reports whether a live shim has created its folder again. The socket is the last file that it creates.
func isRestored(dir statedir.Folder) bool {
	held, err := dir.IsLocked()
	return err == nil && held && !statedir.NotExists(dir.Sock())
}

// socketLost reports whether only the socket of a session was removed. The shim creates the socket before it records a started
// agent, and removes it after it has recorded the agent's exit.
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
		return lost, nil // then the arguments of shims are relative paths
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

// hosts returns the folder of the session if the process is a shim of the fleet, and reports whether it is one.
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
	return dir, err == nil && now.ID == info.ID // else the process ID was reused during the check
}

// adopt searches for a live shim of a session whose folder is missing. It reports whether the shim has created the folder
// again.
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

// mayHaveLostFolder reports whether a session without a folder may have a live shim. It may if no search was made yet, if its
// last known shim is alive, or if the folder of all sessions is missing.
func (f *Fleet) mayHaveLostFolder(name string) bool {
	return !f.searched.Swap(true) || statedir.NotExists(f.opts.Dir) || f.shims.MayRun(name)
}
