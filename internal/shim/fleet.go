package shim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/shim/process"
	"gascity/internal/statedir"
)

// MarkKey is the environment variable that marks every process of an instance.
// Its value is the instance token.
const MarkKey = process.MarkKey

// FleetOptions are what a [Fleet] needs; all are required.
type FleetOptions struct {
	// Dir holds the folders of all sessions; 0700 and ours, made if it is missing.
	// Keep it short: a socket path has at most 103 bytes.
	Dir string
	// Command is the program and first arguments that run a shim; the session's
	// folder is appended. It must call [Run].
	Command []string
}

// Fleet is the folder of all sessions of one driver in one city. Several fleets,
// also in several processes, may be opened over one folder.
type Fleet struct {
	opts     FleetOptions
	children children

	mu       sync.Mutex
	clients  map[string]*Client // by name; replaced when the instance changes
	shims    map[string]proc.ID // by name: the shim that answered last
	searched bool               // the machine was searched for shims without a folder

	reviveLimit time.Duration // constant after construction
	reviving    sync.Mutex    // guards last
	last        search
}

// OpenFleet opens the folder. It starts nothing and changes nothing in it.
func OpenFleet(opts FleetOptions) (*Fleet, error) {
	if len(opts.Command) == 0 {
		return nil, errors.New("no command to run a shim with")
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(opts.Dir)
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s must belong to you and have mode 0700: chmod 700 it, or choose another state folder", opts.Dir)
	}
	if path := statedir.For(opts.Dir, "").Sock(); len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s is too long: its sockets would have paths of %d bytes, the system allows %d", opts.Dir, len(path), maxSocketPath)
	}
	f := &Fleet{opts: opts, clients: map[string]*Client{}, shims: map[string]proc.ID{}, reviveLimit: reviveLimit}
	f.children.run()
	return f, nil
}

// Close ends what this process does for the fleet. The sessions go on.
func (f *Fleet) Close() error {
	f.children.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clients {
		c.http.CloseIdleConnections()
	}
	return nil
}

// Dir returns a session's own folder for files that live and die with it, such
// as long prompts.
func (f *Fleet) Dir(name string) string { return statedir.For(f.opts.Dir, name).Prompts() }

// Observation is what one look at a session found: a live shim, or what a previous one
// left.
type Observation struct {
	Client     *Client     // nil without a live shim
	State      State       // with Client
	Record     *Record     // of the live or the previous instance; nil if there was none
	Token      string      // its instance token
	ExitRecord *ExitRecord // what is left of an agent that has ended and whose shim has too
	Busy       bool        // somebody is starting or ending the session just now
}

// IsLost reports whether the shim was killed: it left neither a life nor an end.
func (s Observation) IsLost() bool {
	return s.Client == nil && !s.Busy && s.ExitRecord == nil && s.Record != nil
}

// Observe looks at the named session now. An error means that nothing is known.
func (f *Fleet) Observe(ctx context.Context, name string) (Observation, error) {
	dir := statedir.For(f.opts.Dir, name)
	for try := 0; ; try++ {
		sight, again, err := f.observeOnce(ctx, name, dir)
		if !again || try == 3 {
			return sight, err
		}
	}
}

// observeTimeout bounds the wait for a shim that holds its lock and does not answer. A
// loaded machine makes it slow, nothing makes it that slow.
const observeTimeout = 5 * time.Second

// observeOnce returns one try; again says that the world changed under it.
func (f *Fleet) observeOnce(ctx context.Context, name string, dir statedir.Folder) (s Observation, again bool, err error) {
	token, err := dir.Token()
	if err == nil {
		c := f.client(name, dir, token)
		asking, cancel := context.WithTimeoutCause(ctx, observeTimeout, fmt.Errorf("session %q: %w", name, ErrNoResponse))
		defer cancel()
		s.State, err = c.State(asking)
		switch {
		case err == nil:
			s.Client, s.Record, s.Token = c, &s.State.Record, token
			f.recordShim(name, s.Record.Shim)
			return s, false, nil
		case errors.Is(err, ErrStale):
			return s, true, err
		case !errors.Is(err, ErrNoShim):
			return s, false, err
		}
		f.drop(c)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return s, false, err
	} else {
		f.dropClient(name)
	}
	if s.Busy, err = dir.IsLocked(); err != nil {
		return s, false, err
	}
	if statedir.NotExists(dir.Lock()) && f.mayHaveLostFolder(name) || s.Busy && socketLost(dir) {
		if there, err := f.adopt(ctx, dir); there || err != nil {
			return Observation{}, there, wrap(name, err)
		}
	}
	if s.Busy {
		return s, false, nil
	}
	s, err = f.readLeftovers(dir, token)
	return s, false, err
}

// wrap adds the session's name to an error.
func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %q: %w", name, err)
}

// recordShim remembers which process is the shim of a session.
func (f *Fleet) recordShim(name string, id proc.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shims[name] = id
}

// readLeftovers reads what a previous instance left.
func (f *Fleet) readLeftovers(dir statedir.Folder, token string) (Observation, error) {
	s := Observation{Token: token}
	record, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Observation{}, nil
	}
	if err != nil && !errors.Is(err, statedir.ErrDamaged) {
		return s, err
	}
	s.Record = &record // of a damaged one, as after a power failure, only that it was there
	corpse, err := readExitRecord(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, statedir.ErrDamaged) {
		return s, nil
	}
	s.ExitRecord = &corpse
	return s, err
}

