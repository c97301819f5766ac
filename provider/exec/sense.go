package exec

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"gascity/internal/driver/script"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// metaAnswered is the metadata key for the answered questions of an instance: their number and the
// names of the last ones. With it, a question that appears again with the same text is a new
// question.
const metaAnswered = "GC_ANSWERED"

// Sense implements runtime.Sensor. It interprets the screen with the rules for the agent CLI. The
// error matches errors.ErrUnsupported if the script shows no screen, or declares start.sequence or
// deliver.
func (p *Provider) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	fail := func(err error) (runtime.Reading, error) {
		p.screens.remove(name)
		return runtime.Reading{}, &runtime.Error{Op: "sense", Session: name, Err: err}
	}
	if !p.readsScreens() {
		return fail(errScreensUnread)
	}
	if runtime.ValidateName(name) != nil {
		return fail(runtime.ErrSessionNotFound)
	}
	now := time.Now()
	seen, err := p.captureScreen(ctx, name)
	if err != nil {
		p.screens.remove(name)
		return runtime.Reading{}, err
	}
	token, err := p.tokenOf(ctx, name, seen)
	if err != nil {
		return fail(err)
	}
	rules, err := p.rules(ctx, name)
	if err != nil {
		return fail(err)
	}
	life, err := p.answered(ctx, name, token)
	if err != nil {
		return fail(err)
	}
	var again time.Time
	seen.LastOutput, again = p.recordScreen(name, seen.sum, now)
	frame := seen.withPromptCursor(rules.ReadyPrefix)
	reading := screen.Sense(frame, rules, now)
	reading.Instance = token
	if !p.caps.Has(script.CapWatch) {
		reading.Again = nextSample(reading.Again, again, now)
	}
	seen.dropListedMenu(&reading, rules)
	p.memory.Complete(name, life, frame, rules, &reading)
	return reading, nil
}

// nextSample returns the earlier of two times to read the screen again; zero means none. began is
// the start of this reading. Readings use at most 1/sampleShare of the time, so a slow reading
// delays the next one.
func nextSample(wanted, again, began time.Time) time.Time {
	if again.IsZero() {
		return wanted
	}
	if earliest := began.Add(sampleShare * time.Since(began)); again.Before(earliest) {
		again = earliest
	}
	if wanted.IsZero() || again.Before(wanted) {
		return again
	}
	return wanted
}

// sampleShare limits the time for readings of one screen to 1/sampleShare of all time.
const sampleShare = 4

// tokenOf returns the instance token of the session on the screen. The error matches
// [runtime.ErrSessionNotFound] if its agent has exited.
func (p *Provider) tokenOf(ctx context.Context, name string, seen screenState) (string, error) {
	agent, token := seen.agent, seen.instance
	if agent == runtime.Unknown {
		obs, err := p.query(ctx, name)
		if err != nil && !isMissing(err) {
			return "", err
		}
		agent, token = running(obs), cmp.Or(token, obs.InstanceToken)
	}
	if agent == runtime.Dead {
		return "", runtime.ErrSessionNotFound
	}
	if token == "" {
		return p.token(ctx, name, false)
	}
	return token, nil
}

// dropListedMenu removes a menu from the reading if [screenState.dialog] finds none: the text is then
// a list in the conversation. It changes nothing if the cursor is known.
func (s screenState) dropListedMenu(r *runtime.Reading, rules screen.Rules) {
	if s.drawn || r.Pending == nil || s.dialog(rules) != nil {
		return
	}
	r.Pending = nil
	for i := range r.Evidence {
		if e := &r.Evidence[i]; e.Source == runtime.SourceScreen && e.Activity == runtime.ActivityWaiting {
			e.Activity, e.Kind, e.Detail = runtime.ActivityUnknown, "", "text that looks like a menu is above the input box"
		}
	}
}

// rules returns the screen rules for the agent CLI of a session.
func (p *Provider) rules(ctx context.Context, name string) (screen.Rules, error) {
	cfg, err := p.program(ctx, name)
	return screen.RulesFor(cfg, p.cfg.Profiles), err
}

// answered returns what the session's metadata says of the questions that this instance has already got answers to: first their
// number, then the ids of the last ones. The metadata is read once for each instance.
func (p *Provider) answered(ctx context.Context, name, token string) (screen.Life, error) {
	if life, ok := p.answers.get(name); ok && life.Name == token {
		return life, nil
	}
	text, err := p.getMeta(ctx, name, metaAnswered)
	if err != nil && !isMissing(err) {
		return screen.Life{}, err
	}
	life := screen.Life{Name: token}
	if words := strings.Fields(text); len(words) > 0 {
		life.Answered, _ = strconv.ParseUint(words[0], 10, 64) // an invalid number counts as 0
		life.Last = words[1:]
	}
	p.answers.set(name, life)
	return life, nil
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := p.bounded()
	defer cancel()
	reading, err := p.Sense(ctx, name)
	return reading.Pending, interactionError(err)
}

// interactionError adds runtime.ErrInteractionUnsupported to an error that means that the script does
// not support questions.
func interactionError(err error) error {
	if errors.Is(err, errScreensUnread) || isMissing(err) {
		return errors.Join(runtime.ErrInteractionUnsupported, err)
	}
	return err
}

// Respond implements runtime.InteractionProvider with the operation send-keys. It sends each key
// only while the requested question is visible, and waits for the effect of a key before the next
// one.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	ctx, cancel := p.bounded()
	defer cancel()
	fail := func(err error) error {
		return interactionError(&runtime.Error{Op: "respond to", Session: name, Err: err})
	}
	release, err := p.inputs.acquire(ctx, name)
	if err != nil {
		return fail(err)
	}
	defer release()
	reading, err := p.Sense(ctx, name)
	if err != nil {
		return fail(err)
	}
	if reading.Pending == nil {
		return fail(runtime.ErrInteractionGone)
	}
	rules, err := p.rules(ctx, name)
	if err != nil {
		return fail(err)
	}
	life, err := p.answered(ctx, name, reading.Instance)
	if err != nil {
		return fail(err)
	}
	asked, err := inject.Respond(ctx, &screenTerminal{p: p, name: name}, rules, inject.Answer{
		InteractionResponse: response, InstanceID: life,
		Deliver: func(context.Context, inject.Prompt) (runtime.Outcome, error) {
			return refused(runtime.RefusedContent, "an answer in words cannot be sent through a script"), nil
		},
	})
	if err != nil {
		return fail(err)
	}
	life = life.Add(asked)
	p.answers.set(name, life)
	if err := p.setMeta(ctx, name, metaAnswered, strings.Join(append([]string{strconv.FormatUint(life.Answered, 10)}, life.Last...), " ")); err != nil {
		p.cfg.Logger.Warn("cannot save that a question was answered", "session", name, "error", err)
	}
	return nil
}

// DismissKnownDialogs implements runtime.DialogProvider with the operation send-keys.
func (p *Provider) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	fail := func(err error) error {
		return &runtime.Error{Op: "dismiss dialogs of", Session: name, Err: err}
	}
	if !p.readsScreens() {
		return fail(errScreensUnread)
	}
	release, err := p.inputs.acquire(ctx, name)
	if err != nil {
		return fail(err)
	}
	defer release()
	if err := p.checkExists(ctx, "dismiss dialogs of", name); err != nil {
		return err
	}
	rules, err := p.rules(ctx, name)
	if err != nil {
		return fail(err)
	}
	if _, err := screen.Dismiss(ctx, &screenTerminal{p: p, name: name}, rules, timeout); err != nil {
		return fail(err)
	}
	return nil
}
