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
	progressWindow = 5 * time.Second // a start that printed something within this time continues
	hardLimit      = 5               // maximum duration of a start, as a multiple of its limit
	peekLimit      = 2 * time.Second // limit for reading the screen of an abandoned start
)

// Attempt is one running start. Its deadline moves while the agent shows progress, up to five times
// its limit. The job calls [Attempt.Run]; the loop uses everything else. Both may read Screen and
// Abandoned after Run has returned.
type Attempt struct {
	Abandoned bool   // it was stopped because its deadline had passed
	Screen    string // the screen at that time

	began, due, hard, moved time.Time
	limit                   time.Duration
	giveUp                  chan struct{} // closed when the attempt is abandoned
	progress                atomic.Pointer[string]
}

// NewAttempt returns an attempt that begins now.
func NewAttempt(now time.Time, limit time.Duration) *Attempt {
	return &Attempt{began: now, limit: limit, due: now.Add(limit), hard: now.Add(hardLimit * limit), giveUp: make(chan struct{})}
}

// Due returns the current deadline.
func (a *Attempt) Due() time.Time { return a.due }

// Longest returns the maximum duration of Run, if the driver obeys its context.
func (a *Attempt) Longest() time.Duration { return hardLimit*a.limit + peekLimit }

// Progress returns a description of what the start waits for; empty if the driver reports none or a
// is nil.
func (a *Attempt) Progress() string {
	if a == nil {
		return ""
	}
	if words := a.progress.Load(); words != nil {
		return *words
	}
	return ""
}

// Moved records that the agent showed progress, such as output, at the given time.
func (a *Attempt) Moved(at time.Time) { a.moved = at }

// Shift moves the deadlines by gap, the time in which the controller could not act.
func (a *Attempt) Shift(gap time.Duration) {
	for _, t := range []*time.Time{&a.began, &a.due, &a.hard, &a.moved} {
		*t = Shift(*t, gap)
	}
}

// Shift returns t moved by gap; the zero time stays zero.
func Shift(t time.Time, gap time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(gap)
}

// Judge does nothing before the deadline. After it, Judge sets a later deadline if the agent showed
// progress within the last [progressWindow]; otherwise it abandons the start, which makes Run
// cancel it.
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

// late returns the error of a start that was abandoned because its deadline had passed.
func (a *Attempt) late() error {
	if took := a.due.Sub(a.began).Round(time.Millisecond); took > a.limit {
		return fmt.Errorf("not done within %v; the limit of a start is %v, which is extended only while the agent prints output", took, a.limit)
	}
	return fmt.Errorf("not done within %v", a.limit)
}

// Run starts the session and returns the error of the start. If the attempt is abandoned meanwhile,
// Run saves the screen in a.Screen and then cancels the start.
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
