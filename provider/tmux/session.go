package tmux

import (
	"context"
	"fmt"

	"gascity/internal/driver"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// session is a session with a pane. Its agent may have exited.
type session struct {
	driver.Session

	terminal *terminal
}

var _ driver.LocalSession = (*session)(nil)

// find returns the session with the name, if it has a pane.
func (p *Provider) find(ctx context.Context, name string) (*session, bool, error) {
	s, err := p.observeSession(ctx, name)
	if err != nil || s.state == nil {
		return nil, false, err
	}
	r := s.record
	t := &terminal{provider: p, record: r, pane: p.panes.update(r, *s.state)}
	rules := screen.RulesOf(r.Labels, p.cfg.Profiles)
	rules.HumanQuiet = p.cfg.HumanQuiet
	return &session{driver.Session{
		Name: r.Name, Instance: r.token, WorkDir: r.WorkDir, Exited: s.state.Dead, Attached: p.attached(s), Terminal: t, Rules: rules, Life: r.screenLife(),
	}, t}, true, nil
}

// screenLife returns the identity of this launch of the agent, with the questions answered in it so far.
func (r *record) screenLife() screen.Life {
	return screen.Life{Name: fmt.Sprintf("%s %d", r.token, r.StartedAt.UnixNano()), Answered: r.Answered, Last: r.Last}
}

// Deliver implements driver.LocalSession.
func (s *session) Deliver(ctx context.Context, a driver.Attempt, p inject.Prompt) (runtime.Outcome, error) {
	l, err := s.terminal.lease(ctx)
	if err != nil {
		return inject.Unsent(err)
	}
	return inject.Deliver(ctx, l, a.Delivery, p, s.Rules)
}

// Resolve implements driver.LocalSession.
func (s *session) Resolve(ctx context.Context, a driver.Attempt) (runtime.Outcome, error) {
	l, err := s.terminal.lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	return inject.ResolveDelivery(ctx, l, a.Delivery, s.Rules)
}

// ClearInput implements driver.LocalSession.
func (s *session) ClearInput(ctx context.Context) error {
	l, err := s.terminal.lease(ctx)
	if err != nil {
		return err
	}
	return inject.ClearInput(ctx, l, s.Rules)
}

// Interrupt implements driver.LocalSession.
func (s *session) Interrupt(ctx context.Context) error {
	l, err := s.terminal.lease(ctx)
	if err != nil {
		return err
	}
	return inject.Interrupt(ctx, l, s.Rules)
}

// SaveAnswer implements driver.LocalSession. It records in the file of the session that the question with this ID was
// answered.
func (s *session) SaveAnswer(ctx context.Context, question string) error {
	return s.terminal.provider.editRecord(ctx, s.terminal.record, func(now *record) {
		life := now.screenLife().Add(question)
		now.Answered, now.Last = life.Answered, life.Last
	})
}

// SaveHints implements driver.LocalSession.
func (s *session) SaveHints(ctx context.Context, hints runtime.Hints) error {
	saved := false
	err := s.terminal.provider.editRecord(ctx, s.terminal.record, func(now *record) {
		saved = true
		now.ProcessNames, now.Labels = hints.ProcessNames, screen.HintedLabels(now.Labels, hints)
	})
	if err == nil && !saved {
		err = runtime.ErrStaleInstance
	}
	return err
}

// Identify implements driver.LocalSession.
func (s *session) Identify(context.Context) bool {
	return s.terminal.provider.identified(s.terminal.record)
}

// Evidence implements driver.LocalSession.
func (s *session) Evidence(ctx context.Context) (runtime.Reading, error) {
	s.Identify(ctx)
	r := s.terminal.record
	process, err := driver.AgentEvidence(r.Agent, r.StartedAt, r.liveness())
	return runtime.Reading{Evidence: []runtime.Evidence{process}}, err
}

// Backend implements driver.LocalSession.
func (s *session) Backend(cfg runtime.Config) driver.Backend {
	t := s.terminal
	return &sessionBackend{provider: t.provider, name: s.Name, cfg: cfg, existing: t.record, record: t.record, pane: t.pane}
}
