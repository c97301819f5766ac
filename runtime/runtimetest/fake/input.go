package fake

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/runtime"
)

// Nudge implements runtime.Input.
func (f *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	if err := f.called("Nudge", name, content); err != nil {
		return err
	}
	return f.nudge(name, content)
}

// NudgeNow implements runtime.ImmediateNudgeProvider. It calls Nudge, because a simulated agent accepts
// prompts at any time.
func (f *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	if err := f.called("NudgeNow", name, content); err != nil {
		return err
	}
	return f.nudge(name, content)
}

// nudge implements [Provider.Nudge].
func (f *Provider) nudge(name string, content []runtime.ContentBlock) error {
	s := f.world.find(name)
	if s == nil {
		return notFound("nudge", name)
	}
	outcome, err := f.deliver(context.Background(), s, runtime.FlattenText(content)) //nolint:forbidigo // the contract's method has no ctx
	if err == nil {
		err = runtime.NudgeError(outcome)
	}
	if err != nil {
		return &runtime.Error{Op: "nudge", Session: name, Err: err}
	}
	return nil
}

// Deliver implements runtime.Deliverer.
func (f *Provider) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if err := f.called("Deliver", name, d); err != nil {
		return runtime.Outcome{}, err
	}
	s := f.world.find(name)
	switch {
	case s == nil:
		return runtime.Outcome{State: runtime.OutcomeAbsent}, nil
	case d.Instance != "" && d.Instance != s.token:
		return runtime.Outcome{State: runtime.OutcomeAbsent}, &runtime.Error{Op: "deliver to", Session: name, Err: runtime.ErrStaleInstance}
	}
	return f.deliver(ctx, s, runtime.FlattenText(d.Content))
}

// deliver types the text and presses Enter. It presses Enter again if the agent lost it.
func (f *Provider) deliver(ctx context.Context, s *session, text string) (runtime.Outcome, error) {
	if bad := controlCharacter(text); bad != "" {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: bad}, nil
	}
	s.input.Lock()
	defer s.input.Unlock()
	if ctx.Err() != nil {
		return runtime.Outcome{}, context.Cause(ctx)
	}
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	a := s.agent
	switch {
	case s.exit != nil || f.world.sessions[s.name] != s:
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "the agent has exited"}, nil
	case text == "":
		return runtime.Outcome{State: runtime.OutcomeSubmitted}, nil
	case len(a.dialog) > 0 || a.asked != nil:
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedDialog}, nil
	case !a.ready:
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready}, nil
	case a.draft != "":
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedDraft}, nil
	}
	a.draft = text
	for !a.enterLocked() { // a lost Enter is repeated, the text never
		continue
	}
	if a.program.Silent {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the model gives no sign"}, nil
	}
	return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "model"}, nil
}

