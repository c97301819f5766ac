package exec

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/internal/driver/script"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// metaAnswered has the number of the questions of an instance that were answered through
// gc, and the names of the last ones, so that one that comes again in the same words is
// another one.
const metaAnswered = "GC_ANSWERED"

// Sense implements runtime.Sensor: by the screen, with the rules for the program
// that was started. A script that shows no screen is errors.ErrUnsupported, as is one that
// takes whole deliveries: what it serves is no terminal of ours.
func (p *Provider) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	fail := func(err error) (runtime.Reading, error) {
		p.screens.remove(name)
		return runtime.Reading{}, &runtime.Error{Op: "sense", Session: name, Err: err}
	}
	if !p.reads() {
		return fail(errBlind)
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
	seen.LastOutput, again = p.screens.since(name, seen.sum, now)
	reading := screen.Sense(seen.pointed(rules.ReadyPrefix), rules, now)
	reading.Instance = token
	if !p.caps.Has(script.CapWatch) {
		reading.Again = nextSample(reading.Again, again, now)
	}
	seen.dropListedMenu(&reading, rules)
	p.memory.Recall(name, life.String(), reading.Evidence)
	reading.Progress = p.memory.Progress(name, life.String(), seen.pointed(rules.ReadyPrefix), rules, now)
	if reading.Pending != nil {
		reading.Pending.RequestID = life.Bind(reading.Pending.RequestID)
	}
	return reading, nil
}

// nextSample returns when to look again: at the earlier of two times, but looks take a part of the time
// only. Where one takes seconds, as on a loaded machine, the next waits for as many times that.
func nextSample(wanted, again, began time.Time) time.Time {
	if again.IsZero() {
		return wanted
	}
	if soon := began.Add(sampleShare * time.Since(began)); again.Before(soon) {
		again = soon
	}
	if wanted.IsZero() || again.Before(wanted) {
		return again
	}
	return wanted
}

// sampleShare is the share of the time that looks at one screen may take, as its reciprocal.
const sampleShare = 4

// tokenOf returns the token of the session that was seen. The error is
// [runtime.ErrSessionNotFound] if its agent has ended.
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

// dropListedMenu drops a menu that is a list in the conversation.
func (s screenState) dropListedMenu(r *runtime.Reading, rules screen.Rules) {
	if s.drawn || r.Pending == nil || s.dialog(rules) != nil {
		return
	}
	r.Pending = nil
	for i := range r.Evidence {
		if e := &r.Evidence[i]; e.Source == runtime.SourceScreen && e.Activity == runtime.ActivityWaiting {
			e.Activity, e.Kind, e.Detail = runtime.ActivityUnknown, "", "what looks like a menu stands above the input box"
		}
	}
}

// rules returns those for the program in a session.
func (p *Provider) rules(ctx context.Context, name string) (screen.Rules, error) {
	cfg, err := p.program(ctx, name)
	return screen.RulesFor(cfg, p.cfg.Profiles), err
}

// answered returns what was answered in this life.
func (p *Provider) answered(ctx context.Context, name, token string) (screen.Life, error) {
	if life, ok := p.answers.get(name, token); ok {
		return life, nil
	}
	text, err := p.getMeta(ctx, name, metaAnswered)
	if err != nil && !isMissing(err) {
		return screen.Life{}, err
	}
	life := screen.Life{Name: token}
	if words := strings.Fields(text); len(words) > 0 {
		life.Answered, _ = strconv.ParseUint(words[0], 10, 64) // what is no number counts nothing
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
	return reading.Pending, interaction(err)
}

// interaction names the extension that is not there.
func interaction(err error) error {
	if errors.Is(err, errBlind) || isMissing(err) {
		return errors.Join(runtime.ErrInteractionUnsupported, err)
	}
	return err
}

// Respond implements runtime.InteractionProvider, by send-keys. Each key is
// pressed onto the question that was asked for, and the next one when its effect is seen.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	ctx, cancel := p.bounded()
	defer cancel()
	fail := func(err error) error {
		return interaction(&runtime.Error{Op: "respond to", Session: name, Err: err})
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
			return refused(runtime.RefusedContent, "a script cannot type an answer in words"), nil
		},
	})
	if err != nil {
		return fail(err)
	}
	life = life.Add(asked)
	p.answers.set(name, life)
	if err := p.setMeta(ctx, name, metaAnswered, strings.Join(append([]string{strconv.FormatUint(life.Answered, 10)}, life.Last...), " ")); err != nil {
		p.cfg.Logger.Warn("it cannot be noted that a question was answered", "session", name, "error", err)
	}
	return nil
}

// DismissKnownDialogs implements runtime.DialogProvider, by send-keys.
func (p *Provider) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	fail := func(err error) error {
		return &runtime.Error{Op: "dismiss dialogs of", Session: name, Err: err}
	}
	if !p.reads() {
		return fail(errBlind)
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

// answers has what was answered in the lives of sessions. The zero value is useful.
type answers struct {
	mu    sync.Mutex
	lives map[string]screen.Life
}

func (a *answers) get(name, token string) (life screen.Life, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	life, ok = a.lives[name]
	return life, ok && life.Name == token
}

func (a *answers) set(name string, life screen.Life) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lives == nil {
		a.lives = map[string]screen.Life{}
	}
	a.lives[name] = life
}
