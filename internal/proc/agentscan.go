package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/runtime"
)

const (
	sessionIDKey = "GC_SESSION_ID"
	epochKey     = "GC_RUNTIME_EPOCH"
)

// AgentScanner finds agent processes. Concurrent callers share one scan of all processes that began after their calls. The
// zero value is ready to use. It is safe for concurrent use.
type AgentScanner struct {
	mu   sync.Mutex
	last envScan
}

// FindByEnv is [FindByEnv] for variables whose names begin with GC_. It uses a scan that began after its call.
func (s *AgentScanner) FindByEnv(key, value string) ([]EnvMatch, error) {
	called := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.began.After(called) {
		scan, err := scanEnv(func(entry string) bool { return strings.HasPrefix(entry, "GC_") })
		if err != nil {
			return nil, err
		}
		s.last = scan
	}
	return s.last.find(key, value)
}

// Find returns the root processes of the sessions with this id in the environment of their processes; of all sessions if id
// is empty. tracked maps the root process of each session that the driver knows to the name of that session. A process whose
// environment cannot be read is left out.
func (s *AgentScanner) Find(id string, tracked map[ID]string) ([]runtime.LiveRuntime, error) {
	marked, err := s.FindByEnv(sessionIDKey, id)
	var unreadable *UnreadableError
	if err != nil && !errors.As(err, &unreadable) {
		return nil, fmt.Errorf("cannot scan for agent processes: %w", err)
	}
	member := map[int]string{}
	for _, m := range marked {
		member[m.PID] = m.Value
	}
	var found []runtime.LiveRuntime
	for _, m := range marked {
		if value, inherited := member[m.PPID]; inherited && value == m.Value {
			continue // not a root: its parent is in the same session
		}
		r := runtime.LiveRuntime{SessionID: m.Value, PID: m.PID, City: cmp.Or(m.Get(CityKey), m.Get("GC_CITY"))}
		r.Epoch, _ = strconv.Atoi(m.Get(epochKey)) // zero if it is not a number, as documented
		r.ProviderName, r.IsTracked = tracked[m.ID]
		found = append(found, r)
	}
	return found, nil
}

// WithToken returns the PIDs of all processes of an instance, found by its token. An error that matches [UnreadableError]
// means that there may be more. If token is empty, it returns nothing.
func (s *AgentScanner) WithToken(token string) ([]int, error) {
	if token == "" {
		return nil, nil
	}
	found, err := s.FindByEnv(TokenKey, token)
	pids := make([]int, 0, len(found))
	for _, m := range found {
		pids = append(pids, m.PID)
	}
	return pids, err
}

// TerminateAgent stops the process that r describes and all processes with its instance token, if it is still that process. If it
// does not exist, Terminate returns nil.
func TerminateAgent(ctx context.Context, r runtime.LiveRuntime) error {
	info, err := Stat(r.PID)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	id, ok, err := EnvValue(r.PID, sessionIDKey)
	if err != nil || !ok || id != r.SessionID {
		return nil //nolint:nilerr // the pid was reused
	}
	opts := &KillOptions{}
	if token, ok, err := EnvValue(r.PID, TokenKey); err == nil && ok {
		opts.MarkKey, opts.MarkValue = TokenKey, token
	}
	_, err = KillTree(ctx, info.ID, opts)
	return err
}