// ClearInput implements runtime.InputClearer.
func (f *Provider) ClearInput(_ context.Context, name, instance string) error {
	const op = "clear the input box of"
	if err := f.called("ClearInput", name, instance); err != nil {
		return err
	}
	s := f.world.find(name)
	switch {
	case s == nil:
		return notFound(op, name)
	case instance != "" && instance != s.token:
		return &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	f.world.with(name, func(s *session) { s.agent.draft = "" })
	return nil
}

// SetHints implements runtime.Hinter.
func (f *Provider) SetHints(_ context.Context, name, instance string, hints runtime.Hints) error {
	const op = "set the hints of"
	if err := f.called("SetHints", name, instance); err != nil {
		return err
	}
	s := f.world.find(name)
	switch {
	case s == nil:
		return notFound(op, name)
	case instance != "" && instance != s.token:
		return &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	f.world.with(name, func(s *session) {
		s.cfg.ReadyPromptPrefix, s.cfg.ProcessNames = hints.ReadyPromptPrefix, hints.ProcessNames
	})
	return nil
}

// controlCharacter returns the name of a character in text that could act as a key, or "". Tab and
// line ends are text.
func controlCharacter(text string) string {
	i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r", r) || r == 0x7f })
	if i < 0 {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return fmt.Sprintf("control character %U at byte %d", r, i)
}

// SendKeys implements runtime.Input. The simulated agent knows characters, Enter, BSpace, Up, Down,
// Escape and C-c.
func (f *Provider) SendKeys(name string, keys ...string) error {
	if err := f.called("SendKeys", name, keys); err != nil {
		return err
	}
	for _, key := range keys {
		if utf8.RuneCountInString(key) != 1 && presses[key] == nil {
			return &runtime.Error{Op: "send keys to", Session: name, Err: fmt.Errorf("unknown key %q", key)}
		}
	}
	f.world.with(name, func(s *session) {
		for _, key := range keys {
			if press := presses[key]; press != nil {
				press(s.agent)
			} else {
				s.agent.draft += key
			}
		}
		s.world.bumpLocked()
	})
	return nil
}

var presses = map[string]func(*agent){
	"Enter": func(a *agent) { a.enterLocked() },
	"BSpace": func(a *agent) {
		_, size := utf8.DecodeLastRuneInString(a.draft)
		a.draft = a.draft[:len(a.draft)-size]
	},
	"Up":     func(a *agent) { a.cursor = max(0, a.cursor-1) },
	"Down":   func(a *agent) { a.cursor = max(0, min(len(a.dialog)-1, a.cursor+1)) },
	"Escape": func(a *agent) { a.interruptLocked() },
	"C-c":    func(a *agent) { a.interruptLocked() },
}

// Attach implements runtime.Input. The attachment ends with [Provider.Detach] or with the session.
func (f *Provider) Attach(name string) error {
	if err := f.called("Attach", name); err != nil {
		return err
	}
	return f.attach(name, nil)
}

// AttachTerminal implements runtime.Attacher.
func (f *Provider) AttachTerminal(ctx context.Context, name string, opts runtime.AttachOptions) error {
	if err := f.called("AttachTerminal", name, opts); err != nil {
		return err
	}
	if err := f.attach(name, ctx.Done()); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// attach blocks until the session ends, Detach is called, or ended is closed.
func (f *Provider) attach(name string, ended <-chan struct{}) error {
	var s *session
	var detach chan struct{}
	count := func(s *session, change int) {
		s.attached += change
		s.world.publishLocked(runtime.Event{Kind: runtime.EventAttached, Session: name, Attached: s.attached})
	}
	found := f.world.with(name, func(found *session) {
		s, detach = found, found.detach
		count(s, 1)
	})
	if !found {
		return notFound("attach to", name)
	}
	select {
	case <-detach:
	case <-ended:
		f.world.mu.Lock()
		defer f.world.mu.Unlock()
		if s.detach == detach {
			count(s, -1)
		}
	}
	return nil
}

// Detach ends every Attach of the session.
func (f *Provider) Detach(name string) {
	f.world.with(name, func(s *session) {
		s.detachLocked()
		s.world.publishLocked(runtime.Event{Kind: runtime.EventAttached, Session: name})
	})
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (f *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	if err := f.called("WaitForIdle", name, timeout); err != nil {
		return err
	}
	return f.awaitSession(ctx, name, timeout, func(s *session) bool { return s.agent.ready && !s.agent.busy })
}

// WaitForInterruptBoundary implements runtime.InterruptBoundaryWaitProvider.
func (f *Provider) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	if err := f.called("WaitForInterruptBoundary", name, since, timeout); err != nil {
		return err
	}
	return f.awaitSession(ctx, name, timeout, func(s *session) bool { return s.boundary.After(since) })
}

// ResetInterruptedTurn implements runtime.InterruptedTurnResetProvider. It has nothing to remove.
func (f *Provider) ResetInterruptedTurn(_ context.Context, name string) error {
	return f.called("ResetInterruptedTurn", name)
}

// DismissKnownDialogs implements runtime.DialogProvider. A dialog can appear only before the agent
// is ready.
func (f *Provider) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	if err := f.called("DismissKnownDialogs", name, timeout); err != nil {
		return err
	}
	err := f.awaitSession(ctx, name, timeout, func(s *session) bool {
		s.agent.acceptLocked()
		return s.agent.ready
	})
	if err != nil && ctx.Err() == nil && f.world.find(name) != nil {
		return nil // no dialog appeared in time
	}
	return err
}

// awaitSession waits until ok returns true for the session. If the session ends first, the error is
// ErrSessionNotFound.
func (f *Provider) awaitSession(ctx context.Context, name string, timeout time.Duration, ok func(*session) bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found := true
	err := f.world.await(ctx, func() bool {
		s := f.world.sessions[name]
		found = s != nil
		return !found || ok(s)
	})
	if !found {
		return notFound("wait for", name)
	}
	if err != nil {
		return &runtime.Error{Op: "wait for", Session: name, Err: err}
	}
	return nil
}
