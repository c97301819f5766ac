package tmux

import (
	"context"
	"fmt"

	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Sense implements runtime.Sensor. What a program reported to its terminal
// counts for as long as it is in the foreground; of the screen it is only known how long
// it has said the same to this process, or at least: since the last output.
func (p *Provider) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	const op = "sense"
	s, err := p.live(ctx, op, name)
	if err != nil {
		p.memory.Forget(name)
		return runtime.Reading{}, err
	}
	process, err := p.process(s.record)
	if err != nil {
		p.memory.Forget(name)
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: err}
	}
	seat := p.drivenSessionOf(s)
	f, reading, err := p.memory.Sense(ctx, name, seat.asLife(), seat.terminal, seat.rules)
	switch {
	case err != nil:
		return runtime.Reading{}, fold(op, name, err)
	case f.Exited:
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	life := seat.asLife().String()
	p.memory.Recall(name, life, reading.Evidence)
	reading.Progress = p.memory.Progress(name, life, f, seat.rules, reading.At)
	process.At = reading.At
	reading.Evidence = append(reading.Evidence, process)
	reading.Instance, reading.LastInput = s.record.token, f.LastHuman
	if asked := reading.Pending; asked != nil {
		asked.RequestID = seat.asLife().Bind(asked.RequestID)
	}
	return reading, nil
}

// process returns what the agent's process shows: not what it does, only that it is there.
// [runtime.ErrSessionNotFound] if it has ended, although a shell around it may live.
func (p *Provider) process(r *record) (runtime.Evidence, error) {
	p.identified(r)
	e := runtime.Evidence{
		Source: runtime.SourceProcess, Activity: runtime.ActivityUnknown, Since: r.StartedAt,
		Detail: fmt.Sprintf("process %d lives", r.Agent.PID),
	}
	switch r.life() {
	case runtime.Dead:
		return e, runtime.ErrSessionNotFound
	case runtime.Unknown:
		e.Detail = "it cannot be known whether the agent's process lives"
	case runtime.Alive:
	}
	return e, nil
}

// asLife returns one life of a session and what was answered in it so far.
func (r *record) asLife() screen.Life {
	return screen.Life{Name: fmt.Sprintf("%s %d", r.token, r.StartedAt.UnixNano()), Answered: r.Answered, Last: r.Last}
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := bounded()
	defer cancel()
	reading, err := p.Sense(ctx, name)
	return reading.Pending, fold("read pending question of", name, err)
}

// Respond implements runtime.InteractionProvider. It takes the session's input;
// a question is answered in the instance that asks it.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	ctx, cancel := bounded()
	defer cancel()
	return p.drive(ctx, "respond to", name, nil, func(s drivenSession) error {
		asked, err := inject.Respond(ctx, s.terminal, s.rules, inject.Answer{
			InteractionResponse: response, InstanceID: s.asLife(),
			Deliver: func(ctx context.Context, prompt inject.Prompt) (runtime.Outcome, error) {
				return s.deliver(ctx, inputlog.ID("", prompt.Text), prompt)
			},
		})
		if err != nil {
			return err
		}
		return p.answered(ctx, s.record, asked)
	})
}

// answered records that a question was answered. A later driver reads it.
func (p *Provider) answered(ctx context.Context, r *record, asked string) error {
	lock, err := claimFolder(ctx, p.dir(r.Name))
	if err != nil {
		return err
	}
	defer lock.Close()
	now, err := readRecord(p.dir(r.Name))
	if err != nil || now == nil || now.token != r.token {
		return err
	}
	life := now.asLife().Add(asked)
	now.Answered, now.Last = life.Answered, life.Last
	return now.write(p.dir(r.Name))
}
