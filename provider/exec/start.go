package exec

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"gascity/internal/driver"
	"gascity/internal/driver/script"
	"gascity/internal/proc"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// cleanUpLimit is the limit for stopping a session whose start has failed.
const cleanUpLimit = 60 * time.Second

// Start implements runtime.Runner. The script runs what belongs to the session's environment:
// pre_start, staging, set-up. The driver waits for readiness and sends the first prompt, unless the
// script declares that it runs the whole start sequence.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.ValidateName(name); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if err := context.Cause(ctx); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	cfg = withIdentity(name, cfg)
	var err error
	if p.caps.Has(script.CapSequence) {
		err = p.startWhole(ctx, name, cfg)
	} else {
		err = p.startSteps(ctx, name, cfg)
	}
	p.listings.invalidate()
	return driver.WithCause(ctx, err)
}

// withIdentity returns cfg with the environment variables that identify the session and its
// instance.
func withIdentity(name string, cfg runtime.Config) runtime.Config {
	cfg = runtime.SyncWorkDirEnv(cfg)
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["GC_SESSION_NAME"] = name
	env[proc.TokenKey] = cmp.Or(env[proc.TokenKey], driver.NewToken())
	cfg.Env = env
	return cfg
}

// startWhole starts a session with a script that runs the whole start sequence.
func (p *Provider) startWhole(ctx context.Context, name string, cfg runtime.Config) error {
	if _, err := p.begin(ctx, name, script.NewStart(cfg).WithSequence(cfg)); err != nil {
		return err
	}
	p.known.set(name, struct{}{})
	if p.caps.Has(script.CapObserve) {
		return nil
	}
	return p.mark(ctx, name, cfg)
}

// startSteps starts a session with a script that only creates it.
func (p *Provider) startSteps(ctx context.Context, name string, cfg runtime.Config) error {
	release, err := p.starts.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	switch obs, err := p.query(ctx, name); {
	case err != nil && !isMissing(err):
		return &runtime.Error{Op: "start", Session: name, Err: err}
	case err == nil && running(obs) == runtime.Alive:
		return &runtime.Error{Op: "start", Session: name, Err: runtime.ErrSessionExists}
	case err == nil && running(obs) == runtime.Unknown:
		return &runtime.Error{Op: "start", Session: name, Err: fmt.Errorf("%w: the script does not know whether the session runs", runtime.ErrRuntimeUnavailable)}
	}
	if err := p.notes.Clear(name); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	typePrompt := p.typesPrompts(ctx, cfg)
	doc := script.NewStart(cfg)
	if !typePrompt {
		doc.Nudge = cfg.Nudge
	}
	p.tmuxSessions.remove(name)
	switch made, err := p.begin(ctx, name, doc); {
	case !made && (errors.Is(err, runtime.ErrSessionExists) || isMissing(err)):
		return err // nothing was started
	case err != nil:
		return p.undo(ctx, name, err)
	}
	p.listings.invalidate()
	if err := p.conclude(ctx, name, cfg, typePrompt); err != nil {
		return p.undo(ctx, name, err)
	}
	return nil
}

// begin creates the session: with start, or with provision and a command in its sandbox. made
// reports whether a sandbox may exist, also if there is an error.
func (p *Provider) begin(ctx context.Context, name string, doc script.Start) (made bool, err error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return false, &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if p.provisions() {
		if _, err := p.call(ctx, request{op: script.OpProvision, name: name, stdin: data, verb: "start"}); err != nil {
			return false, err
		}
		if p.readsScreens() {
			if done, err := p.runInSandbox(ctx, name, doc.Command); done || err != nil {
				return true, err
			}
		}
	}
	r, err := p.call(ctx, request{op: script.OpStart, name: name, stdin: data})
	return p.provisions(), p.startError(name, r, err)
}

// startError adds the sentinel error to the error of a failed start.
func (p *Provider) startError(name string, r reply, err error) error {
	se, ok := errors.AsType[*ScriptError](err)
	switch {
	case !ok:
		return err
	case se.Err == nil && strings.Contains(strings.ToLower(r.stderr), "already exists"):
		se.Err = runtime.ErrSessionExists
	case errors.Is(se.Err, runtime.ErrSessionDiedDuringStartup):
		se.Stderr = "" // the StartupDeath contains the output
	}
	return &runtime.Error{Op: "start", Session: name, Err: se}
}

// typesPrompts reports whether gc sends the first prompt with the operation nudge. Otherwise the
// script gets the prompt with the start. To find out whether the script has nudge, typesPrompts
// sends an empty prompt to a session that does not exist.
func (p *Provider) typesPrompts(ctx context.Context, cfg runtime.Config) bool {
	if cfg.Nudge == "" || p.caps.Has(script.CapDeliver) || p.caps.Has(script.CapExec) {
		return true
	}
	_, err := p.call(ctx, request{op: script.OpNudge, name: "gc-probe-" + driver.NewToken()[:8]})
	return !isMissing(err) // any other failure means that the script has the operation
}

