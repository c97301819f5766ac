package shim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// Stop stops the session and removes its folder. If token is not nil, it must be the current instance's token, else Stop
// returns [ErrStale]. A session that does not exist is no error. If Stop returns nil, no process or file of the session is
// left.
func (f *Fleet) Stop(ctx context.Context, name string, token *string, grace time.Duration) (StopReport, error) {
	dir := statedir.For(f.opts.Dir, name)
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		report, err := f.tryStop(ctx, name, token, grace)
		if errors.Is(err, ErrNoResponse) && ctx.Err() == nil {
			if err = killSilent(ctx, name, dir, token); err == nil {
				continue
			}
		}
		if !errors.Is(err, errRetry) {
			return report, err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return StopReport{}, fmt.Errorf("session %q is still starting or stopping: %w", name, context.Cause(ctx))
		}
	}
}

// errRetry reports that another process is starting or stopping the session.
var errRetry = errors.New("the session is being started or stopped")

// tryStop makes one attempt to stop the session. It returns errRetry if the session changed during the attempt.
func (f *Fleet) tryStop(ctx context.Context, name string, token *string, grace time.Duration) (StopReport, error) {
	observed, err := f.Observe(ctx, name)
	if err != nil {
		return StopReport{}, err
	}
	if token != nil && observed.Record != nil && observed.Token != *token {
		return StopReport{}, fmt.Errorf("session %q: %w", name, ErrStale)
	}
	dir := statedir.For(f.opts.Dir, name)
	var report StopReport
	switch {
	case observed.Client != nil:
		report, err = f.stopLive(ctx, observed, grace)
	case observed.Busy: // its socket is about to be created or removed
		err = errRetry
	case observed.Record == nil:
		err = dir.RemoveIfUnused()
	default:
		report, err = f.sweep(ctx, dir, observed, grace)
	}
	for _, changed := range []error{ErrNoShim, ErrStale, ErrNameInUse} {
		if errors.Is(err, changed) {
			return report, errRetry
		}
	}
	return report, err
}

// ClearLost stops the processes of sessions whose shim was killed, and removes the folders of these sessions.
func (f *Fleet) ClearLost(ctx context.Context) error {
	entries, err := os.ReadDir(f.opts.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = each(entries, func(e fs.DirEntry) (*struct{}, error) {
		record, err := readRecord(statedir.Folder(filepath.Join(f.opts.Dir, e.Name())))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, statedir.ErrDamaged) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		observed, err := f.Observe(ctx, record.Name)
		if err == nil && observed.IsLost() {
			_, err = f.Stop(ctx, record.Name, &observed.Token, 0)
		}
		return nil, err
	})
	return err
}

// killSilent kills a shim that does not answer. Its orphaned processes can be stopped afterwards.
func killSilent(ctx context.Context, name string, dir statedir.Folder, token *string) error {
	now, err := dir.Token()
	if err == nil && token != nil && now != *token {
		return fmt.Errorf("session %q: %w", name, ErrStale)
	}
	record, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the shim has exited in the meantime
	}
	if err != nil {
		return err
	}
	boot, err := proc.BootID()
	if err != nil || boot != record.Boot {
		return err
	}
	if err := proc.Signal(record.Shim, syscall.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
		return err
	}
	return proc.WaitGone(ctx, record.Shim)
}

// stopLive asks a live shim to stop its session and waits until the shim has exited.
func (f *Fleet) stopLive(ctx context.Context, s Observation, grace time.Duration) (StopReport, error) {
	asking, cancel := context.WithTimeoutCause(ctx, max(grace, 0)+killLimit+observeTimeout, fmt.Errorf("session %q: %w", s.Record.Name, ErrNoResponse))
	defer cancel()
	report, err := s.Client.stop(asking, grace)
	if err != nil {
		return report, err
	}
	if len(report.Survivors) > 0 {
		return report, fmt.Errorf("session %q: processes %v did not exit after SIGKILL", s.Record.Name, report.Survivors)
	}
	f.drop(s.Client)
	return report, proc.WaitGone(ctx, s.Record.Shim)
}

