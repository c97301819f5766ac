package questions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
)

const (
	notifiers   = 4
	notifyLimit = 30 * time.Second
)

// alert notifies people of a question in a goroutine. At most [notifiers] calls run at once.
func (r *loop) alert(ctx context.Context, p session.Pending) {
	r.jobs.Go(func() {
		select {
		case r.notifying <- struct{}{}:
			r.notify(ctx, toClient(p))
			<-r.notifying
		case <-ctx.Done():
		}
	})
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
