package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// IsRunning implements runtime.Inspector.
func (p *Provider) IsRunning(name string) bool {
	ctx, cancel := driver.CallContext()
	defer cancel()
	if p.isCurrentRunning(ctx, name) {
		return true
	}
	s, err := p.observeSession(ctx, name)
	return err == nil && s.isLive()
}

// isCurrentRunning reports whether the instance in the cached record runs. If the result is false, another
// instance may run.
func (p *Provider) isCurrentRunning(ctx context.Context, name string) bool {
	r, err := p.records.Load(p.dir(name), readRecord)
	if err != nil || r == nil || r.Pane == "" {
		return false
	}
	reply, err := p.server.Query(ctx, cmd("display-message", "-p", "-t", r.target(), "#{@"+optionInstance+"} #{pane_id} #{pane_dead}"))
	return err == nil && string(reply.Output) == r.hash()+" "+r.Pane+" 0"
}

// GetLastActivity implements runtime.Inspector. The time has a resolution of one second for output that this
// process has not read itself.
func (p *Provider) GetLastActivity(name string) (time.Time, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	s, err := p.observeOp(ctx, "read last activity of", name)
	if err != nil || s.state == nil {
		return time.Time{}, err
	}
	return p.lastOutput(s), nil
}

// lastOutput returns the time of the session's last output.
func (p *Provider) lastOutput(s observation) time.Time {
	pane := p.panes.update(s.record, *s.state)
	p.panes.mu.Lock()
	defer p.panes.mu.Unlock()
	if pane.lastOutput.IsZero() {
		return s.state.Output
	}
	return pane.lastOutput
}

// names returns the names of the running sessions.
func (p *Provider) names(ctx context.Context) ([]string, error) {
	names, err := p.server.Running(ctx)
	if isAbsent(err) {
		return nil, nil
	}
	return names, err
}

// roots returns the processes of the panes of all running sessions.
func (p *Provider) roots(ctx context.Context) (map[proc.ID]string, error) {
	list, _, err := p.server.List(ctx)
	if isAbsent(err) {
		return nil, nil
	}
	roots := map[proc.ID]string{}
	for _, s := range list {
		if !s.Dead {
			roots[identifyProcess(s.PID)] = s.Name
		}
	}
	return roots, err
}

// ProcessAlive implements runtime.Inspector.
func (p *Provider) ProcessAlive(name string, processNames []string) bool {
	if len(processNames) == 0 {
		return true
	}
	r, err := p.records.Load(p.dir(name), readRecord)
	if err != nil || r == nil || !r.waiterRuns() {
		ctx, cancel := driver.CallContext()
		defer cancel()
		s, err := p.observeSession(ctx, name)
		if err != nil || !s.isLive() {
			return false
		}
		r = s.record
	}
	alive, _ := proc.AnyNamedInTree(r.Root.PID, processNames, r.Root.PID) // unknown counts as not alive
	return alive
}

// waiterRuns reports whether the waiter of the session (the shell that runs the agent in the pane) certainly runs as a
// child of the tmux server. If so, the server and the pane exist: when the server exits, the kernel gives the waiter
// another parent, and when the pane is closed, the waiter exits.
func (r *record) waiterRuns() bool {
	if r.Root.PID == 0 || r.Server == 0 || !r.sameBoot() {
		return false
	}
	waiter, err := proc.Stat(r.Root.PID)
	return err == nil && waiter.ID == r.Root && !waiter.Ended() && waiter.PPID == r.Server
}

// Observe implements runtime.Observer.
func (p *Provider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	obs, live, err := p.observe(ctx, name)
	if live && obs.Agent == runtime.Dead { // the agent may have exited between the two queries; the next one has its exit status
		obs, _, err = p.observe(ctx, name)
	}
	if err != nil {
		return obs, &runtime.Error{Op: "observe", Session: name, Err: errors.Join(runtime.ErrRuntimeUnavailable, err)}
	}
	return obs, nil
}

// observe makes one observation. live reports whether the server lists the session as running.
func (p *Provider) observe(ctx context.Context, name string) (obs runtime.Observation, live bool, err error) {
	obs.At = time.Now()
	s, err := p.observeSession(ctx, name)
	if err == nil {
		s, err = p.awaitExitStatus(ctx, s)
	}
	if err != nil {
		return obs, false, err
	}
	obs.Session, obs.Agent = runtime.Dead, runtime.Dead
	if r := s.record; r != nil {
		obs.InstanceToken, obs.Handle = r.token, r.token
		obs.PID, obs.StartTime, obs.StartedAt = r.command().PID, r.command().Start, r.StartedAt
	}
	switch {
	case s.busy:
		obs.Session, obs.Agent = runtime.Alive, runtime.Unknown
	case s.isLive():
		p.observeLive(&obs, s)
	case s.state != nil:
		exit := s.state.Exit
		obs.Session, obs.Exit, obs.Title, obs.Attached = runtime.Alive, &exit, s.state.Title, p.attached(s)
		obs.LastActivity, obs.LastInput = p.lastOutput(s), s.state.LastInput()
		if text, err := p.text(ctx, s.record, lastLines); err == nil { // on an error the next observation reads it
			obs.Last = screen.Last(text, screen.RulesOf(s.record.Labels, p.cfg.Profiles), exit.At)
		}
	case s.isLost():
		p.observeLost(&obs, s.record)
		obs.Cause = p.causeOfLoss(s.record)
	}
	return obs, s.isLive(), nil
}

