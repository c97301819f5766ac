package cleanup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/runtime"
)

// Options are the options of [Site.Uninstall].
type Options struct {
	// Open opens the provider of a selection without creating anything in the city's own
	// directories. dir is the directory for its sockets. close releases what the provider holds.
	Open func(dir, selection string) (p runtime.Provider, close func() error, err error)
	// Local returns the selections of providers that keep sessions in a directory for sockets.
	Local func(dir string) []string
	// Shared reports whether a provider may also have sessions of other cities, as a script may.
	Shared func(selection string) bool
	// SkipUnreachable continues if providers cannot be reached: they are reported and block
	// nothing.
	SkipUnreachable bool
	// KeepFiles stops what runs and removes nothing.
	KeepFiles bool
}

// Remover is a provider on another host that has a directory of the city.
type Remover interface {
	// Remove removes that directory. It returns an error while a session exists there.
	Remove(ctx context.Context) error
}

// maxParallelStops is the maximum number of sessions that are stopped at the same time.
const maxParallelStops = 16

// Uninstall stops everything that runs for the city, removes the files that gc created, and checks
// that nothing is left. It removes nothing while something cannot be stopped, or with KeepFiles. It holds the city's
// lock, so no controller can start; it waits for another process that uninstalls the city.
//
// An error means that nothing was done. It matches client.ErrRefused if another process holds the
// city's lock.
func (s Site) Uninstall(ctx context.Context, opts Options) (client.Uninstalled, error) {
	release, err := citydir.LockForRemoval(ctx, s.Root, os.Getpid())
	if errors.Is(err, fs.ErrNotExist) {
		release, err = func() error { return nil }, nil // there is no state to lock
	}
	if err != nil {
		return client.Uninstalled{}, fmt.Errorf("cannot stop the processes of %s: %w", s.Root, err)
	}
	defer release() //nolint:errcheck // the file is removed, or nothing was written
	w := &uninstallation{site: s, opts: opts}
	w.result = client.Uninstalled{Stopped: []string{}, Removed: []string{}, Left: []client.Obstacle{}}
	if w.result.Remains, err = s.Survey(); err != nil {
		return w.result, err
	}
	if !opts.KeepFiles {
		w.result.Left = append(w.result.Left, w.result.Remains.Foreign...)
	}
	if len(w.result.Left) > 0 {
		return w.result, nil
	}
	w.openAll()
	w.stopAll()
	w.end(ctx, s.others)
	if len(w.result.Left) == w.unreachable && !opts.KeepFiles {
		w.removeSharedResources(ctx)
	}
	for _, p := range w.backends {
		_ = p.close() // its resources are released when this process exits
	}
	if len(w.result.Left) == w.unreachable {
		w.end(ctx, s.findProcesses) // includes servers and connections of providers
	}
	if len(w.result.Left) > w.unreachable || opts.KeepFiles {
		w.result.Clean = len(w.result.Left) == 0
		return w.result, nil
	}
	removed, left := s.RemoveFiles()
	w.result.Removed = append(w.result.Removed, removed...)
	w.result.Left = append(w.result.Left, left...)
	return w.result, w.verify(ctx)
}

// uninstallation is the state of one Uninstall.
type uninstallation struct {
	site        Site
	opts        Options
	result      client.Uninstalled
	unreachable int // how many entries of Left are providers that may be skipped
	backends    []*backend
}

type backend struct {
	dir, selection string
	elsewhere      bool
	provider       runtime.Provider
	close          func() error
}

// recordLeft records something that could not be stopped or removed, and why.
func (w *uninstallation) recordLeft(what string, why error) {
	w.result.Left = append(w.result.Left, client.Obstacle{What: what, Why: why.Error()})
}

// recordFailure records a provider for which a request failed.
func (w *uninstallation) recordFailure(p *backend, why error) {
	if p.elsewhere && w.opts.SkipUnreachable {
		w.unreachable++
	}
	w.recordLeft(p.selection, why)
}

