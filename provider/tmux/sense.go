package tmux

import (
	"context"
	"fmt"

	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/inputlog"
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
	process, err := p.processEvidence(s.record)
	if err != nil {
		p.memory.Forget(name)
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: err}
	}
	driven := p.drivenSessionOf(s)
	f, reading, err := p.memory.Sense(ctx, name, driven.screenLife(), driven.terminal, driven.rules)
	switch {
	case err != nil:
		return runtime.Reading{}, fold(op, name, err)
	case f.Exited:
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	life := driven.screenLife().String()
	p.memory.Recall(name, life, reading.Evidence)
	reading.Progress = p.memory.Progress(name, life, f, driven.rules, reading.At)
	process.At = reading.At
	reading.Evidence = append(reading.Evidence, process)
	reading.Instance, reading.LastInput = s.record.token, f.LastHuman
	if asked := reading.Pending; asked != nil {
		asked.RequestID = driven.screenLife().Bind(asked.RequestID)
	}
	return reading, nil
}

// processEvidence returns the evidence that the agent's process runs. It says nothing about the agent's activity. It
// returns [runtime.ErrSessionNotFound] if the agent's process has exited, even if a shell around it still runs.
func (p *Provider) processEvidence(r *record) (runtime.Evidence, error) {
	p.identified(r)
	e := runtime.Evidence{
		Source: runtime.SourceProcess, Activity: runtime.ActivityUnknown, Since: r.StartedAt,
		Detail: fmt.Sprintf("process %d runs", r.Agent.PID),
	}
	switch r.liveness() {
	case runtime.Dead:
		return e, runtime.ErrSessionNotFound
	case runtime.Unknown:
		e.Detail = "cannot determine whether the agent's process runs"
	case runtime.Alive:
	}
	return e, nil
}

// screenLife returns the identity of this launch of the agent, with the questions answered in it so far.
func (r *record) screenLife() screen.Life {
	return screen.Life{Name: fmt.Sprintf("%s %d", r.token, r.StartedAt.UnixNano()), Answered: r.Answered, Last: r.Last}
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := bounded()
	defer cancel()
	reading, err := p.Sense(ctx, name)
	return reading.Pending, fold("read pending question of", name, err)
}

// Respond implements runtime.InteractionProvider. It holds the session's input lock and answers a question only in
// the instance that asks it.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	ctx, cancel := bounded()
	defer cancel()
	return p.drive(ctx, "respond to", name, nil, func(s drivenSession) error {
		asked, err := inject.Respond(ctx, s.terminal, s.rules, inject.Answer{
			InteractionResponse: response, InstanceID: s.screenLife(),
			Deliver: func(ctx context.Context, prompt inject.Prompt) (runtime.Outcome, error) {
				return s.deliver(ctx, inputlog.ID("", prompt.Text), prompt)
			},
		})
		if err != nil {
			return err
		}
		return p.recordAnswer(ctx, s.record, asked)
	})
}

// recordAnswer stores in the session's record that the question asked was answered.
func (p *Provider) recordAnswer(ctx context.Context, r *record, asked string) error {
	lock, err := claimFolder(ctx, p.dir(r.Name))
	if err != nil {
		return err
	}
	defer lock.Close()
	now, err := readRecord(p.dir(r.Name))
	if err != nil || now == nil || now.token != r.token {
		return err
	}
	life := now.screenLife().Add(asked)
	now.Answered, now.Last = life.Answered, life.Last
	return now.write(p.dir(r.Name))
}
