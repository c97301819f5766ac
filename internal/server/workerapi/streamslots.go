package workerapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gascity/worker"
)

// takeoverWait is how long a stream waits for the one before it to go: a worker that comes
// again has hung up, and the handler of its last stream may not know yet.
const takeoverWait = 2 * time.Second

// errStreamInUse refuses a second worker. It may come again: the first one may end.
var errStreamInUse = fmt.Errorf("%w: another worker reads the stream of this run, and two of them would work on each prompt twice", worker.ErrUnavailable)

// streamSlots are the streams that are open, one for each run. The zero value is empty; methods
// are safe for concurrent use.
type streamSlots struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by run; closed when it is free again
}

// acquire takes the seat of a run as soon as it is free, and waits for that within limits. The
// caller leaves it.
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

// tryAcquire takes a seat that is free; else it returns what is closed when that is so.
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