// openAll opens every provider that may have sessions of the city.
func (w *uninstallation) openAll() {
	for _, dir := range w.site.sockets(&client.Remains{}) {
		for _, selection := range w.opts.Local(dir) {
			w.backends = append(w.backends, &backend{dir: dir, selection: selection})
		}
	}
	chosen, all := citydir.Sockets(w.site.Root, w.site.Bases...)
	for _, selection := range w.site.Elsewhere {
		w.backends = append(w.backends, &backend{dir: cmp.Or(chosen, all[0]), selection: selection, elsewhere: true})
	}
	for _, p := range w.backends {
		var err error
		if p.provider, p.close, err = w.opts.Open(p.dir, p.selection); err != nil {
			w.recordFailure(p, err)
		}
	}
	w.backends = slices.DeleteFunc(w.backends, func(p *backend) bool { return p.provider == nil })
}

// stopAll stops all sessions. It closes a provider that fails, and does not use it again.
func (w *uninstallation) stopAll() {
	for _, p := range slices.Clone(w.backends) {
		if err := w.stop(p); err != nil {
			w.recordFailure(p, errors.Join(err, p.close()))
			w.backends = slices.DeleteFunc(w.backends, func(q *backend) bool { return q == p })
		}
	}
}

// killPasses is the maximum number of searches for processes that started while others were
// stopped.
const killPasses = 10

// end kills the processes that list returns and those with the city's mark. It records the ones
// that keep running.
func (w *uninstallation) end(ctx context.Context, list func() ([]proc.Info, error)) {
	tried := map[proc.ID]bool{}
	var going []proc.Info
	for range killPasses {
		var err error
		if going, err = w.kill(ctx, list, tried); err != nil {
			w.recordLeft("processes", err)
			break
		}
		if !slices.ContainsFunc(going, func(info proc.Info) bool { return !tried[info.ID] }) {
			break
		}
	}
	for _, info := range going {
		why := "it still runs after SIGKILL"
		if !tried[info.ID] {
			why = "it was started while gc stopped the other processes: stop the program that starts it, then run gc destroy again"
		}
		w.recordLeft(fmt.Sprintf("process %d (%s)", info.PID, info.Comm), errors.New(why))
	}
}

// kill kills every running process once, records in tried the ones it tried to kill, and returns
// the ones that still run.
func (w *uninstallation) kill(ctx context.Context, list func() ([]proc.Info, error), tried map[proc.ID]bool) ([]proc.Info, error) {
	// The PID identifies no process: only the mark does.
	census, err := proc.KillTree(ctx, proc.ID{PID: math.MaxInt32}, &proc.KillOptions{MarkKey: proc.CityKey, MarkValue: w.site.Root})
	w.result.Ended += census.Found
	for _, info := range census.Survivors {
		tried[info.ID] = true
	}
	found, listErr := list()
	for _, info := range found {
		more, killErr := proc.KillTree(ctx, info.ID, nil)
		w.result.Ended += more.Found
		err = errors.Join(err, killErr)
		tried[info.ID] = true
	}
	if !errors.Is(err, proc.ErrSurvivors) {
		listErr = errors.Join(listErr, err)
	}
	going, err := list()
	return going, errors.Join(listErr, err)
}

// stop stops all sessions of this city on one runtime provider, several at a time, and records the ones that could not
// be stopped. An error means that the sessions could not be listed.
func (w *uninstallation) stop(p *backend) error {
	names, err := p.provider.ListRunning("")
	if err != nil {
		return err
	}
	errs, others, room := make([]error, len(names)), make([]bool, len(names)), make(chan struct{}, maxParallelStops)
	var stops sync.WaitGroup
	for i, name := range names {
		stops.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if others[i], errs[i] = w.isOtherCitys(p, name); !others[i] && errs[i] == nil {
				errs[i] = p.provider.Stop(name)
			}
		})
	}
	stops.Wait()
	for i, name := range names {
		if errs[i] == nil && !others[i] {
			w.result.Stopped = append(w.result.Stopped, name)
		}
	}
	return errors.Join(errs...)
}