// client returns the cached client for the instance.
func (f *Fleet) client(name string, dir statedir.Folder, token string) *Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clients[name]
	if c == nil || c.token != token {
		if c != nil {
			c.http.CloseIdleConnections()
		}
		c = newClient(name, dir, token)
		f.clients[name] = c
	}
	return c
}

// drop forgets a client whose shim is gone.
func (f *Fleet) drop(c *Client) {
	c.http.CloseIdleConnections()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[c.name] == c {
		delete(f.clients, c.name)
	}
}

// dropClient drops the client of a session without any traces.
func (f *Fleet) dropClient(name string) {
	f.mu.Lock()
	c := f.clients[name]
	f.mu.Unlock()
	if c != nil {
		f.drop(c)
	}
}

// maxParallelObservations bounds how many sessions are looked at side by side.
const maxParallelObservations = 16

// Running looks at all sessions that have a folder and returns those with a live
// shim and agent, sorted by name. Names that could not be looked at are in the
// error.
func (f *Fleet) Running(ctx context.Context) ([]State, error) {
	entries, err := f.folders(ctx)
	if err != nil {
		return nil, err
	}
	states, err := each(entries, func(e fs.DirEntry) (*State, error) {
		return f.examine(ctx, statedir.Folder(filepath.Join(f.opts.Dir, e.Name())))
	})
	slices.SortFunc(states, func(a, b State) int { return cmp.Compare(a.Name, b.Name) })
	return states, err
}

// folders lists the folders of all sessions. If the folder above them is missing, the sessions
// that live make theirs again first.
func (f *Fleet) folders(ctx context.Context) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(f.opts.Dir)
	if !f.isFirstSearch() && !errors.Is(err, fs.ErrNotExist) {
		return entries, err
	}
	lost, err := f.revive(ctx)
	if err != nil {
		return nil, err
	}
	for dir, id := range lost {
		return nil, &UnreachableError{Dir: string(dir), Shim: id.PID}
	}
	return os.ReadDir(f.opts.Dir)
}

// Names is Running for who needs no more than the names. A shim that is well is not
// woken: its lock and its record suffice.
func (f *Fleet) Names(ctx context.Context) ([]string, error) {
	entries, err := f.folders(ctx)
	if err != nil {
		return nil, err
	}
	names, err := each(entries, func(e fs.DirEntry) (*string, error) {
		dir := statedir.Folder(filepath.Join(f.opts.Dir, e.Name()))
		if name := liveSessionName(dir); name != "" {
			return &name, nil
		}
		state, err := f.examine(ctx, dir)
		if err != nil || state == nil {
			return nil, err
		}
		return &state.Name, nil
	})
	slices.Sort(names)
	return names, err
}

// liveSessionName returns the name of the session in a folder if its shim certainly lives
// and has not seen its agent end; empty if that takes a closer look.
func liveSessionName(dir statedir.Folder) string {
	record, err := readRecord(dir)
	if err != nil {
		return ""
	}
	if _, err := dir.Token(); err != nil {
		return ""
	}
	if !statedir.NotExists(dir.ExitRecord()) {
		return ""
	}
	if held, err := dir.IsLocked(); err != nil || !held {
		return ""
	}
	return record.Name
}

// each looks at several folders side by side and gathers what is found.
func each[T any](entries []fs.DirEntry, look func(fs.DirEntry) (*T, error)) ([]T, error) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		found []T
		errs  []error
		turn  = make(chan struct{}, maxParallelObservations)
	)
	for _, e := range entries {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			one, err := look(e)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else if one != nil {
				found = append(found, *one)
			}
		})
	}
	wg.Wait()
	return found, errors.Join(errs...)
}

// examine returns the state of the session in a folder, nil if no agent lives there.
func (f *Fleet) examine(ctx context.Context, dir statedir.Folder) (*State, error) {
	record, err := readRecord(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // being made or removed
	case errors.Is(err, statedir.ErrDamaged):
		if held, heldErr := dir.IsLocked(); heldErr == nil && !held {
			return nil, nil // nothing lives there
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	sight, err := f.Observe(ctx, record.Name)
	if err != nil || sight.Client == nil || sight.State.Exit != nil {
		return nil, err
	}
	return &sight.State, nil
}

// LockInput takes the session's input for one prompt, so that prompts of several
// processes never mix. The returned function gives it back.
func (f *Fleet) LockInput(ctx context.Context, name string) (unlock func(), err error) {
	file, err := os.OpenFile(statedir.For(f.opts.Dir, name).Input(), os.O_RDWR, 0) // the shim has made it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session %q: %w", name, ErrNoShim)
	}
	if err != nil {
		return nil, err
	}
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		err := statedir.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // which gives the lock back
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, file.Close())
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		}
	}
}

func readRecord(f statedir.Folder) (Record, error) {
	var r Record
	err := statedir.ReadJSON(f.Record(), &r)
	if err == nil && r.Version > recordVersion {
		err = fmt.Errorf("%s was written by a newer gc (format %d); upgrade this one", f.Record(), r.Version)
	}
	return r, err
}

func readExitRecord(f statedir.Folder) (ExitRecord, error) {
	var c ExitRecord
	err := statedir.ReadJSON(f.ExitRecord(), &c)
	return c, err
}
