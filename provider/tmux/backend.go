package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// sessionBackend implements driver.Backend for one session.
type sessionBackend struct {
	provider *Provider
	name     string
	cfg      runtime.Config
	existing *record  // the record of the session to relaunch; nil for a start
	lock     *os.File // the lock of the session's directory; nil after Create
	record   *record  // nil before Create has made the session
	pane     *pane
}

var _ driver.Backend = (*sessionBackend)(nil)

func (b *sessionBackend) dir() statedir.Folder { return b.provider.dir(b.name) }

// Claim implements driver.Backend.
func (b *sessionBackend) Claim(ctx context.Context) error {
	p := b.provider
	if statedir.NotExists(b.dir().Record()) {
		if err := p.checkNotRunning(ctx, b.name, b.cfg.Env[proc.CityKey]); err != nil {
			return err
		}
	}
	lock, err := b.dir().Claim()
	if err != nil {
		return err
	}
	r, err := readRecord(b.dir())
	if err == nil && r != nil {
		err = p.removeEnded(ctx, r)
	}
	if err == nil {
		err = removePrevious(b.dir())
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	b.lock = lock
	return nil
}

// removeEnded removes the remaining window and files of a session whose agent has exited, so that a new one can start. It
// returns an error that is runtime.ErrSessionExists if the agent runs, or errOrphans if processes of a lost session run.
// The caller holds the session's lock.
func (p *Provider) removeEnded(ctx context.Context, r *record) error {
	s, err := p.stateOf(ctx, r)
	switch {
	case errors.Is(err, errNotOurs):
		pids, err := p.orphans(r)
		var unreadable *proc.UnreadableError
		if err != nil && !errors.As(err, &unreadable) {
			return err
		}
		if len(pids) > 0 {
			return fmt.Errorf("session %q: %w: %v; stop the session first", r.Name, errOrphans, pids)
		}
	case err != nil:
		return err
	case !s.Dead:
		return fmt.Errorf("%w: its agent runs; stop it first", runtime.ErrSessionExists)
	}
	return p.killInstance(ctx, r, -1)
}

// Create implements driver.Backend.
func (b *sessionBackend) Create(ctx context.Context, spec driver.StartSpec) error {
	if b.existing != nil {
		return b.relaunch(ctx, spec)
	}
	r, err := b.prepare(ctx, spec)
	if err != nil {
		return err
	}
	launcher, err := b.writeLauncher(spec, r.WorkDir)
	if err != nil {
		return err
	}
	s, err := b.createSession(ctx, r, launcher)
	if err != nil {
		return errors.Join(err, remove(launcher))
	}
	r.Session, r.Window, r.Pane = s.Session, s.Window, s.Pane
	r.Root = identifyProcess(s.PID)
	r.Agent = r.Root
	server, _, _ := b.provider.server.client.Server()
	r.Server = server.PID
	b.record = r
	if err := r.write(b.dir()); err != nil {
		return err
	}
	b.pane = b.provider.panes.update(r, s)
	err = b.lock.Close() // from here on another start finds the session
	b.lock = nil
	return err
}

// prepare starts the server if necessary and writes the session's files. It returns the session's record,
// which does not name a pane yet.
func (b *sessionBackend) prepare(ctx context.Context, spec driver.StartSpec) (*record, error) {
	if err := b.provider.server.Start(ctx); err != nil {
		return nil, err
	}
	b.provider.panes.listen() // before the agent's first output
	boot, err := proc.BootID()
	if err != nil {
		return nil, err
	}
	dir, err := b.provider.WorkDirOf(spec)
	if err != nil {
		return nil, err
	}
	r := &record{
		Version: recordVersion, Name: b.name, WorkDir: dir, Labels: screen.Labels(b.cfg), ProcessNames: b.cfg.ProcessNames,
		StartedAt: time.Now(), Boot: boot, Launches: 1, Waits: true, LeftProcesses: leavesProcesses(b.cfg), token: spec.Instance,
	}
	return r, errors.Join(
		statedir.WriteFile(b.dir().Instance(), []byte(r.token)),
		statedir.WriteFile(b.dir().Input(), nil),
		r.write(b.dir()),
	)
}

// createSession creates the tmux session in one command sequence and returns its state. The sequence creates
// a pane that runs an empty command, sets the pane's options and size, and links the window into the hub.
// It starts the agent last, so the agent never sees another size.
func (b *sessionBackend) createSession(ctx context.Context, r *record, launcher string) (paneState, error) {
	target := "=" + r.Name + ":"
	set := func(kind, name, value string) tmuxCommand {
		return cmd("set-option", kind, "-t", target, name, value)
	}
	mouse := "off"
	if b.cfg.MouseOn {
		mouse = "on"
	}
	size := []string{"-x", fmt.Sprint(defaultCols), "-y", fmt.Sprint(defaultRows)}
	create := append([]string{"-d", "-E", "-s", r.Name, "-n", r.Name, "-c", r.WorkDir}, size...)
	commands := []tmuxCommand{
		cmd("new-session", append(create, "--", shellPath, "-c", ":")...),
		set("-p", "@"+optionInstance, r.hash()),
		set("-p", "@"+optionSession, r.Name),
		set("-p", "@"+optionRecord, r.encodeForPane()),
		set("-w", "window-size", "manual"),
		cmd("resize-window", append([]string{"-t", target}, size...)...),
		cmd("select-pane", "-t", target, "-T", ""),
		cmd("set-option", "-t", target, "mouse", mouse),
		cmd("link-window", "-d", "-s", target, "-t", "="+hub+":"),
		cmd("respawn-pane", "-k", "-c", r.WorkDir, "-t", target, "--", shellPath, launcher),
		cmd("display-message", "-p", "-t", target, stateFields),
	}
	reply, err := b.provider.server.Query(ctx, sequence(commands...))
	switch {
	case errors.Is(err, errExists):
		// Claim would have found a session of gc.
		return paneState{}, fmt.Errorf("the tmux server has a session %q that gc did not start; rename or close it: tmux -S %s kill-session -t '=%s'", r.Name, b.provider.server.socket, r.Name)
	case err != nil:
		b.removePartial(ctx, r)
		return paneState{}, err
	}
	lines := reply.Lines()
	if len(lines) == 0 {
		return paneState{}, errors.New("tmux did not report the new session")
	}
	s, err := parseState(lines[len(lines)-1])
	if err == nil && s.Hash != r.hash() {
		err = fmt.Errorf("tmux reported another session: %q", s.Name)
	}
	return s, err
}

// removePartial removes the session if createSession failed after it created the session.
func (b *sessionBackend) removePartial(ctx context.Context, r *record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), driver.CallTimeout)
	defer cancel()
	list, _, err := b.provider.server.List(ctx)
	if err != nil {
		return // without a list nothing can be removed
	}
	if slices.ContainsFunc(list, func(s paneState) bool { return s.Hash == r.hash() }) {
		_ = b.provider.killInstance(ctx, r, -1) // the start fails in any case
	}
}

