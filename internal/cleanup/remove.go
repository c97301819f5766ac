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
	"gascity/runtime"
)

// Options are what an uninstallation needs beside the site.
type Options struct {
	// Open opens the provider of a selection over the city's sessions, without making
	// anything in the city's own folders; close ends what it holds here. dir is the folder for sockets.
	Open func(dir, selection string) (p runtime.Provider, close func() error, err error)
	// Local returns the selections of providers that keep sessions in a folder for sockets.
	Local func(dir string) []string
	// Shared reports whether other cities may have sessions at a place, too, as at one of a script.
	Shared func(selection string) bool
	// SkipUnreachable lets places that cannot be reached stay behind: they are reported, and delay nothing.
	SkipUnreachable bool
}

// Remover is a place elsewhere, which has a folder of the city that can be removed.
type Remover interface {
	// Remove removes it. It is refused while a session is there.
	Remove(ctx context.Context) error
}

// maxParallelStops bounds how many sessions are ended at the same time.
const maxParallelStops = 16

// Uninstall ends what runs of the city, removes what gc has made, and looks whether anything
// is left. While something cannot be ended nothing is removed. The city has no controller; one
// that begins meanwhile is refused, and who uninstalls at the same time is waited for.
//
// An error means that nothing was done; it matches client.ErrRefused if somebody else holds
// the city.
func (s Site) Uninstall(ctx context.Context, opts Options) (client.Uninstalled, error) {
	release, err := citydir.LockForRemoval(ctx, s.Root, os.Getpid())
	if errors.Is(err, fs.ErrNotExist) {
		release, err = func() error { return nil }, nil // there is no state, so no other process to keep out
	}
	if err != nil {
		return client.Uninstalled{}, fmt.Errorf("cannot uninstall %s: %w", s.Root, err)
	}
	defer release() //nolint:errcheck // the file is gone, or nothing was written
	w := &uninstallation{site: s, opts: opts}
	w.result = client.Uninstalled{Stopped: []string{}, Removed: []string{}, Left: []client.Obstacle{}}
	if w.result.Remains, err = s.Survey(); err != nil {
		return w.result, err
	}
	if w.result.Left = append(w.result.Left, w.result.Remains.Foreign...); len(w.result.Left) > 0 {
		return w.result, nil
	}
	w.openAll()
	w.stopAll()
	w.end(ctx, s.others)
	if len(w.result.Left) == w.unreachable {
		w.removeSharedResources(ctx)
	}
	w.closeAll()
	if len(w.result.Left) == w.unreachable {
		w.end(ctx, s.findProcesses) // with the servers and connections of places
	}
	if len(w.result.Left) > w.unreachable {
		return w.result, nil
	}
	w.remove()
	return w.result, w.verify(ctx)
}

// uninstallation is one uninstallation.
type uninstallation struct {
	site        Site
	opts        Options
	result      client.Uninstalled
	unreachable int // of Left, how many are places that may stay behind
	backends    []*backend
}

type backend struct {
	dir, selection string
	elsewhere      bool
	provider       runtime.Provider
	close          func() error
}

func (w *uninstallation) recordLeft(what string, why error) {
	w.result.Left = append(w.result.Left, client.Obstacle{What: what, Why: why.Error()})
}

// recordFailure records a place with a failed request.
func (w *uninstallation) recordFailure(p *backend, why error) {
	if p.elsewhere && w.opts.SkipUnreachable {
		w.unreachable++
	}
	w.recordLeft(p.selection, why)
}

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

func (w *uninstallation) closeAll() {
	for _, p := range w.backends {
		_ = p.close() // what it held goes with this process
	}
}

// stopAll ends all sessions. A place that cannot is closed, and not asked for more.
func (w *uninstallation) stopAll() {
	for _, p := range slices.Clone(w.backends) {
		if err := w.stop(p); err != nil {
			w.recordFailure(p, errors.Join(err, p.close()))
			w.backends = slices.DeleteFunc(w.backends, func(q *backend) bool { return q == p })
		}
	}
}

