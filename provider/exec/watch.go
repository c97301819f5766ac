package exec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity/internal/driver"
	"gascity/internal/driver/script"
	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/runtime"
)

const (
	firstLineLimit = 20 * time.Second // the longest time that Watch waits for the first line of the script
	firstRestart   = 200 * time.Millisecond
	lastRestart    = 30 * time.Second
	watchStable    = 10 * time.Second // after a longer run, the pause before the next run is firstRestart again
	longestLine    = 64 << 10
	maxInvalid     = 100 // invalid lines after which a run is stopped
)

// Watch implements runtime.Watcher, if the script declares watch. It returns when the script has
// printed its first line, or after 20 s. If the script exits, gc runs it again and sends a resync
// event.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if !p.caps.Has(script.CapWatch) {
		return nil, fmt.Errorf("cannot watch sessions: the script does not declare %q: %w", script.CapWatch, errors.ErrUnsupported)
	}
	f := &eventFeed{Feed: driver.NewFeed(), watching: make(chan struct{})}
	ctx, stop := context.WithCancel(ctx)
	begun := p.beginWatch(func() {
		defer stop()
		defer context.AfterFunc(p.life, stop)()
		defer f.Close()
		var repair sync.WaitGroup
		defer repair.Wait()
		repair.Go(func() { f.Repair(ctx) })
		p.watch(ctx, f)
	})
	if !begun {
		stop()
		return nil, fmt.Errorf("cannot watch sessions: %w", errClosed)
	}
	select {
	case <-f.watching: // no event is lost after this
	case <-ctx.Done():
	}
	return f.Events(), nil
}

// watch runs the script until ctx ends. It runs the script again after each exit.
func (p *Provider) watch(ctx context.Context, f *eventFeed) {
	for delay := retry.New(firstRestart, lastRestart); ctx.Err() == nil; {
		began := time.Now()
		err := p.watchOnce(ctx, f)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > watchStable {
			delay.Reset()
		}
		wait := delay.Next()
		p.cfg.Logger.Warn("the watch of the session script has exited; gc starts it again", "script", p.cfg.Script, "after", wait, "error", err)
		retry.Sleep(ctx, wait)
	}
}

// watchOnce runs the operation watch of the script once, and forwards the events that it prints, until the script exits
// or ctx ends.
func (p *Provider) watchOnce(ctx context.Context, f *eventFeed) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := processSpec{args: []string{script.OpWatch}, grace: killGrace, alone: true}
	var begun sync.Once
	// begin records that this run watches, and sends a resync event. first is true for the first call.
	begin := func() (first bool) {
		begun.Do(func() {
			first = true
			f.once.Do(func() { close(f.watching) })
			f.SendResync()
		})
		return first
	}
	c, err := p.launch(o)
	if err != nil {
		begin()
		return err
	}
	// The standard input stays open while this process runs. So the script reads the end of its
	// input when gc exits, also if gc was killed.
	stderr := &proc.Tail{Most: stderrKept}
	var pipes sync.WaitGroup
	pipes.Go(func() { drain(stderr, c.Stderr) })
	pipes.Go(func() {
		if err := p.readEvents(c, f, begin); err != nil {
			stop(err)
		}
	})
	pipes.Go(func() {
		if retry.Sleep(ctx, firstLineLimit) {
			begin()
		}
	})
	err = c.waitOrKill(ctx, o)
	stop(nil)
	c.closePipes(&pipes)
	if err == nil {
		err = p.exitError(script.OpWatch, processResult{code: c.cmd.ProcessState.ExitCode(), stderr: string(stderr.Bytes())})
	}
	return err
}

// readEvents forwards the events that the script prints. Before the first one it calls begin. It
// ignores invalid lines, and returns an error after maxInvalid of them.
func (p *Provider) readEvents(c *child, f *eventFeed, begin func() (first bool)) error {
	lines := bufio.NewScanner(c.Stdout)
	lines.Buffer(nil, longestLine)
	invalid := 0
	for lines.Scan() {
		e, ok, err := script.ParseEvent(lines.Bytes())
		switch {
		case err != nil:
			if invalid++; invalid >= maxInvalid {
				return fmt.Errorf("it prints invalid events: %w", err)
			}
			continue
		case !ok:
			continue
		}
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		if e.Kind != runtime.EventOutput {
			p.listings.invalidate()
		}
		if first := begin(); first && e.Kind == runtime.EventResync {
			continue
		}
		f.Send(e)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("it prints a line of more than %d bytes", longestLine)
	}
	return nil // the script has closed its output
}

// errClosed reports the use of a Provider after Close.
var errClosed = errors.New("the provider is closed")

// beginWatch runs watch in a goroutine for which Close waits. It returns false after Close.
func (p *Provider) beginWatch(watch func()) bool {
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.life.Err() != nil {
		return false
	}
	p.watches.Go(watch)
	return true
}

// Close stops every watch and waits until the scripts have exited. It may be called more than once.
// After Close, Watch fails and all other operations still work. A caller that never calls Watch need
// not call Close.
func (p *Provider) Close() error {
	p.closing.Lock()
	p.end()
	p.closing.Unlock()
	p.watches.Wait()
	return nil
}

// eventFeed is the feed of one watch.
type eventFeed struct {
	*driver.Feed
	watching chan struct{} // closed when the first run watches
	once     sync.Once     // closes watching
}
