// Package recovery stores what a later controller needs about a run: which messages the worker
// received and what it reported. It also serves sessions whose stored data is not read yet, and
// sessions without a worker.
package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/internal/domain/workerrun"
	"gascity/internal/service/workers/compaction"
	"gascity/internal/service/workers/contextlog"
	"gascity/runtime"
	"gascity/worker"
)

// Meta is the metadata key of a session that contains the memory. It contains no secrets.
const Meta = "GC_WORKER_RUN"

// MaxSent is how many prompts sent by the stream are remembered. Prompts are sent one at a time.
const MaxSent = 16

// maxNote is the largest size of the metadata value in bytes; the contract of providers allows 64
// KiB.
const maxNote = 60 << 10

// ErrNoProvider means that there is no provider for a session.
var ErrNoProvider = fmt.Errorf("%w: the session cannot be reached", worker.ErrUnavailable)

// Memory is the stored data of a run.
type Memory struct {
	Run             string               `json:"run"` // ID of the run: the metadata of a session may be older than its run
	Generation      int                  `json:"generation,omitempty"`
	AckedGeneration int                  `json:"told,omitempty"`
	Streamed        bool                 `json:"streamed,omitempty"`
	Life            workerrun.History    `json:"life"`
	Sent            []string             `json:"sent,omitempty"` // see [Newest]
	ContextLog      contextlog.Record    `json:"given,omitzero"`
	Asked           []worker.Interaction `json:"asked,omitempty"`
	Proved          bool                 `json:"proved,omitempty"`
	Bypass          string               `json:"bypass,omitempty"`
	Lock            compaction.State     `json:"lock,omitzero"`
	// Command is when the last command of the agent CLI was typed if its effect was not seen; zero:
	// no such command.
	Command time.Time `json:"command,omitzero"`
}

// Text returns the memory as JSON of at most maxNote bytes. If it is too large, Text leaves out the
// inputs of questions, and then the oldest questions. It does not change m.Asked of the caller.
func (m Memory) Text() (string, error) {
	m.Asked = slices.Clone(m.Asked)
	for {
		text, err := json.Marshal(m)
		if err != nil || len(text) <= maxNote || len(m.Asked) == 0 {
			return string(text), err
		}
		if at := slices.IndexFunc(m.Asked, func(q worker.Interaction) bool { return len(q.Input) > 0 }); at >= 0 {
			m.Asked[at].Input = nil
			continue
		}
		m.Asked = m.Asked[1:]
	}
}

// Read returns the memory of a run, given by its ID. It returns the zero memory if the session or
// its memory does not exist.
func Read(p runtime.Provider, session, id string) (Memory, error) {
	if p == nil {
		return Memory{}, ErrNoProvider
	}
	text, err := p.GetMeta(session, Meta)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return Memory{}, nil
	}
	var m Memory
	if err != nil || text == "" {
		return Memory{}, err
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Run != id {
		return Memory{}, nil //nolint:nilerr // written by another version or for another run
	}
	return m, nil
}
