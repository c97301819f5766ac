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
	"sync/atomic"
	"time"

	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/internal/statedir"
)

// FleetOptions are the options of [OpenFleet]; all are required.
type FleetOptions struct {
	// Dir is the folder that has the folders of all sessions. It must belong to the current user and have mode 0700; it is
	// created if it is missing. Keep its path short: the path of a socket has at most 103 bytes.
	Dir string
	// Command is the program, with its first arguments, that runs a shim; the path of the session's folder is appended. The
	// program must call [Run].
	Command []string
}

// Fleet manages the sessions of one driver in one city; their state is in one folder. Several fleets, also in several
// processes, can use the same folder.
type Fleet struct {
	opts     FleetOptions
	children children
	shims    proc.ObservedProcesses // by session: the shim that answered last
	searched atomic.Bool            // whether the running processes were searched for shims without a folder

	mu      sync.Mutex
	clients map[string]*Client // by name; replaced when the instance changes
	records statedir.Cache[knownRecord]

	reviveLimit time.Duration // constant after construction
	reviving    sync.Mutex    // guards last
	last        search
}

// OpenFleet opens the folder and creates it if it is missing. It starts no process.
func OpenFleet(opts FleetOptions) (*Fleet, error) {
	if len(opts.Command) == 0 {
		return nil, errors.New("no command to run a shim with")
	}
	if err := statedir.MakePrivate(opts.Dir); err != nil {
		return nil, err
	}
	if path := statedir.For(opts.Dir, "").Sock(); len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s is too long: its sockets would have paths of %d bytes, the system allows %d", opts.Dir, len(path), maxSocketPath)
	}
	f := &Fleet{opts: opts, clients: map[string]*Client{}, reviveLimit: reviveLimit}
	f.children.run()
	return f, nil
}

// Close stops the goroutines and closes the idle connections of the fleet. The sessions continue.
func (f *Fleet) Close() error {
	f.children.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clients {
		c.http.CloseIdleConnections()
	}
	return nil
}

// Dir returns the session's folder for files that are removed with the session, such as long prompts.
func (f *Fleet) Dir(name string) string { return statedir.For(f.opts.Dir, name).Prompts() }

// Observation is the state of a session at one moment: of its live shim, or of what a previous instance left on disk.
type Observation struct {
	Client     *Client     // nil if there is no live shim
	State      State       // valid if Client is not nil
	Record     *Record     // of the live or the previous instance; nil if there is none
	Token      string      // the token of that instance
	ExitRecord *ExitRecord // of an agent that has exited and whose shim does not answer any more; else nil
	// Busy reports that a process holds the session's lock and does not answer: another process is starting or stopping the
	// session or, if ExitRecord is set, the shim is about to exit.
	Busy bool
}

// IsLost reports whether the shim was killed: there is a record, but neither a live shim nor an exit record.
func (s Observation) IsLost() bool {
	return s.Client == nil && !s.Busy && s.ExitRecord == nil && s.Record != nil
}

// Observe returns the current state of the named session. After an error its state is unknown.
func (f *Fleet) Observe(ctx context.Context, name string) (Observation, error) {
	dir := statedir.For(f.opts.Dir, name)
	for try := 0; ; try++ {
		observed, again, err := f.observeOnce(ctx, name, dir)
		if !again || try == 3 {
			return observed, err
		}
	}
}

// observeTimeout bounds the wait for a shim that holds its lock and does not answer. It is long enough for a loaded machine.
const observeTimeout = 5 * time.Second

// observeOnce reads the state of a session once. again reports that the session changed while it was read, so the caller
// must call observeOnce again.
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
			f.shims.Record(name, s.Record.Shim)
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
		return f.observeBusy(dir, token)
	}
	s, err = f.readLeftovers(dir, token)
	if err == nil && s.Record == nil && f.shims.MayRun(name) {
		// Its folder was removed or created again during this attempt, or its shim is about to exit.
		retry.Sleep(ctx, folderPause)
		return Observation{}, true, wrap(name, errFolderMissing)
	}
	return s, false, err
}

