package shimdriver

import (
	"context"
	"fmt"
	"time"

	"gascity/internal/shim"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Sense implements runtime.Sensor. What a program reported to its terminal is used only while that program is in the
// foreground. For the screen, the reading says since when this process has seen it unchanged, or since the last output.
func (s *Sessions) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	const op = "sense"
	observed, err := s.live(ctx, op, name)
	if err != nil {
		s.memory.Forget(name)
		return runtime.Reading{}, err
	}
	process, err := s.process(ctx, &observed)
	if err != nil {
		s.memory.Forget(name)
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: err}
	}
	l := s.liveOf(observed)
	reading := runtime.Reading{At: time.Now()}
	progress := runtime.Progress{At: observed.State.LastOutput, Sign: "new output"}
	typed := observed.State.LastHuman
	if l.Terminal != nil {
		var f screen.Frame
		f, reading, err = s.memory.Sense(ctx, name, l.life, l.Terminal, l.Rules)
		switch {
		case err != nil:
			return runtime.Reading{}, ErrorOf(op, name, err)
		case f.Exited:
			return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
		}
		typed = f.LastHuman
		s.memory.Recall(name, l.life.String(), reading.Evidence)
		progress = s.memory.Progress(name, l.life.String(), f, l.Rules, reading.At)
	}
	if s.host != nil {
		said, err := s.host.Sense(ctx, l)
		if err != nil {
			return runtime.Reading{}, ErrorOf(op, name, err)
		}
		said.Evidence.At = reading.At
		reading.Evidence, reading.Pending, reading.Conversation = append(reading.Evidence, said.Evidence), said.Pending, said.Conversation
		progress = progress.Join(said.Progress)
	}
	reading.Progress = progress
	process.At = reading.At
	reading.Evidence = append(reading.Evidence, process)
	reading.Instance, reading.LastInput = observed.Token, typed
	if p := reading.Pending; p != nil && s.host == nil {
		p.RequestID = l.life.Bind(p.RequestID)
	}
	return reading, nil
}

// process returns the evidence that the agent's process exists; it does not show the agent's activity. It returns
// [runtime.ErrSessionNotFound] if the agent has exited, even if a shell around it still runs.
func (s *Sessions) process(ctx context.Context, observed *shim.Observation) (runtime.Evidence, error) {
	s.identified(ctx, observed)
	e := runtime.Evidence{
		Source: runtime.SourceProcess, Activity: runtime.ActivityUnknown, Since: observed.Record.StartedAt,
		Detail: fmt.Sprintf("process %d lives", observed.State.Agent.PID),
	}
	switch agentLife(*observed) {
	case runtime.Dead:
		return e, runtime.ErrSessionNotFound
	case runtime.Unknown:
		e.Detail = "it cannot be known whether the agent's process lives"
	case runtime.Alive:
	}
	return e, nil
}

// lifeOf returns the identity of the session's current agent and the questions that were answered in it.
func lifeOf(observed shim.Observation) screen.Life {
	return screen.Life{
		Name:     fmt.Sprintf("%s %d", observed.Token, observed.Record.StartedAt.UnixNano()),
		Answered: observed.State.Answered, Last: observed.State.Last,
	}
}
