package cmdenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/client"
	"gascity/internal/cli/render"
	"gascity/internal/retry"
	"gascity/internal/textfmt"
)

// Live is a value of the city that a command shows until it is interrupted: on a terminal as a page that is redrawn in place when the
// value has changed, otherwise as a sequence of documents. It reads nothing while nothing changes. If the connection to the
// controller is lost, it says so, shows the last value, and connects again.
type Live[T any] struct {
	// Follow calls update with the value, and then with each changed one, until ctx ends or the connection is lost. It returns
	// when no more calls follow.
	Follow func(ctx context.Context, update func(T)) error
	// Page returns the page of a value. It has at most f.Rows rows, unless that is zero.
	Page func(f render.Formatter, v T) string
	// Print prints a value as one document or more, to a pipe or with --json. Nil prints the page, if it has changed.
	Print func(v T) error
	// Gap is the shortest time between two pages; zero is [pageGap].
	Gap time.Duration
}

const (
	pageGap     = 100 * time.Millisecond // between two pages
	documentGap = time.Second            // between two documents
	ageEvery    = time.Second            // ages on a page are drawn again
	firstPause  = 100 * time.Millisecond // before the first attempt to connect again
	longPause   = time.Second            // the longest pause between two attempts
)

// OnChange returns a [Live.Print] that prints a value by the function print, unless the given part of it is that of the value before.
func OnChange[T any](part func(T) any, print func(T) error) func(T) error {
	var shown any
	return func(v T) error {
		now := part(v)
		if reflect.DeepEqual(now, shown) {
			return nil
		}
		shown = now
		return print(v)
	}
}

// Run shows the value until ctx ends, and then returns nil. An error of the first connection is returned, and later errors that do
// not end by themselves, such as a name that no agent has any more.
func (l Live[T]) Run(parent context.Context, d *Base) error {
	ctx, cancel := context.WithCancel(parent)
	w := &watcher[T]{live: l, d: d, news: make(chan struct{}, 1)}
	var work sync.WaitGroup
	failed := make(chan error, 1)
	work.Go(func() { failed <- w.connect(ctx) })
	defer func() { cancel(); work.Wait() }()
	if !d.inPlace() {
		return w.printAll(ctx, failed)
	}
	select { // the terminal is not changed before there is something to show
	case <-w.news:
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
	p := openPage(d)
	defer func() { // connect must not write a message while the terminal is restored
		cancel()
		work.Wait()
		p.Close()
	}()
	return w.drawAll(ctx, p, failed)
}

// watcher is one run of a [Live].
type watcher[T any] struct {
	live Live[T]
	d    *Base
	news chan struct{} // holds a token after each change of the fields below

	mu       sync.Mutex
	value    T
	known    bool      // value is set
	lostAt   time.Time // when the connection was lost; zero: it is not
	lostText string    // why
}

// connect follows the value, and connects again after a failure, until ctx ends or the error is final.
func (w *watcher[T]) connect(ctx context.Context) error {
	delay := retry.New(firstPause, longPause)
	for {
		err := w.live.Follow(ctx, func(value T) {
			delay.Reset() // Follow has returned before delay is used below
			w.set(func() { w.value, w.known, w.lostAt = value, true, time.Time{} })
		})
		w.mu.Lock()
		known := w.known
		w.mu.Unlock()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the person has ended it
		}
		if !known || isFinal(err) {
			return err
		}
		w.set(func() {
			if w.lostText = lostText(err); w.lostAt.IsZero() {
				w.lostAt = w.d.Now()
			}
		})
		if !delay.Wait(ctx) {
			return nil
		}
	}
}

// isFinal reports whether an error of a connection cannot end by itself.
func isFinal(err error) bool {
	final := []error{client.ErrNotFound, client.ErrInvalid, client.ErrForbidden, client.ErrRefused, client.ErrUnsupported}
	return slices.ContainsFunc(final, func(sentinel error) bool { return errors.Is(err, sentinel) })
}

