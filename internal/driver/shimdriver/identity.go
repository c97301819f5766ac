package shimdriver

import (
	"context"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/runtime"
)

// Identify implements driver.LocalSession.
func (l Live) Identify(ctx context.Context) bool { return l.sessions.identified(ctx, &l.observed) }

// Evidence implements driver.LocalSession. Without a terminal, the new output is the agent's progress.
func (l Live) Evidence(ctx context.Context) (runtime.Reading, error) {
	l.sessions.identified(ctx, &l.observed)
	state := l.observed.State
	process, err := driver.AgentEvidence(state.Agent, l.observed.Record.StartedAt, agentLife(l.observed))
	if err != nil {
		return runtime.Reading{}, err
	}
	process.At = time.Now()
	reading := runtime.Reading{
		At: process.At, LastInput: state.LastHuman, Progress: runtime.Progress{At: state.LastOutput, Sign: "new output"},
	}
	if host := l.sessions.host; host != nil {
		said, err := host.Sense(ctx, l)
		if err != nil {
			return runtime.Reading{}, err
		}
		said.Evidence.At = reading.At
		reading.Evidence, reading.Pending, reading.Conversation = []runtime.Evidence{said.Evidence}, said.Pending, said.Conversation
		reading.Progress = reading.Progress.Join(said.Progress)
	}
	reading.Evidence = append(reading.Evidence, process)
	return reading, nil
}

// identified tries to find the agent's process, stores it, and reports whether it is known. If city.toml names no processes of
// the agent, the agent is the process that was started.
func (s *Sessions) identified(ctx context.Context, observed *shim.Observation) bool {
	r := *observed.Record
	if observed.State.Agent != r.Root {
		return true
	}
	agent, known := driver.FindAgent(r.Root, r.ProcessNames, treeOf(*observed))
	if agent == r.Root {
		return known
	}
	if err := observed.Client.SetAgent(ctx, agent); err != nil {
		s.opts.Logger.Warn("cannot store which process is the agent", "session", r.Name, "error", err)
		return false
	}
	observed.State.Agent = agent
	return true
}

// agentLife returns whether the agent runs.
func agentLife(observed shim.Observation) runtime.Liveness {
	return driver.AgentLiveness(observed.State.Agent, observed.Record.ProcessNames, treeOf(observed))
}

// treeOf returns a function that reads the live processes of a session, parents before children. The shim is the ancestor of all
// of them, also of those whose parents have exited.
func treeOf(observed shim.Observation) func() ([]proc.Info, error) {
	pid := observed.Record.Shim.PID
	return func() ([]proc.Info, error) {
		tree, err := proc.Tree(pid)
		return proc.Live(tree, pid), err
	}
}
