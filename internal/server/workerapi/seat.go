package workerapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gascity/worker"
)

// vacating is how long a stream waits for the one before it to go: a worker that comes
// again has hung up, and the handler of its last stream may not know yet.
const vacating = 2 * time.Second

// errTaken refuses a second worker. It may come again: the first one may end.
var errTaken = fmt.Errorf("%w: another worker reads the stream of this run, and two of them would work on each prompt twice", worker.ErrUnavailable)

// seats are the streams that are open, one for each run. The zero value is empty; methods
// are safe for concurrent use.
type seats struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by run; closed when it is free again
}

// take takes the seat of a run as soon as it is free, and waits for that within limits. The
// caller leaves it.
func (s *seats) take(ctx context.Context, id string) (leave func(), err error) {
	timer := time.NewTimer(vacating)
	defer timer.Stop()
	for {
		free, leave := s.try(id)
		if leave != nil {
			return leave, nil
		}
		select {
		case <-free:
		case <-timer.C:
			return nil, errTaken
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try takes a seat that is free; else it returns what is closed when that is so.
func (s *seats) try(id string) (free chan struct{}, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if free, taken := s.taken[id]; taken {
		return free, nil
	}
	if s.taken == nil {
		s.taken = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	s.taken[id] = mine
	return nil, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.taken, id)
		close(mine)
	}
}
