package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// Start implements runtime.Runner. It starts a simulated agent with the start sequence of package
// runtime.
func (f *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := f.called("Start", name, cfg); err != nil {
		return err
	}
	if err := f.start(ctx, name, cfg); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	return nil
}

// start implements [Provider.Start]. If a later step fails, it removes the session.
func (f *Provider) start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.ValidateName(name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !f.world.claim(name) {
		return runtime.ErrSessionExists
	}
	defer f.world.release(name)
	s := f.world.newSession(name, cfg)
	s.env = s.environ()
	if err := f.prepare(ctx, s); err != nil {
		return err
	}
	program, prompt, err := f.interpret(ctx, s)
	if err != nil {
		return err
	}
	f.world.mu.Lock()
	f.world.sessions[name] = s
	f.world.publishLocked(runtime.Event{Kind: runtime.EventStarted, Session: name})
	s.launchLocked(program, prompt)
	f.world.mu.Unlock()
	if err := f.finishStart(ctx, s); err != nil {
		f.world.mu.Lock()
		defer f.world.mu.Unlock()
		s.removeLocked()
		return err
	}
	return nil
}

// claim reserves the name for a start and removes a session of that name whose agent has exited. It
// returns false if the name is in use.
func (w *world) claim(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[name]
	if w.claimed[name] || s != nil && s.aliveLocked() {
		return false
	}
	if s != nil {
		s.removeLocked()
	}
	w.claimed[name] = true
	return true
}

func (w *world) release(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.claimed, name)
}

// environ returns the whole environment of the agent: a base, cfg.Env and the identity.
func (s *session) environ() []string {
	env := map[string]string{"HOME": os.TempDir(), "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb"}
	maps.Copy(env, s.cfg.Env)
	maps.DeleteFunc(env, func(key, value string) bool { return value == "" && s.cfg.Env[key] == "" })
	env["GC_SESSION_NAME"], env["GC_INSTANCE_TOKEN"] = s.name, s.token
	if s.cfg.WorkDir != "" {
		env["GC_DIR"] = s.cfg.WorkDir
	}
	list := make([]string, 0, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		list = append(list, key+"="+env[key])
	}
	return list
}

// prepare runs PreStart and copies overlays and files.
func (f *Provider) prepare(ctx context.Context, s *session) error {
	for _, command := range s.cfg.PreStart {
		dir := s.cfg.WorkDir
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			dir = ""
		}
		if err := f.step(ctx, dir, s.env, command); err != nil {
			return fmt.Errorf("pre_start: %w", err)
		}
	}
	if s.cfg.WorkDir == "" {
		return nil
	}
	info, err := os.Stat(s.cfg.WorkDir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", s.cfg.WorkDir)
	}
	return stage(s.cfg)
}

// step runs one command. Its error contains the output.
func (f *Provider) step(ctx context.Context, dir string, env []string, command string) error {
	if f.Shell == nil {
		return nil
	}
	result, err := f.Shell(ctx, dir, env, command)
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("%q exited with code %d: %s", command, result.Code, strings.TrimSpace(result.Stdout+result.Stderr))
	}
	return err
}

// interpret uses the shell to find out which program the command starts, with which prompt and
// environment.
func (f *Provider) interpret(ctx context.Context, s *session) (program Script, prompt string, err error) {
	command := s.cfg.LaunchCommand()
	if !strings.Contains(command, commandWord) {
		return program, "", nil
	}
	var args []string
	if f.Shell == nil {
		word := strings.TrimSpace(strings.TrimPrefix(s.cfg.Command, commandWord))
		if word == "" {
			return program, "", nil
		}
		args = []string{strings.ReplaceAll(strings.Trim(word, "'"), `'\''`, "'")}
	} else {
		const function = commandWord + `() { printf '%s\0' "$@"; printf '\0'; exec env -0; }; `
		result, err := f.Shell(ctx, s.cfg.WorkDir, s.env, function+command)
		if err != nil {
			return program, "", err
		}
		words, env, _ := strings.Cut(result.Stdout, "\x00\x00")
		args = strings.Split(words, "\x00")
		s.env = strings.Split(strings.TrimSuffix(env, "\x00"), "\x00")
	}
	if err := json.Unmarshal([]byte(args[0]), &program); err != nil {
		return program, "", fmt.Errorf("cannot understand the command: %w", err)
	}
	return program, firstPrompt(args[1:]), nil
}

// firstPrompt returns the prompt in the arguments: a word, or the value of a flag.
func firstPrompt(args []string) string {
	switch {
	case len(args) == 1 && !strings.HasPrefix(args[0], "-"):
		return args[0]
	case len(args) == 2 && args[0] == "--prompt":
		return args[1]
	default:
		return ""
	}
}