// observeBusy returns the state of a session whose shim runs (its lock is held) but does not answer. If the agent of the
// instance has exited, its exit is known, although its shim still runs for a moment. again is as in observeOnce.
func (f *Fleet) observeBusy(dir statedir.Folder, token string) (s Observation, again bool, err error) {
	busy := Observation{Busy: true}
	if token == "" {
		return busy, false, nil
	}
	left, err := f.readLeftovers(dir, token)
	if err != nil || left.ExitRecord == nil {
		return busy, false, nil //nolint:nilerr // the holder of the lock may be replacing the files
	}
	if now, err := dir.Token(); err != nil || now != token {
		return busy, true, nil //nolint:nilerr // the files of the instance were removed meanwhile
	}
	left.Busy = true
	return left, false, nil
}

// folderPause is the pause before another attempt to observe a session whose shim lives and whose folder has no record. A shim
// needs some milliseconds to create its folder again.
const folderPause = 100 * time.Millisecond

// errFolderMissing is the error of an observation if the shim has not created its folder again after the pauses of
// folderPause.
var errFolderMissing = errors.New("its shim runs, and its folder has no record")

// wrap adds the session's name to an error.
func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %q: %w", name, err)
}

// readLeftovers returns what an instance without a live shim left on disk: its record and, if its agent has exited, its
// exit record. A damaged record only shows that there was an instance. Without a record the result is empty.
func (f *Fleet) readLeftovers(dir statedir.Folder, token string) (Observation, error) {
	s := Observation{Token: token}
	record, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Observation{}, nil
	}
	if err != nil && !errors.Is(err, statedir.ErrDamaged) {
		return s, err
	}
	s.Record = &record // if damaged, for example by a power failure, it only shows that there was an instance
	exitRecord, err := readExitRecord(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, statedir.ErrDamaged) {
		return s, nil
	}
	s.ExitRecord = &exitRecord
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

// drop removes a client whose shim has exited from the cache.
func (f *Fleet) drop(c *Client) {
	c.http.CloseIdleConnections()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[c.name] == c {
		delete(f.clients, c.name)
	}
}

// dropClient removes the client of a session that has no files from the cache.
func (f *Fleet) dropClient(name string) {
	f.mu.Lock()
	c := f.clients[name]
	f.mu.Unlock()
	if c != nil {
		f.drop(c)
	}
}

// maxParallelObservations bounds how many sessions are observed at the same time.
const maxParallelObservations = 16

// Running returns the states of all sessions with a live shim and a live agent, sorted by name. The error names the sessions
// that could not be observed.
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

// folders returns the folders of all sessions. On the first call, or if the folder above them is missing, it first makes live
// shims create their missing folders again.
func (f *Fleet) folders(ctx context.Context) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(f.opts.Dir)
	if f.searched.Swap(true) && !errors.Is(err, fs.ErrNotExist) {
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

// Names returns the names of all sessions with a live shim and a live agent, sorted. It sends no request to a shim whose lock
// and record on disk are enough to know that.
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

// liveSessionName returns the name of the session in a folder if its files prove that the shim runs and has not recorded the
// agent's exit. Else it returns an empty string, and the caller must ask the shim.
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

// each calls observe for all entries in parallel and returns the results that are not nil.
func each[T any](entries []fs.DirEntry, observe func(fs.DirEntry) (*T, error)) ([]T, error) {
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
			one, err := observe(e)
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

// examine returns the state of the session in a folder, or nil if no agent runs there.
func (f *Fleet) examine(ctx context.Context, dir statedir.Folder) (*State, error) {
	record, err := readRecord(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // is being created or removed
	case errors.Is(err, statedir.ErrDamaged):
		if held, heldErr := dir.IsLocked(); heldErr == nil && !held {
			return nil, nil // no shim runs there
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	observed, err := f.Observe(ctx, record.Name)
	if err != nil || observed.Client == nil || observed.State.Exit != nil {
		return nil, err
	}
	return &observed.State, nil
}

// LockInput locks the session's input for one prompt, so that prompts of several processes never mix. The returned function
// unlocks it.
func (f *Fleet) LockInput(ctx context.Context, name string) (unlock func(), err error) {
	unlock, err = statedir.For(f.opts.Dir, name).LockInput(ctx) // the shim has created the file
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("session %q: %w", name, ErrNoShim)
	}
	return unlock, err
}

// readRecord reads session.json. A record of a newer format is an error.
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