// isOtherCitys reports whether a session belongs to another city, by its metadata. A provider on
// this machine has only sessions of this city. For a shared provider, a session without that
// metadata is an error.
func (w *uninstallation) isOtherCitys(p *backend, name string) (bool, error) {
	if !p.elsewhere {
		return false, nil
	}
	city, err := p.provider.GetMeta(name, proc.CityKey)
	switch {
	case runtime.IsSessionGone(err):
		return w.opts.Shared(p.selection), nil // a new session of that name would belong to another city
	case err != nil:
		return false, fmt.Errorf("%s: cannot read which city it belongs to: %w", name, err)
	case city == "" && w.opts.Shared(p.selection):
		return false, fmt.Errorf("%s: its city is not recorded: stop it by hand if it belongs to this one", name)
	}
	return city != "" && city != w.site.Root, nil
}

// removeSharedResources removes what providers keep besides sessions: servers, and directories on
// other hosts.
func (w *uninstallation) removeSharedResources(ctx context.Context) {
	for _, p := range w.backends {
		if p.elsewhere && w.opts.Shared(p.selection) {
			continue // other cities use its servers and directories too
		}
		if err := runtime.TeardownServer(p.provider); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			w.recordFailure(p, err)
			continue
		}
		if far, ok := p.provider.(Remover); ok {
			if err := far.Remove(ctx); err != nil {
				w.recordFailure(p, err)
				continue
			}
			w.result.Removed = append(w.result.Removed, "the outpost at "+p.selection)
		}
	}
}

// RemoveFiles removes files and directories, the lock last, so that no controller starts before.
// The caller has stopped everything that runs for the city.
func (s Site) RemoveFiles() (removed []string, left []client.Obstacle) {
	remains := s.files()
	state := filepath.Join(s.Root, citydir.StateFolder)
	lock := filepath.Join(state, citydir.LockFile)
	slices.SortStableFunc(remains.Folders, func(a, b client.Folder) int { return rank(a, lock) - rank(b, lock) })
	for _, f := range remains.Folders {
		if err := os.RemoveAll(f.Path); err != nil {
			left = append(left, client.Obstacle{What: f.Path, Why: err.Error()})
			continue
		}
		removed = append(removed, f.Path)
	}
	_, sockets := citydir.Sockets(s.Root, s.Bases...)
	for _, dir := range sockets {
		if above := filepath.Dir(dir); strings.HasPrefix(filepath.Base(above), "gc") && citydir.IsOwned(above) {
			_ = os.Remove(above) // only if no other city has a directory in it
		}
	}
	for _, dir := range []string{state, filepath.Join(s.Root, citydir.RuntimeFolder)} {
		_ = os.Remove(dir) // only if it is empty: the user's files stay
	}
	return removed, append(left, remains.Foreign...)
}

// rank returns the place of a directory in the order of removal: lastDir is removed after all others.
func rank(f client.Folder, lastDir string) int {
	if f.Path == lastDir {
		return 1
	}
	return 0
}

// exitWait is how long killed processes may take to exit and to remove their files.
const exitWait = 5 * time.Second

// verify checks that nothing is left, and records what is.
func (w *uninstallation) verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exitWait)
	defer cancel()
	for {
		now, err := w.site.Survey()
		if err != nil {
			return err
		}
		if now.Empty() {
			w.result.Clean = len(w.result.Left) == 0
			return nil
		}
		if retry.Sleep(ctx, pollInterval) {
			continue
		}
		for _, f := range now.Folders {
			w.recordLeft(f.Path, errors.New("it could not be removed"))
		}
		for _, p := range now.Processes {
			w.recordLeft(fmt.Sprintf("process %d (%s)", p.PID, p.Command), errors.New("it still runs"))
		}
		return nil
	}
}

const pollInterval = 50 * time.Millisecond
