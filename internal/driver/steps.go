package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gascity/internal/proc"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

const (
	// destroyTimeout bounds the undoing of a failed start.
	destroyTimeout = 30 * time.Second
	// dialogBudget bounds the wait for dialogs of an agent whose prompt is not known.
	dialogBudget = 8 * time.Second
	// promptPatience is how long a first prompt is tried again while the agent refuses it.
	promptPatience = 15 * time.Second
	// lastOutputTime bounds the wait for the exit of an agent whose terminal has closed.
	lastOutputTime = 2 * time.Second
)

// run is one start in progress.
type run struct {
	StartSequence
	name    string
	cfg     runtime.Config
	spec    StartSpec
	command launchCommand
	claimed bool
}

// step is one step of the sequence. when reports whether a start needs the step. The failure of an optional step is a warning.
type step struct {
	name     string
	when     func(runtime.Config) bool
	do       func(*run, context.Context) error
	optional bool
}

// Conditions for steps, see step.when.
func always(runtime.Config) bool { return true }

func managed(cfg runtime.Config) bool {
	return cfg.Lifecycle != runtime.LifecycleOneShot && cfg.WantsManagedStart()
}

// startSteps is the start sequence of package runtime.
var startSteps = []step{
	{name: "validate", when: always, do: (*run).validate},
	{name: "claim", when: always, do: (*run).claim},
	{name: "pre_start", when: always, do: (*run).preStart},
	{name: "work_dir", when: always, do: (*run).workDir},
	{name: "stage", when: always, do: (*run).stage},
	{name: "create", when: always, do: (*run).create},
	{name: "ready", when: managed, do: (*run).ready},
	{name: "alive", when: managed, do: (*run).alive},
	{name: "session_setup", when: managed, do: (*run).setup, optional: true},
	{name: "prompt", when: managed, do: (*run).prompt},
	{name: "session_live", when: managed, do: (*run).live, optional: true},
}

// relaunchSkips are the steps that are not needed for a session that already exists.
var relaunchSkips = []string{"claim", "stage"}

// Start runs the start sequence of package runtime for one session. If it fails or ctx ends, it destroys everything that it
// created. The error is a [*StepError] that wraps the cause: a [*CommandError], a [*runtime.StartupDeath] if the agent exited,
// [runtime.ErrSessionExists], the cause of ctx, or an error of the driver.
func (s StartSequence) Start(ctx context.Context, name string, cfg runtime.Config) error {
	r := &run{StartSequence: s, name: name, cfg: cfg, spec: s.newSpec(name, cfg)}
	err := r.steps(ctx, startSteps)
	if err == nil {
		return nil
	}
	return errors.Join(err, r.undo(ctx))
}

// Relaunch runs the sequence for a new agent in an existing session, without the steps claim and stage. If it fails, the
// session stays. The instance token is that of cfg.Env, or else a new one.
func (s StartSequence) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	r := &run{StartSequence: s, name: name, cfg: cfg, spec: s.newSpec(name, cfg)}
	steps := slices.DeleteFunc(slices.Clone(startSteps), func(st step) bool { return slices.Contains(relaunchSkips, st.name) })
	err := r.steps(ctx, steps)
	if err != nil {
		r.removeFile()
	}
	return err
}

// Live runs all commands of cfg.SessionLive for a running session and returns their errors joined.
func (s StartSequence) Live(ctx context.Context, name string, cfg runtime.Config) error {
	r := &run{StartSequence: s, name: name, cfg: cfg, spec: s.newSpec(name, cfg)}
	return r.live(ctx)
}

// steps runs the steps that the configuration needs, in order. It stops at the first error of a step that is not optional.
func (r *run) steps(ctx context.Context, steps []step) error {
	for _, st := range steps {
		if !st.when(r.cfg) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return &StartStepError{Step: st.name, Err: context.Cause(ctx)}
		}
		err := st.do(r, ctx)
		switch {
		case err == nil:
		case st.optional && ctx.Err() == nil:
			r.warn(st.name, err)
		default:
			return &StartStepError{Step: st.name, Err: WithCause(ctx, err)}
		}
	}
	return nil
}

// WithCause adds the cause of ctx to an error that only reports that ctx has ended. It returns nil for nil.
func WithCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// warn reports a step of the start that failed without failing the start.
func (r *run) warn(step string, err error) { r.Warn(&StartStepError{Step: step, Err: err}) }

// undo destroys what the start created. It has a time limit of its own, because the caller's ctx may have ended.
func (r *run) undo(ctx context.Context) error {
	r.removeFile()
	if !r.claimed {
		return nil
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyTimeout)
	defer cancel()
	if err := r.Backend.Destroy(own); err != nil {
		return &StartStepError{Step: "undo", Err: err}
	}
	return nil
}

