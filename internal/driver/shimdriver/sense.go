package shimdriver

import (
	"context"
	"fmt"
	"time"

	"gascity/internal/shim"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Sense implements runtime.Sensor. What a program reported to its terminal
// counts for as long as it is in the foreground; of the screen it is only known how long
// it has said the same to this process, or at least: since the last output.
func (s *Sessions) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	const op = "sense"
	sight, err := s.live(ctx, op, name)
	if err != nil {
		s.memory.Forget(name)
		return runtime.Reading{}, err
	}
	process, err := s.process(ctx, &sight)
	if err != nil {
		s.memory.Forget(name)
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: err}
	}
	l := s.liveOf(sight)
	reading := runtime.Reading{At: time.Now()}
	progress := runtime.Progress{At: sight.State.LastOutput, Sign: "new output"}
	typed := sight.State.LastHuman
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
	reading.Instance, reading.LastInput = sight.Token, typed
	if p := reading.Pending; p != nil && s.host == nil {
		p.RequestID = l.life.Bind(p.RequestID)
	}
	return reading, nil
}

// process returns what the agent's process shows: not what it does, only that it is there.
// [runtime.ErrSessionNotFound] if it has ended, although a shell around it may live.
func (s *Sessions) process(ctx context.Context, sight *shim.Observation) (runtime.Evidence, error) {
	s.identified(ctx, sight)
	e := runtime.Evidence{
		Source: runtime.SourceProcess, Activity: runtime.ActivityUnknown, Since: sight.Record.StartedAt,
		Detail: fmt.Sprintf("process %d lives", sight.State.Agent.PID),
	}
	switch agentLife(*sight) {
	case runtime.Dead:
		return e, runtime.ErrSessionNotFound
	case runtime.Unknown:
		e.Detail = "it cannot be known whether the agent's process lives"
	case runtime.Alive:
	}
	return e, nil
}

// lifeOf returns one life of a session and what was answered in it so far.
func lifeOf(sight shim.Observation) screen.Life {
	return screen.Life{
		Name:     fmt.Sprintf("%s %d", sight.Token, sight.Record.StartedAt.UnixNano()),
		Answered: sight.State.Answered, Last: sight.State.Last,
	}
}
