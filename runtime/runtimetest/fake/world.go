package fake

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// firstPID is greater than any real process id. A world counts from a random number above it, or in a
// range of its own if it belongs to a [Harness].
const firstPID = 1 << 40

// world is the state that several providers share.
type world struct {
	mu       sync.Mutex // guards everything below and in sessions and agents
	changed  chan struct{}
	sessions map[string]*session
	claimed  map[string]bool // names whose start is under way
	owners   map[int]*session
	lastPID  int
	watches  []*subscription
}

// session is one instance of a session.
type session struct {
	world     *world
	name      string
	token     string
	cfg       runtime.Config
	env       []string
	startedAt time.Time
	meta      map[string]string
	pids      []int // living processes, the agent's first
	agent     *agent
	exit      *runtime.Exit
	output    []string // complete lines
	active    time.Time
	attached  int
	typed     time.Time     // when a person typed last
	detach    chan struct{} // closed by Detach and the session's end
	boundary  time.Time     // of the last interrupted turn
	reading   *runtime.Reading
	input     sync.Mutex // held for a whole delivery; taken before world.mu
}

func newWorld() *world {
	return &world{
		changed: make(chan struct{}), sessions: map[string]*session{}, claimed: map[string]bool{},
		owners: map[int]*session{}, lastPID: firstPID + mathrand.N(1<<20)<<20,
	}
}

// bumpLocked wakes all callers that wait for a change.
func (w *world) bumpLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// await calls ok with the lock held, at first and after each change, until ok returns true or ctx
// ends.
func (w *world) await(ctx context.Context, ok func() bool) error {
	for {
		w.mu.Lock()
		done, changed := ok(), w.changed
		w.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (w *world) find(name string) *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions[name]
}

// with calls do for the named session with the lock held. It returns false if the session does not
// exist.
func (w *world) with(name string, do func(*session)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[name]
	if s != nil {
		do(s)
	}
	return s != nil
}

func (w *world) newSession(name string, cfg runtime.Config) *session {
	return &session{
		world: w, name: name, token: cmp.Or(cfg.Env["GC_INSTANCE_TOKEN"], rand.Text()), cfg: cfg, startedAt: time.Now(),
		meta: map[string]string{}, detach: make(chan struct{}),
	}
}

// forkLocked adds a process to the session and returns its id.
func (s *session) forkLocked() int {
	s.world.lastPID++
	s.pids = append(s.pids, s.world.lastPID)
	s.world.owners[s.world.lastPID] = s
	return s.world.lastPID
}

// killLocked ends one process. If it is the agent's process, the agent exits.
func (s *session) killLocked(pid int, exit runtime.Exit) {
	delete(s.world.owners, pid)
	s.pids = slices.DeleteFunc(s.pids, func(p int) bool { return p == pid })
	if s.agent != nil && s.agent.pid == pid && s.exit == nil {
		s.agent.gone = true
		s.exit = &exit
		s.exit.At = time.Now()
		s.world.publishLocked(runtime.Event{Kind: runtime.EventExited, Session: s.name, Exit: s.exit})
	}
	s.world.bumpLocked()
}

// removeLocked ends all processes of the session and removes the session.
func (s *session) removeLocked() {
	for _, pid := range slices.Clone(s.pids) {
		s.killLocked(pid, runtime.Exit{Code: -1, Signal: "terminated"})
	}
	if s.world.sessions[s.name] == s {
		delete(s.world.sessions, s.name)
		s.world.publishLocked(runtime.Event{Kind: runtime.EventGone, Session: s.name})
	}
	s.detachLocked()
	s.world.bumpLocked()
}

func (s *session) detachLocked() {
	close(s.detach)
	s.detach, s.attached = make(chan struct{}), 0
}

func (s *session) aliveLocked() bool { return s.exit == nil }

// printLocked adds text to the session's output.
func (s *session) printLocked(text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		s.output = append(s.output, strings.TrimRight(line, " \t\r"))
	}
	s.active = time.Now()
	s.world.publishLocked(runtime.Event{Kind: runtime.EventOutput, Session: s.name})
	s.world.bumpLocked()
}

// runningLocked returns the names of the live sessions with the prefix, sorted.
func (w *world) runningLocked(prefix string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(w.sessions)) {
		if strings.HasPrefix(name, prefix) && w.sessions[name].aliveLocked() {
			names = append(names, name)
		}
	}
	return names
}

// place gives access to the simulated agents' processes and to the real processes of start steps.
type place struct {
	runtimetest.Local
	world *world
}

// Place returns the Place of f's agents.
func (f *Provider) Place() runtimetest.Place { return place{world: f.world} }

func (p place) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Alive reports whether a process exists: a simulated one, or a real one for a small pid.
func (p place) Alive(pid int) bool {
	if pid < firstPID {
		return p.Local.Alive(pid)
	}
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.world.owners[pid] != nil
}

// Kill kills a simulated process, or a real one for a small pid.
func (p place) Kill(pid int) error {
	if pid < firstPID {
		return p.Local.Kill(pid)
	}
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	s := p.world.owners[pid]
	if s == nil {
		return syscall.ESRCH
	}
	s.killLocked(pid, runtime.Exit{Code: -1, Signal: "killed"})
	return nil
}