// finishStart does the steps after the creation of the session.
func (f *Provider) finishStart(ctx context.Context, s *session) error {
	cfg := s.cfg
	if cfg.Lifecycle == runtime.LifecycleOneShot || !cfg.WantsManagedStart() {
		return nil
	}
	if err := f.awaitReady(ctx, s); err != nil {
		return err
	}
	env := append(slices.Clone(s.env), "GC_SESSION="+s.name)
	commands := slices.Clone(cfg.SessionSetup)
	if cfg.SessionSetupScript != "" {
		commands = append(commands, quote(cfg.SessionSetupScript))
	}
	if err := f.runBestEffort(ctx, cfg.WorkDir, env, commands); err != nil {
		return err
	}
	if cfg.Nudge != "" {
		if _, err := f.deliver(ctx, s, cfg.Nudge); err != nil {
			return err
		}
	}
	return f.runBestEffort(ctx, cfg.WorkDir, env, cfg.SessionLive)
}

// runBestEffort runs commands whose failures are only warnings. It returns an error only if ctx
// ends.
func (f *Provider) runBestEffort(ctx context.Context, dir string, env, commands []string) error {
	for _, command := range commands {
		if err := f.step(ctx, dir, env, command); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// awaitReady answers dialogs and waits for the prompt or the delay.
func (f *Provider) awaitReady(ctx context.Context, s *session) error {
	waits := s.cfg.ReadyPromptPrefix != ""
	if waits {
		err := f.world.await(ctx, func() bool {
			if s.cfg.WantsDialogs() {
				s.agent.acceptLocked()
			}
			return s.agent.ready || s.exit != nil
		})
		if err != nil {
			return err
		}
	} else if s.cfg.ReadyDelayMs > 0 {
		select {
		case <-time.After(time.Duration(s.cfg.ReadyDelayMs) * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	if s.exit != nil {
		return &runtime.StartupDeath{Exit: *s.exit, Output: strings.Join(s.output[max(0, len(s.output)-80):], "\n")}
	}
	return nil
}

// acceptLocked moves to the accepting option of a dialog and confirms it.
func (a *agent) acceptLocked() {
	if len(a.dialog) > 0 {
		a.cursor = slices.IndexFunc(a.dialog, func(option string) bool { return strings.HasPrefix(option, "Yes") })
		a.enterLocked()
	}
}

// Stop implements runtime.Runner.
func (f *Provider) Stop(name string) error {
	if err := f.called("Stop", name); err != nil {
		return err
	}
	return f.stop(name)
}

func (f *Provider) stop(name string) (err error) {
	f.world.with(name, func(s *session) { err = s.stopLocked() })
	return err
}

// stopLocked removes the session. It fails if the agent is immortal.
func (s *session) stopLocked() error {
	if s.agent.program.Immortal && s.aliveLocked() {
		return &runtime.Error{Op: "stop", Session: s.name, Err: errors.New("its process does not exit")}
	}
	s.removeLocked()
	return nil
}

// Interrupt implements runtime.Runner. It presses Ctrl-C.
func (f *Provider) Interrupt(name string) error {
	if err := f.called("Interrupt", name); err != nil {
		return err
	}
	f.world.with(name, func(s *session) { s.agent.interruptLocked() })
	return nil
}

// StopInstance implements runtime.Fencer.
func (f *Provider) StopInstance(_ context.Context, name, token string) error {
	if err := f.called("StopInstance", name, token); err != nil {
		return err
	}
	var stopErr error
	err := f.withInstance(name, token, func(s *session) { stopErr = s.stopLocked() })
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return nil
	}
	return errors.Join(err, stopErr)
}

// InterruptInstance implements runtime.Fencer.
func (f *Provider) InterruptInstance(_ context.Context, name, token string) error {
	if err := f.called("InterruptInstance", name, token); err != nil {
		return err
	}
	return f.withInstance(name, token, func(s *session) { s.agent.interruptLocked() })
}

// withInstance calls do for the instance with the token. Its error matches runtime.ErrStaleInstance
// for another instance.
func (f *Provider) withInstance(name, token string, do func(*session)) error {
	stale := false
	found := f.world.with(name, func(s *session) {
		if stale = s.token != token; !stale {
			do(s)
		}
	})
	switch {
	case !found:
		return notFound("identify", name)
	case stale:
		return &runtime.Error{Op: "identify", Session: name, Err: runtime.ErrStaleInstance}
	default:
		return nil
	}
}
