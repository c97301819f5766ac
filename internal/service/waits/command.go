package waits

import (
	"context"
	"errors"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/proc"
	"gascity/internal/textfmt"
)

const (
	firstGap     = time.Second
	lastGap      = 30 * time.Second
	commandLimit = 30 * time.Second
	maxCommands  = 8
	maxLast      = 500
)

var errSlow = errors.New("it did not end within 30 s")

// ShellIn returns a [Shell] that runs commands with sh -c in a directory, with exactly the given
// environment. Each command has its own process group, which is killed when the command ends or ctx
// ends.
func ShellIn(dir string, environ []string) Shell {
	return func(ctx context.Context, line string) error {
		return proc.Shell{Line: line, Dir: dir, Env: environ}.RunAlone(ctx)
	}
}

// startCommandLocked runs the command of a wait in a goroutine if it is time for that. If
// [maxCommands] commands run already, it is tried again later. The caller holds mu.
func (w *Service) startCommandLocked(ctx context.Context, jobs *sync.WaitGroup, e *entry, now time.Time) {
	switch {
	case e.busy || now.Before(e.next):
		return
	case w.running >= maxCommands:
		e.next = now.Add(firstGap)
		return
	}
	w.running++
	e.busy = true
	bounded, cancel := context.WithTimeoutCause(ctx, commandLimit, errSlow)
	e.cancel = cancel
	line := e.Arg
	jobs.Go(func() {
		defer cancel()
		err := w.opts.Shell(bounded, line)
		w.recordCommand(ctx, e, err)
	})
}

// recordCommand handles the result of one run of a wait's command. If err is nil, the condition is
// met and the wait ends. Otherwise the command runs again after a pause, which doubles each time.
func (w *Service) recordCommand(ctx context.Context, e *entry, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	e.busy, e.cancel = false, nil
	switch {
	case e.State != client.WaitOpen || ctx.Err() != nil:
		return
	case err == nil:
		w.endLocked(ctx, e, fulfilled(""))
		return
	}
	e.lastOutput = textfmt.Truncate("its last run: "+err.Error(), maxLast)
	e.next = w.opts.Now().Add(e.gap)
	e.gap = min(2*e.gap, lastGap)
	w.setDueLocked(e.next)
	w.due.Wake()
}
