package workers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/worker"
)

// MetaRun is the metadata key of a session that contains the memory. It contains no secrets.
const MetaRun = "GC_WORKER_RUN"

// maxSent is how many prompts sent by the stream are remembered. Prompts are sent one at a time.
const maxSent = 16

// maxMemoryBytes is the largest size of the metadata value in bytes; the contract of providers
// allows 64 KiB.
const maxMemoryBytes = 60 << 10

// errNoProvider means that there is no provider for a session.
var errNoProvider = fmt.Errorf("%w: the session cannot be reached", worker.ErrUnavailable)

// runMemory is the stored data of a run.
type runMemory struct {
	Run             string               `json:"run"` // ID of the run: the metadata of a session may be older than its run
	Generation      int                  `json:"generation,omitempty"`
	AckedGeneration int                  `json:"told,omitempty"`
	Streamed        bool                 `json:"streamed,omitempty"`
	Life            session.RunHistory   `json:"life"`
	Sent            []string             `json:"sent,omitempty"` // see [findLastAttempt]
	ContextLog      contextLog           `json:"given,omitzero"`
	Asked           []worker.Interaction `json:"asked,omitempty"`
	Proved          bool                 `json:"proved,omitempty"`
	Bypass          string               `json:"bypass,omitempty"`
	Lock            compactionState      `json:"lock,omitzero"`
	// Command is when the last command of the agent CLI was typed if its effect was not seen; zero:
	// no such command.
	Command time.Time `json:"command,omitzero"`
}

// Text returns the memory as JSON of at most maxNote bytes. If it is too large, Text leaves out the
// inputs of questions, and then the oldest questions. It does not change m.Asked of the caller.
func (m runMemory) Text() (string, error) {
	m.Asked = slices.Clone(m.Asked)
	for {
		text, err := json.Marshal(m)
		if err != nil || len(text) <= maxMemoryBytes || len(m.Asked) == 0 {
			return string(text), err
		}
		if at := slices.IndexFunc(m.Asked, func(q worker.Interaction) bool { return len(q.Input) > 0 }); at >= 0 {
			m.Asked[at].Input = nil
			continue
		}
		m.Asked = m.Asked[1:]
	}
}

// readRunMemory returns the memory of a run, given by its ID. It returns the zero memory if the
// session or its memory does not exist.
func readRunMemory(p runtime.Provider, session, id string) (runMemory, error) {
	if p == nil {
		return runMemory{}, errNoProvider
	}
	text, err := p.GetMeta(session, MetaRun)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return runMemory{}, nil
	}
	var m runMemory
	if err != nil || text == "" {
		return runMemory{}, err
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Run != id {
		return runMemory{}, nil //nolint:nilerr // written by another version or for another run
	}
	return m, nil
}
