package tmux

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Somebody can remove the sessions' directories while the server and the sessions run. Therefore an option of the
// pane contains a copy of the record without the token. The token is in the environment of the pane's process. See
// docs/adr/0027.

// mayBeUnrecorded reports whether the session with the directory dir may be running although its record is missing. The
// caller then searches the tmux server for it. It may at the first call, because nothing is known yet; if the parent of the
// sessions' directories was removed; and if the session's first process still runs or cannot be checked.
func (p *Provider) mayBeUnrecorded(dir statedir.Folder) bool {
	return !p.searched.Swap(true) || statedir.NotExists(p.sessions()) || p.observed.MayRun(string(dir))
}

// restore recreates the records of running sessions that have none. If the server's socket is missing, restore
// first has the server create the socket again.
func (p *Provider) restore(ctx context.Context) error {
	if err := p.server.RestoreSocket(ctx); err != nil {
		return err
	}
	list, _, err := p.server.List(ctx)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(statedir.CheckTrusted(p.cfg.Dir), statedir.MakePrivate(p.cfg.Dir), statedir.MakePrivate(p.sessions())); err != nil {
		return err
	}
	for _, s := range list {
		if !s.Dead && statedir.NotExists(p.dir(s.Name).Record()) {
			err = errors.Join(err, p.restoreOne(ctx, s))
		}
	}
	return err
}

// restoreOne recreates the record of one session. It does nothing if another caller has locked the session.
func (p *Provider) restoreOne(ctx context.Context, s paneState) error {
	dir := p.dir(s.Name)
	lock, err := dir.Claim()
	if errors.Is(err, statedir.ErrLocked) {
		return nil // another caller is starting or stopping the session
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if !statedir.NotExists(dir.Record()) {
		return nil
	}
	r, err := p.recordOf(ctx, s)
	if err == nil && r != nil {
		_, err = p.stateOf(ctx, r) // the session may have been stopped meanwhile
	}
	if r == nil || errors.Is(err, errNotOurs) {
		return dir.Remove()
	}
	if err != nil {
		return err
	}
	p.cfg.Logger.Warn("the directory of a running session was removed; gc has created it again", "session", r.Name)
	return errors.Join(
		statedir.WriteFile(dir.Input(), nil),
		statedir.WriteFile(dir.Instance(), []byte(r.token)),
		r.write(dir),
	)
}

// recordOf rebuilds the record of a session from its pane's options and the environment of the pane's process. It
// returns nil if the token in the environment does not match the pane.
func (p *Provider) recordOf(ctx context.Context, s paneState) (*record, error) {
	env, err := proc.Environ(s.PID)
	if err != nil {
		return nil, err
	}
	token := proc.Getenv(env, proc.TokenKey)
	if token == "" || hashOf(token) != s.Hash {
		return nil, nil
	}
	r := &record{}
	reply, err := p.server.Query(ctx, cmd("display-message", "-p", "-t", s.Pane, "#{@"+optionRecord+"}"))
	if err != nil {
		return nil, err
	}
	text, err := hex.DecodeString(string(reply.Output))
	if err != nil || len(text) == 0 || json.Unmarshal(text, r) != nil || r.Name != s.Name { // the session was started by an earlier release
		*r = record{
			Version: recordVersion, Name: s.Name, WorkDir: proc.Getenv(env, "GC_DIR"), StartedAt: time.Now(), Launches: 1,
			Labels: screen.Labels(runtime.Config{ProviderName: proc.Getenv(env, "GC_PROVIDER"), ReadyPromptPrefix: proc.Getenv(env, "GC_READY_PROMPT_PREFIX")}),
		}
	}
	if r.Boot, err = proc.BootID(); err != nil {
		return nil, err
	}
	server, _, _ := p.server.client.Server()
	r.Session, r.Window, r.Pane, r.Server, r.token = s.Session, s.Window, s.Pane, server.PID, token
	r.Root = identifyProcess(s.PID)
	r.Agent, r.Child = r.Root, proc.ID{}
	return r, nil
}

// optionRecord is the option of a pane that contains a copy of the record: JSON in hexadecimal digits.
const optionRecord = "gc_record"

// encodeForPane returns the value of optionRecord for the record. The token is not in it.
func (r *record) encodeForPane() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // readers treat it as no copy
	}
	return hex.EncodeToString(text)
}

// checkNotRunning checks, before a session without a record is started, that the session does not run already. It
// returns an error that matches runtime.ErrSessionExists if processes of the session run.
func (p *Provider) checkNotRunning(ctx context.Context, name, city string) error {
	if err := p.restore(ctx); err != nil {
		return err
	}
	if !statedir.NotExists(p.dir(name).Record()) {
		return nil
	}
	live, err := p.scanner.Agents(city, name)
	if err == nil && len(live) == 0 {
		live, err = p.scanner.Leaderless(city, name) // the waiter exits with its terminal, but the agent may continue to run
	}
	if err != nil || len(live) == 0 {
		return err
	}
	return driver.Failure(runtime.ErrSessionExists, &proc.OrphanError{Session: name, PIDs: proc.AgentPIDs(live)})
}