// relaunch stops the agent and starts a new instance in the existing pane.
func (b *sessionBackend) relaunch(ctx context.Context, spec driver.StartSpec) error {
	p := b.provider
	lock, err := claimFolder(ctx, b.dir())
	if err != nil {
		return err
	}
	defer lock.Close()
	r, err := readRecord(b.dir())
	if err != nil {
		return err
	}
	if r == nil || r.token != b.existing.token {
		return runtime.ErrSessionNotFound
	}
	resume, err := p.server.client.PauseOutput(ctx, r.Pane) // before the agent exits: tmux does not drain a dead pane
	if err != nil {
		return err
	}
	defer resume()
	if err := r.endTree(ctx, p.cfg.StopGrace); err != nil {
		return err
	}
	previous := *r
	r.token, r.StartedAt, r.ProcessNames, r.Labels = spec.Instance, time.Now(), b.cfg.ProcessNames, screen.Labels(b.cfg)
	r.Launches++
	r.Child, r.LeftProcesses = proc.ID{}, leavesProcesses(b.cfg)
	launcher, err := b.writeLauncher(spec, r.WorkDir)
	if err != nil {
		return err
	}
	// A client with the previous token is refused from here on.
	if err := errors.Join(statedir.WriteFile(b.dir().Instance(), []byte(r.token)), r.write(b.dir())); err != nil {
		return err
	}
	s, err := b.respawn(ctx, &previous, r, launcher)
	if err != nil {
		return errors.Join(err, remove(launcher))
	}
	r.Root = identifyProcess(s.PID)
	r.Agent, b.record = r.Root, r
	b.pane = p.panes.update(r, s)
	return r.write(b.dir())
}

