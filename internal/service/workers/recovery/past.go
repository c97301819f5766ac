// Package recovery is what a session keeps of its run for a later controller: what the
// worker received and reported, as far as it cannot be found out again. It serves
// sessions whose past is not read yet, or who have none.
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

// Meta is the note of a session that holds it. There is no secret in it.
const Meta = "GC_WORKER_RUN"

// MaxSent is how many prompts by the stream are remembered: they go one by one.
const MaxSent = 16

// maxNote is the most bytes of a note; the contract of providers allows 64 KiB.
const maxNote = 60 << 10

// ErrNoProvider means that there is no provider to ask about a session.
var ErrNoProvider = fmt.Errorf("%w: the session cannot be reached", worker.ErrUnavailable)

// Memory is what is kept.
type Memory struct {
	Run             string               `json:"run"` // its run: the note of a session may outlive its run
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
	// Command is when a command of the agent CLI was typed whose effect was not seen; zero: none was.
	Command time.Time `json:"command,omitzero"`
}

// Text returns the note. What is asked gives way if it is too much: first what is to
// run, then the oldest. The memory's own list of questions stays as it is.
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

// Read returns the memory of a run, by its ID; the zero memory if there is none.
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
		return Memory{}, nil //nolint:nilerr // another version's, or another run's: this one has no past
	}
	return m, nil
}