// removeFile removes the file of a prompt that the agent has not read.
func (r *run) removeFile() {
	if r.command.file != "" {
		os.Remove(r.command.file) //nolint:errcheck // the agent may have removed it already
	}
}

// validate checks the name and the working directory of the start before it has any effect.
func (r *run) validate(context.Context) error {
	if dir := r.cfg.WorkDir; dir != "" && !filepath.IsAbs(dir) {
		return fmt.Errorf("working directory %q is not absolute", dir)
	}
	return runtime.ValidateName(r.name)
}

// claim reserves the session name for this start. It fails if a session with the name runs.
func (r *run) claim(ctx context.Context) error {
	err := r.Backend.Claim(ctx)
	r.claimed = err == nil
	return err
}

// preStart runs the commands of cfg.PreStart until one fails.
func (r *run) preStart(ctx context.Context) error {
	for _, command := range r.cfg.PreStart {
		if err := r.runCommand(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// workDir checks that the working directory exists.
func (r *run) workDir(context.Context) error {
	if r.cfg.WorkDir == "" {
		return nil
	}
	info, err := os.Stat(r.cfg.WorkDir)
	if err != nil {
		return fmt.Errorf("working directory must exist, or be made by pre_start: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("working directory %s is not a folder", r.cfg.WorkDir)
	}
	return nil
}

// stage copies overlays and files into the working directory.
func (r *run) stage(ctx context.Context) error { return r.Stage(ctx, r.cfg) }

// create decides how the first prompt is passed and starts the agent's command.
func (r *run) create(ctx context.Context) error {
	command, err := commandFor(r.cfg, r.PrivateDir)
	if err != nil {
		return err
	}
	r.command, r.spec.Command = command, command.command
	return r.Backend.Create(ctx, r.spec)
}

// ready waits until the agent can accept a prompt. If it cannot within the time limit, ready reports a warning.
func (r *run) ready(ctx context.Context) error {
	t, rules := r.Backend.Terminal(), r.rules()
	var seen screen.Readiness
	var err error
	if rules.ReadyLimit() == 0 && rules.AnswerDialogs && len(rules.Dialogs) > 0 {
		seen.Dialogs, err = screen.Dismiss(ctx, t, rules, dialogBudget)
	} else {
		seen, err = screen.Ready(ctx, t, rules, 0)
	}
	switch {
	case errors.Is(err, screen.ErrExited):
		return r.checkAlive(ctx, lastOutputTime)
	case err != nil:
		return err
	case seen.Unanswered != nil:
		r.warn("ready", &BlockedError{*seen.Unanswered})
	case seen.State == screen.ReadyTimeout:
		r.warn("ready", fmt.Errorf("no line beginning with %q appeared within %s", rules.ReadyPrefix, seen.After.Round(time.Second)))
	}
	return nil
}

func (r *run) rules() screen.Rules { return screen.RulesFor(r.cfg, r.Profiles) }

func (r *run) alive(ctx context.Context) error { return r.checkAlive(ctx, 0) }

// checkAlive waits up to d and returns a [*runtime.StartupDeath] if the agent exits meanwhile; nil if it keeps running.
func (r *run) checkAlive(ctx context.Context, d time.Duration) error {
	life, err := r.Backend.Life(ctx, d)
	if err != nil {
		return err
	}
	if !life.Alive {
		return &runtime.StartupDeath{Exit: life.Exit, Output: life.Output, Last: screen.Last(life.Output, r.rules(), life.Exit.At)}
	}
	return nil
}

// setup runs the commands of session_setup and then the script of session_setup_script. The script runs even if a
// command failed, but not after ctx has ended. The error has all failures.
func (r *run) setup(ctx context.Context) error {
	err := r.runAll(ctx, r.cfg.SessionSetup)
	if r.cfg.SessionSetupScript == "" || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, r.runCommand(ctx, scriptCommand(r.cfg.SessionSetupScript)))
}

func (r *run) live(ctx context.Context) error { return r.runAll(ctx, r.cfg.SessionLive) }

// ShellCommand returns the arguments that run command with sh, or the user's shell, the variable SHELL of env, if command is
// empty.
func ShellCommand(command string, env []string) []string {
	if command != "" {
		return []string{shellPath, "-c", command}
	}
	if shell := proc.Getenv(env, "SHELL"); filepath.IsAbs(shell) {
		return []string{shell}
	}
	return []string{shellPath}
}
