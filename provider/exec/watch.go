package exec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

const (
	watchBuffer  = 256
	watchPatient = 20 * time.Second // for the first line; then the watch begins without it
	firstRestart = 200 * time.Millisecond
	lastRestart  = 30 * time.Second
	watchSettled = 10 * time.Second // a run that lasts so long was a good one
	longestLine  = 64 << 10
	oddLines     = 100 // in a run; then it is ended
)

// Watch implements runtime.Watcher, if the script declares watch. It returns
// when the script has printed its first line, or after 20 s. A run of the
// script that ends is followed by another one, and by a resync.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if !p.caps.Has(script.CapWatch) {
		return nil, fmt.Errorf("cannot watch sessions: the script does not declare %q: %w", script.CapWatch, errors.ErrUnsupported)
	}
	f := &feedOut{events: make(chan runtime.Event, watchBuffer), first: make(chan struct{})}
	ctx, stop := context.WithCancel(ctx)
	end := p.watches.begin(stop)
	if end == nil {
		stop()
		return nil, fmt.Errorf("cannot watch sessions: %w", errClosed)
	}
	go func() {
		defer end()
		defer stop()
		defer close(f.events)
		p.watch(ctx, f)
	}()
	select {
	case <-f.first: // from now on nothing is lost
	case <-ctx.Done():
	}
	return f.events, nil
}

// watch runs the script again and again until ctx ends.
func (p *Provider) watch(ctx context.Context, f *feedOut) {
	for wait := firstRestart; ctx.Err() == nil; wait = min(2*wait, lastRestart) {
		began := time.Now()
		err := p.watchOnce(ctx, f)
		if ctx.Err() != nil {
			return
		}
		p.cfg.Logger.Warn("the session script's watch has ended and is started again", "script", p.cfg.Script, "after", wait, "error", err)
		if time.Since(began) > watchSettled {
			wait = firstRestart
		}
		if pause(ctx, wait) != nil {
			return
		}
	}
}

// watchOnce is one run.
func (p *Provider) watchOnce(ctx context.Context, f *feedOut) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := processSpec{args: []string{script.OpWatch}, grace: killGrace, alone: true}
	c, err := p.launch(o)
	if err != nil {
		f.begin()
		f.broken()
		return err
	}
	// Its standard input is held open, and ends with this process at the latest: that is how
	// a script learns that gc has ended, even by a kill.
	stderr := &tail{most: stderrKept}
	var pipes sync.WaitGroup
	pipes.Go(func() { drain(stderr, c.stderr) })
	pipes.Go(func() {
		if err := p.readEvents(c, f); err != nil {
			stop(err)
		}
	})
	late := time.AfterFunc(watchPatient, func() { f.begin() })
	defer late.Stop()
	err = c.end(ctx, o)
	c.closePipes(&pipes)
	f.broken()
	if err == nil {
		err = p.exitError(script.OpWatch, processResult{code: c.cmd.ProcessState.ExitCode(), stderr: string(stderr.kept)})
	}
	return err
}

// readEvents passes on what the script prints. A line that is no event is left out; too
// many of them are an error.
func (p *Provider) readEvents(c *child, f *feedOut) error {
	lines := bufio.NewScanner(c.stdout)
	lines.Buffer(nil, longestLine)
	odd := 0
	for lines.Scan() {
		e, ok, err := script.ParseEvent(lines.Bytes())
		switch {
		case err != nil:
			if odd++; odd >= oddLines {
				return fmt.Errorf("it prints an invalid event: %w", err)
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
		if first := f.begin(); first && e.Kind == runtime.EventResync {
			continue
		}
		f.send(e)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("it prints a line of more than %d bytes", longestLine)
	}
	return nil // the end of the output, which is that of the script or follows it
}

// errClosed reports the use of a provider after its end.
var errClosed = errors.New("the provider is closed")

// Close ends every watch and waits for its script to end. It is idempotent; the other
// operations need none.
func (p *Provider) Close() error {
	p.watches.close()
	return nil
}

// watches are those that run. The zero value has none.
type watches struct {
	mu     sync.Mutex // guards the rest
	closed bool
	next   int
	stops  map[int]context.CancelFunc
	wg     sync.WaitGroup
}

// begin adds one, which calls end when it is over; nil after close.
func (w *watches) begin(stop context.CancelFunc) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	if w.stops == nil {
		w.stops = map[int]context.CancelFunc{}
	}
	w.next++
	n := w.next
	w.stops[n] = stop
	w.wg.Add(1)
	return func() {
		w.mu.Lock()
		delete(w.stops, n)
		w.mu.Unlock()
		w.wg.Done()
	}
}

// close stops all and waits for them.
func (w *watches) close() {
	w.mu.Lock()
	w.closed = true
	for _, stop := range w.stops {
		stop()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// feedOut is the channel of one watch. A consumer that is too slow loses events and
// gets a resync in their place.
type feedOut struct {
	events chan runtime.Event
	first  chan struct{} // closed when the first run watches

	mu        sync.Mutex // guards the rest
	watching  bool       // first is closed
	begun     bool       // the present run has reported that it watches
	resyncDue bool       // a resync is owed
}

// begin reports, once for each run, that events come from now on.
func (f *feedOut) begin() (first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun {
		return false
	}
	f.begun = true
	if !f.watching {
		f.watching = true
		close(f.first)
	}
	f.put(runtime.Event{Kind: runtime.EventResync, Time: time.Now()})
	return true
}

// broken says that the run is over: the next one begins with a resync.
func (f *feedOut) broken() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = false
}

func (f *feedOut) send(e runtime.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(e)
}

// put is called with mu held and never blocks.
func (f *feedOut) put(e runtime.Event) {
	if f.resyncDue {
		select {
		case f.events <- runtime.Event{Kind: runtime.EventResync, Time: time.Now()}:
			f.resyncDue = false
		default:
			return
		}
		if e.Kind == runtime.EventResync {
			return
		}
	}
	select {
	case f.events <- e:
	default:
		f.resyncDue = true
	}
}
