package shimdriver

import (
	"context"
	"fmt"
	"time"

	"gascity/internal/driver"
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
	s.identified(ctx, &observed)
	process, err := driver.AgentEvidence(observed.State.Agent, observed.Record.StartedAt, agentLife(observed))
	if err != nil {
		s.memory.Forget(name)
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: err}
	}
	l := s.liveOf(observed)
	reading := runtime.Reading{
		At: time.Now(), LastInput: observed.State.LastHuman, Progress: runtime.Progress{At: observed.State.LastOutput, Sign: "new output"},
	}
	if l.Terminal != nil {
		if reading, err = s.memory.Sense(ctx, name, l.life, l.Terminal, l.Rules); err != nil {
			return runtime.Reading{}, ErrorOf(op, name, err)
		}
	}
	if s.host != nil {
		said, err := s.host.Sense(ctx, l)
		if err != nil {
			return runtime.Reading{}, ErrorOf(op, name, err)
		}
		said.Evidence.At = reading.At
		reading.Evidence, reading.Pending, reading.Conversation = append(reading.Evidence, said.Evidence), said.Pending, said.Conversation
		reading.Progress = reading.Progress.Join(said.Progress)
	}
	process.At = reading.At
	reading.Evidence = append(reading.Evidence, process)
	reading.Instance = observed.Token
	return reading, nil
}

// lifeOf returns the identity of the session's current agent and the questions that were answered in it.
func lifeOf(observed shim.Observation) screen.Life {
	return screen.Life{
		Name:     fmt.Sprintf("%s %d", observed.Token, observed.Record.StartedAt.UnixNano()),
		Answered: observed.State.Answered, Last: observed.State.Last,
	}
}
