package tmux

import (
	"context"
	"fmt"

	"gascity/internal/driver"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Sense implements runtime.Sensor. A report of a program to its terminal counts while the program is in the
// foreground. For evidence from the screen, the start time is when this process first observed it, or the time of
// the last output.
func (p *Provider) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	const op = "sense"
	s, err := p.live(ctx, op, name)
	if err != nil {
		p.memory.Forget(name)
		return runtime.Reading{}, err
	}
	p.identified(s.record)
	process, err := driver.AgentEvidence(s.record.Agent, s.record.StartedAt, s.record.liveness())
	if err != nil {
		p.memory.Forget(name)
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: err}
	}
	driven := p.drivenSessionOf(s)
	reading, err := p.memory.Sense(ctx, name, driven.screenLife(), driven.terminal, driven.rules)
	if err != nil {
		return runtime.Reading{}, fold(op, name, err)
	}
	process.At = reading.At
	reading.Evidence, reading.Instance = append(reading.Evidence, process), s.record.token
	return reading, nil
}

// screenLife returns the identity of this launch of the agent, with the questions answered in it so far.
func (r *record) screenLife() screen.Life {
	return screen.Life{Name: fmt.Sprintf("%s %d", r.token, r.StartedAt.UnixNano()), Answered: r.Answered, Last: r.Last}
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	reading, err := p.Sense(ctx, name)
	return reading.Pending, fold("read pending question of", name, err)
}

// Respond implements runtime.InteractionProvider. It holds the session's input lock and answers a question only in
// the instance that asks it.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	return p.drive(ctx, "respond to", name, nil, func(s drivenSession) error {
		asked, err := inject.Respond(ctx, s.terminal, s.rules, inject.Answer{
			InteractionResponse: response, InstanceID: s.screenLife(),
			Deliver: func(ctx context.Context, prompt inject.Prompt) (runtime.Outcome, error) {
				return s.deliver(ctx, inject.DeliveryID("", prompt.Text), prompt)
			},
		})
		if err != nil {
			return err
		}
		return p.editRecord(ctx, s.record, func(now *record) {
			life := now.screenLife().Add(asked)
			now.Answered, now.Last = life.Answered, life.Last
		})
	})
}
