package fake

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// Pending implements runtime.InteractionProvider.
func (f *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	if err := f.called("Pending", name); err != nil {
		return nil, err
	}
	var asked *runtime.PendingInteraction
	found := f.world.with(name, func(s *session) { asked = s.agent.pendingLocked() })
	if !found {
		return nil, notFound("read pending question of", name)
	}
	return asked, nil
}

func (a *agent) pendingLocked() *runtime.PendingInteraction {
	if a.gone {
		return nil
	}
	return a.asked
}

// Respond implements runtime.InteractionProvider.
func (f *Provider) Respond(name string, response runtime.InteractionResponse) error {
	if err := f.called("Respond", name, response); err != nil {
		return err
	}
	var err error
	found := f.world.with(name, func(s *session) {
		asked := s.agent.pendingLocked()
		switch {
		case asked == nil, response.RequestID != "" && response.RequestID != asked.RequestID:
			err = runtime.ErrInteractionGone
		case choiceOf(response, asked) == "":
			err = &runtime.AnswerError{Action: response.Action, Text: response.Text, Why: "it is no option"}
		default:
			s.agent.record(runtimetest.Entry{Kind: runtimetest.LedgerChoice, Choice: choiceOf(response, asked)})
			s.agent.endTurnLocked()
		}
	})
	if !found {
		err = runtime.ErrSessionNotFound
	}
	if err != nil {
		return &runtime.Error{Op: "respond to", Session: name, Err: err}
	}
	return nil
}

// choiceOf returns the option that the response selects, or "". The action may also be the label of
// an option.
func choiceOf(r runtime.InteractionResponse, asked *runtime.PendingInteraction) string {
	label, options := r.Text, asked.Options
	switch r.Action {
	case runtime.ActionText:
		if asked.Metadata[runtime.MetaText] == "yes" {
			return label
		}
	case runtime.ActionChoose:
		if n, err := strconv.Atoi(label); err == nil && n >= 1 && n <= len(options) {
			return options[n-1]
		}
	case runtime.ActionApprove:
		label = "yes"
	case runtime.ActionDeny:
		label = "no"
	default:
		label = r.Action
	}
	if slices.Contains(options, label) {
		return label
	}
	return ""
}

// Exec implements runtime.ExecProvider. It runs a command with the Shell in the working directory.
func (f *Provider) Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error) {
	if err := f.called("Exec", name, argv); err != nil {
		return nil, 0, err
	}
	s := f.world.find(name)
	if s == nil {
		return nil, 0, notFound("exec in", name)
	}
	if f.Shell == nil {
		return nil, 0, nil
	}
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = quote(word)
	}
	result, err := f.Shell(ctx, s.cfg.WorkDir, s.env, strings.Join(words, " "))
	return []byte(result.Stdout), result.Code, err
}

// Relaunch implements runtime.RelaunchProvider. It replaces the simulated agent; session and metadata
// stay.
func (f *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	if err := f.called("Relaunch", name, cfg); err != nil {
		return err
	}
	s := f.world.find(name)
	if s == nil {
		return notFound("relaunch", name)
	}
	box := &session{world: s.world, name: s.name, token: cmp.Or(cfg.Env["GC_INSTANCE_TOKEN"], rand.Text()), cfg: cfg}
	box.env = box.environ()
	program, prompt, err := f.interpret(ctx, box)
	if err != nil {
		return &runtime.Error{Op: "relaunch", Session: name, Err: err}
	}
	f.world.mu.Lock()
	for _, pid := range slices.Clone(s.pids) {
		s.killLocked(pid, runtime.Exit{Code: -1, Signal: "terminated"})
	}
	s.cfg, s.env, s.token = cfg, box.env, box.token
	s.launchLocked(program, prompt)
	f.world.mu.Unlock()
	return f.awaitReady(ctx, s)
}

// RunLive implements runtime.Stager.
func (f *Provider) RunLive(name string, cfg runtime.Config) error {
	if err := f.called("RunLive", name, cfg); err != nil {
		return err
	}
	s := f.world.find(name)
	if s == nil {
		return notFound("apply session_live to", name)
	}
	env := append(slices.Clone(s.env), "GC_SESSION="+name)
	var errs []error
	for _, command := range cfg.SessionLive {
		errs = append(errs, f.step(context.Background(), s.cfg.WorkDir, env, command)) //nolint:forbidigo // the contract's method has no ctx
	}
	return errors.Join(errs...)
}

// FindRuntimesBySessionID implements runtime.ProcessTableScanner. It searches the environments of
// the simulated agents.
func (f *Provider) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	if err := f.called("FindRuntimesBySessionID", "", id); err != nil {
		return nil, err
	}
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	var found []runtime.LiveRuntime
	for _, name := range f.world.runningLocked("") {
		s := f.world.sessions[name]
		env := map[string]string{}
		for _, pair := range s.env {
			key, value, _ := strings.Cut(pair, "=")
			env[key] = value
		}
		if own := env["GC_SESSION_ID"]; own == "" || id != "" && own != id {
			continue
		}
		epoch, _ := strconv.Atoi(env["GC_RUNTIME_EPOCH"]) // what is no number counts as absent
		found = append(found, runtime.LiveRuntime{
			SessionID: env["GC_SESSION_ID"], City: env["GC_CITY_PATH"], Epoch: epoch,
			PID: s.agent.pid, ProviderName: name, IsTracked: true,
		})
	}
	return found, nil
}

// TerminateRuntime implements runtime.ProcessTableScanner. It stops the process of a simulated agent.
func (f *Provider) TerminateRuntime(r runtime.LiveRuntime) error {
	if err := f.called("TerminateRuntime", r.ProviderName, r); err != nil {
		return err
	}
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	if s := f.world.owners[r.PID]; s != nil {
		s.killLocked(r.PID, runtime.Exit{Code: -1, Signal: "terminated"})
	}
	return nil
}