// lostText returns why the connection to the controller was lost.
func lostText(err error) string {
	if errors.Is(err, client.ErrNoController) || errors.Is(err, client.ErrUnavailable) || err == nil {
		return "no controller runs"
	}
	return "the controller does not answer"
}

// set changes the fields and announces the change.
func (w *watcher[T]) set(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// get returns the fields.
func (w *watcher[T]) get() (value T, known bool, lostAt time.Time, lostText string) { //nolint:revive // the state of one moment
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.value, w.known, w.lostAt, w.lostText
}

// drawAll draws the page after each change, each resize, and when its ages change.
func (w *watcher[T]) drawAll(ctx context.Context, p *page, failed <-chan error) error {
	signals, stop := w.d.Signals()
	defer stop()
	ages := time.NewTicker(ageEvery)
	defer ages.Stop()
	for {
		if err := p.Draw(w.page()); err != nil {
			return err
		}
		if !retry.Sleep(ctx, cmp.Or(w.live.Gap, pageGap)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-w.news:
		case <-ages.C:
		case s := <-signals:
			if s == syscall.SIGTSTP {
				if err := p.Suspend(); err != nil {
					return err
				}
			}
			p.Forget()
		}
	}
}

// page returns the page of the value, with a first line if the connection is lost.
func (w *watcher[T]) page() string {
	value, _, lostAt, why := w.get()
	f := w.d.Formatter()
	f.Rows = w.d.Rows()
	if lostAt.IsZero() {
		return w.live.Page(f, value)
	}
	notice := fmt.Sprintf("%s for %s; waiting for it; what follows was true before (start it with: gc start)", why, textfmt.Span(f.Now.Sub(lostAt)))
	var lines strings.Builder
	for _, line := range textfmt.Wrap(notice, f.Columns) {
		lines.WriteString(f.Paint(textfmt.Red, line) + "\n")
	}
	head := lines.String()
	if f.Rows > 0 {
		f.Rows = max(1, f.Rows-textfmt.Rows(head, f.Columns))
	}
	return head + w.live.Page(f, value)
}

// printAll prints documents: the value, and then each changed one. It reports on standard error that the connection is lost, and
// that it is back.
func (w *watcher[T]) printAll(ctx context.Context, failed <-chan error) error {
	lost := false
	shown := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-w.news:
		}
		value, known, lostAt, why := w.get()
		if lost != !lostAt.IsZero() {
			lost = !lost
			words := "the controller answers again"
			if lost {
				words = why + "; waiting for it (start it with: gc start)"
			}
			fmt.Fprintln(w.d.Stderr, "gc: "+words)
		}
		if !known || lost {
			continue
		}
		var err error
		if w.live.Print != nil {
			err = w.live.Print(value)
		} else if text := w.live.Page(w.d.Formatter(), value); text != shown {
			shown = text
			_, err = fmt.Fprintln(w.d.Stdout, text)
		}
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if !retry.Sleep(ctx, documentGap) {
			return nil
		}
	}
}

// FollowEvents returns the Follow of a [Live] whose value only changes with events of the city.
func FollowEvents[T any](c *client.Client, load func(context.Context) (T, error)) func(ctx context.Context, update func(T)) error {
	return func(parent context.Context, update func(T)) error {
		ctx, cancel := context.WithCancel(parent)
		changed := make(chan struct{}, 1)
		ended := make(chan struct{})
		var lost error // why the stream has ended; read only after ended is closed
		since := time.Now()
		go func() { // ends with ctx; FollowEvents waits for it
			defer close(ended)
			for _, err := range c.FollowEvents(ctx, client.EventQuery{Since: since}) {
				if _, gap := errors.AsType[*client.GapError](err); err != nil && !gap {
					lost = err
					return
				}
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}()
		defer func() { cancel(); <-ended }()
		for {
			value, err := load(ctx)
			if err != nil {
				return err
			}
			update(value)
			select {
			case <-ctx.Done():
				return nil
			case <-ended:
				return lost
			case <-changed:
			}
			if !retry.Sleep(ctx, pageGap) {
				return nil
			}
		}
	}
}