// mark saves the instance token of the session.
func (p *Provider) mark(ctx context.Context, name string, cfg runtime.Config) error {
	if err := p.setMeta(ctx, name, proc.TokenKey, cfg.Env[proc.TokenKey]); err != nil {
		return fmt.Errorf("cannot save the instance token: %w", err)
	}
	p.tokens.set(name, cfg.Env[proc.TokenKey])
	p.answers.set(name, screen.Life{Name: cfg.Env[proc.TokenKey]})
	return nil
}

// conclude does the steps after the script's start: it saves the token, waits until the agent is
// ready and sends the first prompt.
func (p *Provider) conclude(ctx context.Context, name string, cfg runtime.Config, typePrompt bool) error {
	p.known.set(name, struct{}{})
	if err := p.mark(ctx, name, cfg); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if cfg.Lifecycle == runtime.LifecycleOneShot || !cfg.WantsManagedStart() {
		return nil
	}
	if err := p.rememberProgram(ctx, name, cfg); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if err := p.awaitReady(ctx, name, cfg); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if cfg.Nudge == "" || !typePrompt {
		return nil
	}
	return p.firstPrompt(ctx, name, cfg.Nudge)
}

// firstPrompt sends the first prompt. If it is not delivered, the session gets a warning in its
// metadata, and the start still succeeds, because the agent runs. A prompt that was typed and not
// confirmed counts as delivered.
func (p *Provider) firstPrompt(ctx context.Context, name, text string) error {
	out, err := p.Deliver(ctx, name, runtime.Delivery{Content: runtime.TextContent(text)})
	switch {
	case ctx.Err() != nil:
		return &runtime.Error{Op: "start", Session: name, Err: context.Cause(ctx)}
	case out.State == runtime.OutcomeSubmitted, err == nil && out.State == runtime.OutcomeUnconfirmed:
		return nil
	}
	why := &driver.StartStepError{Step: "nudge", Err: &driver.UndeliveredError{Text: text, Outcome: out}}
	p.cfg.Logger.Warn("the first prompt was not delivered", "session", name, "outcome", out.State, "error", err)
	if err := p.setMeta(ctx, name, driver.MetaWarning, driver.BriefError(why)); err != nil {
		p.cfg.Logger.Warn("cannot save the warning of a start", "session", name, "error", err)
	}
	return nil
}

// undo stops the session of a failed start. No session existed before the start.
func (p *Provider) undo(ctx context.Context, name string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	p.tokens.remove(name)
	if err := p.stop(ctx, name); err != nil {
		return errors.Join(cause, fmt.Errorf("the session may still run: %w", err))
	}
	return cause
}

// Stop implements runtime.Runner. It returns nil only if the session does not run after the
// script's stop.
func (p *Provider) Stop(name string) error {
	if runtime.ValidateName(name) != nil {
		return nil
	}
	ctx, cancel := p.bounded()
	defer cancel()
	release, err := p.starts.acquire(ctx, name)
	if err != nil {
		return &runtime.Error{Op: "stop", Session: name, Err: err}
	}
	defer release()
	return p.stop(ctx, name)
}

// stop calls the script to stop a session, and checks afterwards that the session no longer runs. A session that does
// not exist is no error.
func (p *Provider) stop(ctx context.Context, name string) error {
	defer p.listings.invalidate()
	if _, err := p.call(ctx, request{op: script.OpStop, name: name}); err != nil && !runtime.IsSessionGone(err) {
		return err
	}
	switch obs, err := p.query(ctx, name); {
	case isMissing(err): // the script cannot report it
	case err != nil:
		return fmt.Errorf("script %s stop: exit code 0, but gc cannot check that the session has stopped: %w", p.cfg.Script, err)
	case running(obs) != runtime.Dead:
		return &runtime.Error{Op: "stop", Session: name, Err: fmt.Errorf("script %s stop: exit code 0, but the session is %s", p.cfg.Script, running(obs))}
	}
	return p.forgetSession(name)
}

// forgetSession deletes all records of a session that was stopped.
func (p *Provider) forgetSession(name string) error {
	p.listings.invalidate()
	p.known.remove(name)
	p.tokens.remove(name)
	p.tmuxSessions.remove(name)
	p.programs.remove(name)
	p.screens.remove(name)
	p.memory.Forget(name)
	return p.notes.Clear(name)
}

// Interrupt implements runtime.Runner.
func (p *Provider) Interrupt(name string) error {
	if runtime.ValidateName(name) != nil {
		return nil
	}
	ctx, cancel := p.bounded()
	defer cancel()
	return p.interrupt(ctx, name)
}

// interrupt interrupts the agent of a session, by a key in the sandbox's tmux if there is one, else by the script. A
// session that does not exist is no error.
func (p *Provider) interrupt(ctx context.Context, name string) error {
	return p.control(ctx, request{op: script.OpInterrupt, name: name, verb: "interrupt"}, tmuxInterrupt)
}

// control runs a tmux command in the sandbox, or the operation of the script if gc does not control the session with tmux.
// A session that does not exist is no error.
func (p *Provider) control(ctx context.Context, q request, command string) error {
	if _, done, err := p.runTmux(ctx, q.name, q.verb, command); done {
		return err
	}
	_, err := p.call(ctx, q)
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}