// respawn changes the pane from the previous instance to the next one and starts the launcher in it, in one
// command sequence. It returns the pane's new state. It fails with errFenced if the pane no longer belongs to
// the previous instance.
func (b *sessionBackend) respawn(ctx context.Context, previous, next *record, launcher string) (paneState, error) {
	unset := func(name string) tmuxCommand {
		return cmd("set-option", "-p", "-q", "-u", "-t", next.target(), "@"+name)
	}
	// relaunch has paused the pane's output. No output of the next program may be lost.
	resumeOutput := tmuxCommand{}
	if _, can, _ := b.provider.server.client.Server(); can.Pause {
		resumeOutput = cmd("refresh-client", "-A", next.Pane+":continue")
	}
	reply, err := b.provider.act(ctx, previous, previous.paneCondition(), sequence(
		cmd("set-option", "-p", "-t", next.target(), "@"+optionInstance, next.hash()),
		cmd("set-option", "-p", "-t", next.target(), "@"+optionRecord, next.encodeForPane()),
		unset(optionPaste), unset(optionSigns), unset(optionLease),
		cmd("select-pane", "-t", next.target(), "-T", ""),
		cmd("respawn-pane", "-k", "-c", next.WorkDir, "-t", next.target(), "--", shellPath, launcher),
		resumeOutput,
		cmd("rename-window", "-t", next.target(), "#{window_name}"), // notifies all control clients
		cmd("display-message", "-p", "-t", next.target(), stateFields),
	))
	if err != nil {
		return paneState{}, err
	}
	return parseState(lastLine(string(reply)))
}

// leavesProcesses reports whether the configuration has commands that gc runs itself for the session. Their background
// processes have the instance token and are no descendants of the pane's process.
func leavesProcesses(cfg runtime.Config) bool {
	return len(cfg.PreStart)+len(cfg.SessionSetup)+len(cfg.SessionLive)+len(cfg.SessionSetupScript) > 0
}

// Terminal implements driver.Backend.
func (b *sessionBackend) Terminal() screen.Terminal {
	return &terminal{provider: b.provider, record: b.record, pane: b.pane}
}

// Life implements driver.Backend.
func (b *sessionBackend) Life(ctx context.Context, wait time.Duration) (driver.AgentLife, error) {
	end := time.Now().Add(wait)
	for {
		_, changed := b.pane.state()
		s, err := b.provider.stateOf(ctx, b.record)
		switch {
		case errors.Is(err, errNotOurs):
			return driver.AgentLife{}, runtime.ErrSessionNotFound
		case err != nil:
			return driver.AgentLife{}, err
		case s.Dead:
			text, err := b.provider.text(ctx, b.record, lastLines)
			return driver.AgentLife{Exit: s.Exit, Output: text}, err
		}
		left := time.Until(end)
		if left <= 0 {
			return driver.AgentLife{Alive: true}, nil
		}
		select {
		case <-changed:
		case <-time.After(left):
		case <-ctx.Done():
			return driver.AgentLife{}, context.Cause(ctx)
		}
	}
}

// lastLines is the number of output lines that are reported with an agent's exit.
const lastLines = 80

// Destroy implements driver.Backend.
func (b *sessionBackend) Destroy(ctx context.Context) error {
	switch {
	case b.existing != nil:
		return nil // a failed relaunch keeps the session
	case b.record == nil || b.lock != nil:
		err := b.dir().Remove()
		if b.lock != nil {
			err = errors.Join(err, b.lock.Close())
			b.lock = nil
		}
		return err
	}
	return b.provider.stop(ctx, b.name, &b.record.token, -1)
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
