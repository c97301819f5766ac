package workerapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gascity/worker"
)

// takeoverWait is how long a new stream waits for the previous one of the same run to close: when a
// worker connects again, the handler of its previous stream may not have returned yet.
const takeoverWait = 2 * time.Second

// errStreamInUse refuses a second worker of a run. The worker may try again later.
var errStreamInUse = fmt.Errorf("%w: another worker reads the stream of this run; with two workers each prompt would be processed twice", worker.ErrUnavailable)

// streamSlots are the open streams, at most one for each run. The zero value is empty. Methods are
// safe for concurrent use.
type streamSlots struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by run; closed when the stream closes
}

// acquire reserves the stream of a run for one reader. If another reader has it, acquire waits up
// to [takeoverWait] for that one to close, and then returns errStreamInUse. The caller must call
// leave at the end.
func (s *streamSlots) acquire(ctx context.Context, id string) (leave func(), err error) {
	timer := time.NewTimer(takeoverWait)
	defer timer.Stop()
	for {
		free, leave := s.tryAcquire(id)
		if leave != nil {
			return leave, nil
		}
		select {
		case <-free:
		case <-timer.C:
			return nil, errStreamInUse
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryAcquire reserves the stream of the run with the given ID, because only one may be open. If it
// succeeds, the caller must call leave at the end. If another one is open, leave is nil, and free
// is closed when that one closes.
func (s *streamSlots) tryAcquire(id string) (free chan struct{}, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if free, taken := s.open[id]; taken {
		return free, nil
	}
	if s.open == nil {
		s.open = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	s.open[id] = mine
	return nil, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, id)
		close(mine)
	}
}
