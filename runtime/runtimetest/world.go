package runtimetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/runtime"
)

const (
	// caseTime is the limit of a case, at least dozens times its patience: the longest cases send
	// dozens of prompts, and each of them may take a slow driver a large part of that time.
	caseTime, dozens = 2 * time.Minute, 10
	// minCheckPause and maxCheckPause are the shortest and the longest pause between two checks of something
	// without events, such as a file.
	minCheckPause, maxCheckPause = time.Millisecond, 20 * time.Millisecond
)

// World is the environment of one case: an empty directory, the provider under test and the
// sessions that the case started. Its methods report failures to the case's [T] and must be called
// from the case's goroutine unless their comment says otherwise.
type World struct {
	// Provider is the provider that Harness.New opened.
	Provider runtime.Provider
	// Dir is the directory that New got.
	Dir string

	t       T
	ctx     context.Context //nolint:containedctx // a world exists as long as the call that runs the case
	harness *Harness
	place   Place

	patience time.Duration // how long to wait for an expected event
	root     string        // directory with Dir and all other files of the case
	prefix   string
	opened   []runtime.Provider
	agents   []Agent
	names    []string
	counter  int
}

// newWorld creates the directories of a case and opens its provider.
func newWorld(ctx context.Context, t T, h *Harness) (*World, error) {
	root, err := os.MkdirTemp("", "gcrt")
	if err != nil {
		return nil, err
	}
	w := &World{t: t, ctx: ctx, harness: h, place: h.Place, patience: h.timeout(), root: root, Dir: filepath.Join(root, "w")}
	if w.place == nil {
		w.place = Local{}
	}
	w.prefix = "rt" + strings.ToLower(rand.Text()[:8])
	if err := os.Mkdir(w.Dir, 0o700); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	w.Provider = h.New(t, w.Dir)
	w.opened = append(w.opened, w.Provider)
	return w, nil
}

// Context returns a context that ends with the case.
func (w *World) Context() context.Context { return w.ctx }

// Name returns a session name that no other world has and that begins with [World.Prefix]. The
// world stops the session at the end.
func (w *World) Name(suffix string) string {
	name := w.prefix + "-" + suffix
	w.names = append(w.names, name)
	return name
}

// Prefix returns the beginning of all session names of this world.
func (w *World) Prefix() string { return w.prefix + "-" }

// Folder returns a new empty directory, for work or for source files.
func (w *World) Folder() string {
	w.t.Helper()
	w.counter++
	dir := filepath.Join(w.root, fmt.Sprintf("d%d", w.counter))
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.t.Fatalf("cannot create a directory: %v", err)
	}
	return dir
}

// Agent returns a fake agent with the given behavior, in a new working directory.
func (w *World) Agent(b Behaviour) Agent {
	w.t.Helper()
	agent := w.harness.Agent(w.t, w.Folder(), b)
	if agent.Config.WorkDir == "" {
		agent.Config.WorkDir = w.Folder()
	}
	w.agents = append(w.agents, agent)
	return agent
}

// Start starts an agent with the given behavior. The session's name ends in suffix, and edits
// change its configuration. A failed start fails the case.
func (w *World) Start(suffix string, b Behaviour, edits ...func(*runtime.Config)) *Session {
	w.t.Helper()
	s := w.Prepare(suffix, b, edits...)
	if err := w.Provider.Start(w.ctx, s.Name, s.Agent.Config); err != nil {
		w.t.Fatalf("Start(%s) = %v, want nil", s.Name, err)
	}
	return s
}

// Prepare returns the session that [World.Start] would start.
func (w *World) Prepare(suffix string, b Behaviour, edits ...func(*runtime.Config)) *Session {
	w.t.Helper()
	s := &Session{Name: w.Name(suffix), Agent: w.Agent(b), w: w}
	for _, edit := range edits {
		edit(&s.Agent.Config)
	}
	return s
}