// endPasses bounds how often end looks for processes that started while it stopped others.
const endPasses = 10

// end ends the processes that list returns and those with the city's mark, and names those that keep running.
func (w *uninstallation) end(ctx context.Context, list func() ([]proc.Info, error)) {
	tried := map[proc.ID]bool{}
	var going []proc.Info
	for range endPasses {
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
		why := "it survived SIGKILL"
		if !tried[info.ID] {
			why = "it started while gc stopped others: stop what starts it, then run gc destroy again"
		}
		w.recordLeft(fmt.Sprintf("process %d (%s)", info.PID, info.Comm), errors.New(why))
	}
}

// kill sends signals once to everything that runs, records in tried what it tried to kill, and returns what still runs.
func (w *uninstallation) kill(ctx context.Context, list func() ([]proc.Info, error), tried map[proc.ID]bool) ([]proc.Info, error) {
	// Their number identifies no session: only the mark does.
	census, err := proc.KillTree(ctx, proc.ID{PID: math.MaxInt32}, &proc.KillOptions{MarkKey: markKey, MarkValue: w.site.Root})
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

// stop ends all sessions of a place.
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

// isOtherCitys reports whether a session is another city's, as its note says. Places on this machine
// are in folders of this city alone. Where a place may be everybody's, a session without a note is an error.
func (w *uninstallation) isOtherCitys(p *backend, name string) (bool, error) {
	if !p.elsewhere {
		return false, nil
	}
	city, err := p.provider.GetMeta(name, markKey)
	switch {
	case runtime.IsSessionGone(err):
		return w.opts.Shared(p.selection), nil // it would be, if the name came again
	case err != nil:
		return false, fmt.Errorf("%s: cannot read which city it belongs to: %w", name, err)
	case city == "" && w.opts.Shared(p.selection):
		return false, fmt.Errorf("%s: its city is not recorded: end it by hand if it belongs to this one", name)
	}
	return city != "" && city != w.site.Root, nil
}

// removeSharedResources removes what places keep beside their sessions: servers, and folders elsewhere.
func (w *uninstallation) removeSharedResources(ctx context.Context) {
	for _, p := range w.backends {
		if p.elsewhere && w.opts.Shared(p.selection) {
			continue // what is beside the sessions is others' too
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

func (w *uninstallation) remove() {
	removed, left := w.site.RemoveFiles()
	w.result.Removed = append(w.result.Removed, removed...)
	w.result.Left = append(w.result.Left, left...)
}

// RemoveFiles removes files and folders, the lock last: up to then no controller begins. Nothing
// of the city runs any more.
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
			_ = os.Remove(above) // only if no other city has a folder in it
		}
	}
	for _, dir := range []string{state, filepath.Join(s.Root, citydir.RuntimeFolder)} {
		_ = os.Remove(dir) // only if it is empty: what the user has put there stays
	}
	return removed, append(left, remains.Foreign...)
}

func rank(f client.Folder, last string) int {
	if f.Path == last {
		return 1
	}
	return 0
}

// exitWait is how long what was ended may take to be collected and to remove what it had.
const exitWait = 5 * time.Second

// verify looks again.
func (w *uninstallation) verify(ctx context.Context) error {
	deadline := time.NewTimer(exitWait)
	defer deadline.Stop()
	for {
		now, err := w.site.Survey()
		if err != nil {
			return err
		}
		if now.Empty() {
			w.result.Clean = len(w.result.Left) == 0
			return nil
		}
		select {
		case <-time.After(pollInterval):
			continue
		case <-ctx.Done():
		case <-deadline.C:
		}
		for _, f := range now.Folders {
			w.recordLeft(f.Path, errors.New("it is still there"))
		}
		for _, p := range now.Processes {
			w.recordLeft(fmt.Sprintf("process %d (%s)", p.PID, p.Command), errors.New("it still runs"))
		}
		return nil
	}
}

const pollInterval = 50 * time.Millisecond