// exitNoticeLimit is the longest time that an observation waits for the server to notice an exit.
const exitNoticeLimit = 2 * time.Second

// awaitExitStatus handles the moment between the exit of a process and its exit status. If the pane's process or
// the waiter's child has exited and the server does not know it yet, awaitExitStatus waits until the server
// does, for at most exitNoticeLimit. It returns the latest observation.
func (p *Provider) awaitExitStatus(ctx context.Context, s observation) (observation, error) {
	began := time.Now()
	for delay := retry.New(time.Millisecond, 50*time.Millisecond); s.isLive() && time.Since(began) < exitNoticeLimit; {
		info, err := proc.Stat(s.state.PID)
		switch {
		case err == nil && info.Ended():
			wakeReaper(info)
		case !errors.Is(err, proc.ErrGone) && !s.record.commandEnded():
			return s, nil
		}
		if !delay.Wait(ctx) {
			return s, context.Cause(ctx)
		}
		if s, err = p.observeSession(ctx, s.record.Name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// observeLive fills obs for a session that runs. It also resumes an agent that has suspended itself.
func (p *Provider) observeLive(obs *runtime.Observation, s observation) {
	obs.Session, obs.Attached, obs.Title = runtime.Alive, p.attached(s), s.state.Title
	obs.LastActivity, obs.LastInput = p.lastOutput(s), s.state.LastInput()
	p.identified(s.record)
	s.record.resume()
	obs.PID, obs.StartTime = s.record.Agent.PID, s.record.Agent.Start
	obs.Agent = s.record.liveness()
}

// observeLost fills obs for a lost session. It reports the agent as alive if any process has the instance's
// token, and names one of these processes.
func (p *Provider) observeLost(obs *runtime.Observation, r *record) {
	pids, err := p.orphans(r)
	switch {
	case len(pids) > 0:
		obs.Agent = runtime.Alive
		if !slices.Contains(pids, obs.PID) {
			left := identifyProcess(pids[0])
			obs.PID, obs.StartTime = left.PID, left.Start
		}
	case err != nil:
		obs.Agent = runtime.Unknown
	}
}

// causeOfLoss returns the reason, as a clause for people, why a session is lost.
func (p *Provider) causeOfLoss(r *record) string {
	server, _, there := p.server.client.Server()
	switch {
	case !r.sameBoot():
		return "the machine was restarted, and its tmux server is gone"
	case !there || server.PID != r.Server:
		return fmt.Sprintf("its tmux server (process %d) ended, and with it every session", r.Server)
	}
	return "it was closed inside tmux, and the tmux server still runs"
}

// Peek implements runtime.Output.
func (p *Provider) Peek(name string, lines int) (string, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	const op = "peek at"
	if r, err := p.records.Load(p.dir(name), readRecord); err == nil && r != nil && r.Pane != "" {
		if text, err := p.text(ctx, r, lines); err == nil {
			return text, nil
		}
	}
	s, err := p.observeOp(ctx, op, name)
	if err != nil {
		return "", err
	}
	if s.state == nil {
		return "", &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	text, err := p.text(ctx, s.record, lines)
	return text, fold(op, name, err)
}

// text returns the last n lines of the instance's pane, scrollback included; n <= 0 means all. It returns
// errFenced if there is no such pane.
func (p *Provider) text(ctx context.Context, r *record, n int) (string, error) {
	first := "-"
	if n > 0 {
		first = "-" + strconv.Itoa(n) // n lines above the screen, because the lower rows of the screen may be blank
	}
	reply, err := p.server.Query(ctx, sequence(
		cmd("display-message", "-p", "-t", r.target(), "#{@"+optionInstance+"} #{pane_id}"),
		cmd("capture-pane", "-p", "-e", "-S", first, "-t", r.target()), // without -e, line drawing is letters
	))
	if errors.Is(err, errNotFound) || isAbsent(err) {
		return "", errFenced
	}
	if err != nil {
		return "", err
	}
	all := reply.Lines()
	if len(all) == 0 || all[0] != r.hash()+" "+r.Pane {
		return "", errFenced
	}
	all = all[1:]
	var rows vt.RowReader
	for i, line := range all {
		all[i] = strings.TrimRight(rows.Text(line), " \t\r")
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if n > 0 {
		all = all[max(0, len(all)-n):]
	}
	return strings.Join(all, "\n"), nil
}

// ClearScrollback implements runtime.Output.
func (p *Provider) ClearScrollback(name string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	s, err := p.observeOp(ctx, "clear", name)
	if err != nil || s.state == nil {
		return err
	}
	_, err = p.act(ctx, s.record, s.record.paneCondition(), cmd("clear-history", "-t", s.record.target()))
	if errors.Is(err, errFenced) {
		return nil
	}
	return fold("clear", name, err)
}