// Reopen opens another provider over the same world.
func (w *World) Reopen() runtime.Provider {
	w.t.Helper()
	p := w.harness.Reopen(w.t, w.Dir)
	w.opened = append(w.opened, p)
	return p
}

// Until waits until ok returns true. It fails the case if that takes longer than the patience.
func (w *World) Until(what string, ok func() bool) {
	w.t.Helper()
	if !w.within(w.patience, ok) {
		w.t.Fatalf("%s: not within %s", what, w.patience)
	}
}

// within reports whether ok returns true before the limit. It calls ok again and again, with growing
// pauses.
func (w *World) within(limit time.Duration, ok func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for pause := minCheckPause; ; pause = min(2*pause, maxCheckPause) {
		if ok() {
			return true
		}
		select {
		case <-deadline.C:
			return ok()
		case <-w.ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// ReadFile returns the content of a file on the agents' machine. ok is false if it does not exist.
func (w *World) ReadFile(path string) (text string, ok bool) {
	w.t.Helper()
	data, err := w.place.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatalf("cannot read %s: %v", path, err)
	}
	return string(data), err == nil
}

// Exists reports whether a file exists on the agents' machine.
func (w *World) Exists(path string) bool {
	w.t.Helper()
	_, ok := w.ReadFile(path)
	return ok
}

// Write writes a file on this machine and returns its path.
func (w *World) Write(path, text string) string {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatalf("cannot write: %v", err)
	}
	return path
}

// Alive reports whether the process runs on the agents' machine.
func (w *World) Alive(pid int) bool { return w.place.Alive(pid) }

// close stops what the case started, checks that nothing is left, and removes the directories. It
// runs after the case's goroutine has ended.
func (w *World) close() {
	for _, name := range w.names {
		if err := w.Provider.Stop(name); err != nil && runtime.ValidateName(name) == nil {
			w.t.Errorf("%sStop(%s) = %v, want nil", cleanUp, name, err)
		}
	}
	if err := runtime.TeardownServer(w.Provider); err != nil {
		w.t.Errorf("%sTeardownServer() = %v, want nil", cleanUp, err)
	}
	for _, agent := range w.agents {
		w.sweep(agent)
	}
	for _, p := range w.opened {
		if c, ok := p.(io.Closer); ok {
			if err := c.Close(); err != nil {
				w.t.Errorf("%sClose() = %v, want nil", cleanUp, err)
			}
		}
	}
	if err := os.RemoveAll(w.root); err != nil {
		w.t.Errorf("%s%v", cleanUp, err)
	}
}

// cleanUp is the beginning of messages about problems that were found after the case.
const cleanUp = "after the case: "

// sweep reports and kills processes of an agent that still run after the case.
func (w *World) sweep(agent Agent) {
	data, err := w.place.ReadFile(agent.Ledger)
	if err != nil {
		return // the agent never ran
	}
	entries, err := ParseLedger(data)
	if err != nil {
		w.t.Errorf("%sledger: %v", cleanUp, err)
	}
	for _, e := range entries {
		for _, pid := range e.processes() {
			if w.place.Alive(pid) && !w.processStart(pid).After(e.Time.Add(time.Second)) {
				w.t.Errorf("%sprocess %d of an agent still runs", cleanUp, pid)
				if err := w.place.Kill(pid); err != nil {
					w.t.Errorf("%scannot kill it: %v", cleanUp, err)
				}
			}
		}
	}
}

// processStart returns the start time of the process from /proc, or the zero time if unknown. A
// process that started after an agent recorded its id is a different process with the same id.
func (w *World) processStart(pid int) time.Time {
	stat, err := w.place.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	uptime, other := w.place.ReadFile("/proc/uptime")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || other != nil || len(fields) < 20 {
		return time.Time{}
	}
	var up, hundredths float64
	if _, err := fmt.Sscan(string(uptime)+" "+string(fields[19]), &up, new(float64), &hundredths); err != nil {
		return time.Time{}
	}
	return time.Now().Add(time.Duration((hundredths/100 - up) * float64(time.Second)))
}