// sweep stops the processes that a killed shim left running, and removes the folder.
func (f *Fleet) sweep(ctx context.Context, dir statedir.Folder, s Observation, grace time.Duration) (StopReport, error) {
	lock, err := dir.Claim()
	if err != nil {
		return StopReport{}, err
	}
	defer lock.Close()
	var report StopReport
	if s.IsLost() {
		if report, err = endOrphans(ctx, s, grace); err != nil {
			return report, err
		}
	}
	return report, dir.Remove()
}

// endOrphans stops the processes of a lost session.
func endOrphans(ctx context.Context, s Observation, grace time.Duration) (StopReport, error) {
	root, live, err := s.root()
	if err != nil || !live {
		return StopReport{}, err
	}
	if grace <= 0 {
		grace = -1
	}
	census, err := proc.KillTree(ctx, root, &proc.KillOptions{Grace: grace, MarkKey: proc.TokenKey, MarkValue: s.Token})
	report := StopReport{Found: census.Found, Killed: census.Killed}
	for _, p := range census.Survivors {
		report.Survivors = append(report.Survivors, p.PID)
	}
	return report, err
}

// root returns the process at which the search for orphans begins: the agent's first process, or the shim if it was killed
// before it recorded that process. The process itself may have exited. live is false if no process of the instance can run,
// because the machine was restarted since.
func (s Observation) root() (root proc.ID, live bool, err error) {
	boot, err := proc.BootID()
	if err != nil {
		return root, false, err
	}
	if s.Record.Boot != "" && s.Record.Boot != boot || s.Token == "" {
		return root, false, nil
	}
	for _, id := range []proc.ID{s.Record.Root, s.Record.Shim} {
		if id.PID > 1 {
			return id, true, nil
		}
	}
	return proc.ID{PID: math.MaxInt32}, true, nil // the record is damaged: orphans are found only by their token
}

// Orphans returns the process IDs of a session whose shim was killed: processes that have its token in their environment, and
// processes in the terminal session of its agent, because a program may overwrite its environment. An error that matches
// [proc.UnreadableError] means that there may be more.
func (s Observation) Orphans() ([]int, error) {
	root, live, err := s.root()
	if err != nil || !live {
		return nil, err
	}
	marked, err := proc.FindByEnv(proc.TokenKey, s.Token)
	if err = s.ignoreOlder(err); err != nil && len(marked) == 0 {
		return nil, err
	}
	all, listErr := proc.List()
	if listErr != nil {
		return nil, listErr
	}
	found := map[int]bool{}
	for _, m := range marked {
		found[m.PID] = true
	}
	for _, info := range all {
		// The ID of a session is not reused while the session has a member.
		if info.SID == root.PID && info.Start >= root.Start && root.Start > 0 && !info.Ended() && isSameRoot(all, root) {
			found[info.PID] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// isSameRoot reports whether the process ID of root was not reused by another process.
func isSameRoot(all []proc.Info, root proc.ID) bool {
	return !slices.ContainsFunc(all, func(i proc.Info) bool { return i.PID == root.PID && i.Start != root.Start })
}

// ignoreOlder removes the processes that are older than the instance from an UnreadableError. It returns nil if no process is
// left, and every other error unchanged.
func (s Observation) ignoreOlder(err error) error {
	var unreadable *proc.UnreadableError
	if !errors.As(err, &unreadable) {
		return err
	}
	pids := slices.DeleteFunc(slices.Clone(unreadable.PIDs), func(pid int) bool {
		info, err := proc.Stat(pid)
		return errors.Is(err, proc.ErrGone) || err == nil && info.Start < s.Record.Shim.Start
	})
	if len(pids) == 0 {
		return nil
	}
	return &proc.UnreadableError{PIDs: pids}
}
