package ops

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gascity/runtime"
)

const (
	progressWindow = 5 * time.Second // a start that printed within it is not cut off
	hardLimit      = 5               // times the limit of a start without progress
	peekLimit      = 2 * time.Second // for the screen of a start that is given up
)

// Attempt is one start under way. Its deadline moves as long as the agent shows
// progress, up to five times its limit. [Attempt.Run] is the job's, everything
// else is the loop's; Screen and Given can be read by both once Run is over.
type Attempt struct {
	Abandoned bool   // it was given up: the deadline had passed
	Screen    string // what stood there then

	began, due, hard, moved time.Time
	limit                   time.Duration
	giveUp                  chan struct{} // closed when it is given up
	progress                atomic.Pointer[string]
}

// NewAttempt returns an attempt that begins now.
func NewAttempt(now time.Time, limit time.Duration) *Attempt {
	return &Attempt{began: now, limit: limit, due: now.Add(limit), hard: now.Add(hardLimit * limit), giveUp: make(chan struct{})}
}

// Due returns the present deadline.
func (a *Attempt) Due() time.Time { return a.due }

// Longest bounds how long Run takes, if the driver obeys.
func (a *Attempt) Longest() time.Duration { return hardLimit*a.limit + peekLimit }

// Progress returns what the start waits for, in words; empty if its driver does not say, and of a
// nil attempt.
func (a *Attempt) Progress() string {
	if a == nil {
		return ""
	}
	if words := a.progress.Load(); words != nil {
		return *words
	}
	return ""
}

// Moved records a sign of progress.
func (a *Attempt) Moved(at time.Time) { a.moved = at }

// Shift moves the deadline by the time in which the controller could not act.
func (a *Attempt) Shift(gap time.Duration) {
	for _, t := range []*time.Time{&a.began, &a.due, &a.hard, &a.moved} {
		*t = Shift(*t, gap)
	}
}

// Shift moves a time that is set.
func Shift(t time.Time, gap time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(gap)
}

// Judge moves a deadline that has come, or gives the attempt up.
func (a *Attempt) Judge(now time.Time) {
	if a.Abandoned || now.Before(a.due) {
		return
	}
	if next := a.moved.Add(progressWindow); next.After(now) && now.Before(a.hard) {
		a.due = next
		if a.due.After(a.hard) {
			a.due = a.hard
		}
		return
	}
	a.Abandoned = true
	close(a.giveUp)
}

func (a *Attempt) late() error {
	if took := a.due.Sub(a.began).Round(time.Millisecond); took > a.limit {
		return fmt.Errorf("not done within %v: a start has %v, and more as long as it prints", took, a.limit)
	}
	return fmt.Errorf("not done within %v", a.limit)
}

// Run starts the session, and takes its screen before it gives up.
func (a *Attempt) Run(ctx context.Context, p runtime.Provider, name string, cfg runtime.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-a.giveUp:
			a.Screen = peekWithin(p, name, peekLimit)
			cancel(a.late())
		case <-over:
		}
	})
	err := p.Start(runtime.WithProgress(ctx, func(words string) { a.progress.Store(&words) }), name, cfg)
	close(over)
	wg.Wait()
	return err
}
