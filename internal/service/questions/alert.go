package questions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/textfmt"
)

const (
	notifiers   = 4
	notifyLimit = 30 * time.Second
)

// alerts calls notify for questions, with at most notifiers calls at once and in the order of add.
// Callers do not wait for the calls.
type alerts struct {
	notify func(ctx context.Context, p client.Pending)

	mu    sync.Mutex
	queue []client.Pending
	busy  int
}

// add queues a question whose people are to be notified, and starts another goroutine for the queue
// if fewer than [notifiers] run. add does not wait.
func (a *alerts) add(ctx context.Context, jobs *sync.WaitGroup, p client.Pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, p)
	if a.busy < notifiers {
		a.busy++
		jobs.Go(func() { a.work(ctx) })
	}
}

// work notifies people of queued questions until the queue is empty.
func (a *alerts) work(ctx context.Context) {
	for {
		p, ok := a.next()
		if !ok {
			return
		}
		if ctx.Err() == nil {
			a.notify(ctx, p)
		}
	}
}

// next removes and returns the first question of the queue. If the queue is empty, it returns
// false, and the caller's goroutine must end.
func (a *alerts) next() (client.Pending, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		a.busy--
		return client.Pending{}, false
	}
	p := a.queue[0]
	a.queue = a.queue[1:]
	return p, true
}

var errSlow = errors.New("it did not end within 30 s")

// notify notifies people of one question, unless the question has ended.
func (d *Service) notify(ctx context.Context, p client.Pending) {
	now, err := d.Question(ctx, p.ID)
	if err != nil || now.State != client.PendingOpen {
		return
	}
	bounded, cancel := context.WithTimeoutCause(ctx, notifyLimit, errSlow)
	defer cancel()
	if err = d.opts.Notify(bounded, p); err == nil || ctx.Err() != nil {
		return
	}
	why := textfmt.Truncate(err.Error(), maxHeadline)
	d.append(ctx, client.Event{
		Kind: string(event.PendingNotifyFailed), Agent: p.Agent, Session: p.Session,
		Text: fmt.Sprintf("no notification was sent that %s asks: %s", p.Agent, why), Data: map[string]string{"id": p.ID, "error": why},
	})
}
