package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gascity/internal/retry"
)

// memory is a store that can be made to fail and to be slow.
type memory struct {
	mu     sync.Mutex
	record Record
	fail   func() error         // before anything is done
	after  func() error         // after it was written
	delay  func() time.Duration // before anything is done
}

func (m *memory) enter(ctx context.Context) error {
	m.mu.Lock()
	delay, fail := m.delay, m.fail
	m.mu.Unlock()
	if delay != nil && !retry.Sleep(ctx, delay()) {
		return ctx.Err()
	}
	if fail != nil {
		return fail()
	}
	return nil
}

func (m *memory) Get(ctx context.Context) (Record, error) {
	if err := m.enter(ctx); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.record, nil
}

func (m *memory) Put(ctx context.Context, r Record) (Record, error) {
	if err := m.enter(ctx); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Version != m.record.Version {
		return Record{}, ErrConflict
	}
	n, _ := strconv.Atoi(m.record.Version)
	r.Version = strconv.Itoa(n + 1)
	m.record = r
	if m.after != nil {
		if err := m.after(); err != nil {
			return Record{}, err
		}
	}
	return r, nil
}

// Whatever clocks say, whatever is late, lost or refused: two candidates never hold the
// lease at once, and it finds a holder soon after everything works again.
func TestNeverTwoHolders(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		terms := Usual()
		const candidates = 3
		var store memory
		type one struct {
			e    *Elector
			skew time.Duration
			rate float64 // of its clock
		}
		var all []one
		for i := range candidates {
			all = append(all, one{
				NewElector(fmt.Sprint("c", i), terms), time.Duration(rapid.Int64Range(-1e13, 1e13).Draw(t, "skew")),
				1 + float64(rapid.IntRange(-10, 10).Draw(t, "rate"))/100, // ten percent: far worse than any clock
			})
		}
		origin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := func(i int, at time.Duration) time.Time {
			return origin.Add(all[i].skew + time.Duration(float64(at)*all[i].rate))
		}
		var at time.Duration
		check := func() {
			var holders []int
			for i := range all {
				if until := all[i].e.ValidUntil(); clock(i, at).Before(until) {
					holders = append(holders, i)
				}
			}
			if len(holders) > 1 {
				t.Fatalf("at %s candidates %v hold it: %+v", at, holders, store.record)
			}
		}
		step := func(i int, lag func(string) time.Duration, lose func(string) bool) {
			e := all[i].e
			if !clock(i, at).Before(e.ValidUntil()) {
				r, _ := store.Get(ctx)
				at += lag("answer")
				check()
				e.See(r, clock(i, at))
			}
			sent := clock(i, at)
			r, may := e.Claim(sent)
			if !may {
				return
			}
			at += lag("question")
			if lose("question") {
				return
			}
			written, err := store.Put(ctx, r)
			at += lag("answer")
			check()
			switch {
			case lose("answer"):
			case err == nil:
				e.Granted(written, sent)
			default:
				now, _ := store.Get(ctx)
				e.See(now, clock(i, at))
			}
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			at += time.Duration(rapid.IntRange(0, 4000).Draw(t, "pause")) * time.Millisecond
			check()
			step(rapid.IntRange(0, candidates-1).Draw(t, "who"),
				func(what string) time.Duration {
					return time.Duration(rapid.SampledFrom([]int{0, 0, 1, 50, 3000, 8000}).Draw(t, what+" late")) * time.Millisecond
				}, func(what string) bool { return rapid.IntRange(0, 9).Draw(t, what+" lost") == 0 })
			check()
		}
		healed := at
		for i := 1; !clock(i, at).Before(all[i].e.ValidUntil()); i = 1 + i%2 { // c0 is dead
			at += terms.Retry / 2
			step(i, func(string) time.Duration { return 0 }, func(string) bool { return false })
			check()
			if waited := at - healed; waited > 15*time.Second {
				t.Fatalf("there is no holder %s after everything works again: %+v", waited, store.record)
			}
		}
	})
}

func options(name string, store Store) Options {
	return Options{Name: name, Terms: Usual(), Store: store, Logger: slog.New(slog.DiscardHandler)}
}

// leads runs a candidate that works until its context ends, and says when it begins.
func leads(ctx context.Context, o Options) (began <-chan time.Time, ended <-chan error) {
	b, e := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		e <- Run(ctx, o, func(ctx context.Context) error {
			b <- time.Now()
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	return b, e
}

// A holder that ends gives the lease away; one that vanishes is followed within 15 s; one
// that cannot renew has ended before the other begins.
func TestTheNextHolder(t *testing.T) {
	errDown := errors.New("down")
	for name, c := range map[string]struct {
		end  func(mine *memory, cancel func())
		want error
		most time.Duration
	}{
		"ends":      {func(_ *memory, cancel func()) { cancel() }, context.Canceled, 2 * time.Second},
		"cut off":   {func(m *memory, _ func()) { m.fail = func() error { return errDown } }, ErrLost, 12 * time.Second},
		"slow":      {func(m *memory, _ func()) { m.delay = func() time.Duration { return time.Hour } }, ErrLost, 12 * time.Second},
		"displaced": {func(m *memory, _ func()) { m.record.Holder, m.record.Version = "somebody", "1000" }, ErrLost, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := &memory{}
				mine := &memory{}
				ctx, cancel := context.WithCancel(t.Context())
				began, ended := leads(ctx, options("first", &through{mine, shared}))
				<-began
				other, end := context.WithCancel(t.Context())
				next, over := leads(other, options("second", shared))
				time.Sleep(time.Minute) // of the bubble: renewals
				select {
				case <-next:
					t.Fatal("two hold it")
				default:
				}
				at := time.Now()
				if name == "displaced" {
					mine = shared
				}
				mine.mu.Lock()
				c.end(mine, cancel)
				mine.mu.Unlock()
				err := <-ended
				lost := time.Now()
				if !errors.Is(err, c.want) {
					t.Errorf("it ended with %v, want %v", err, c.want)
				}
				if second := <-next; second.Before(lost) || second.Sub(at) > c.most {
					t.Errorf("the next one began %s after, and %s after the first had ended", second.Sub(at), second.Sub(lost))
				}
				end()
				if err := <-over; !errors.Is(err, context.Canceled) {
					t.Errorf("the second ended with %v", err)
				}
				cancel()
			})
		})
	}
}

// through is a way of one candidate to a shared store.
type through struct{ own, shared *memory }

func (s *through) Get(ctx context.Context) (Record, error) {
	if err := s.own.enter(ctx); err != nil {
		return Record{}, err
	}
	return s.shared.Get(ctx)
}

func (s *through) Put(ctx context.Context, r Record) (Record, error) {
	if err := s.own.enter(ctx); err != nil {
		return Record{}, err
	}
	return s.shared.Put(ctx, r)
}

// A write whose answer was lost is no reason to give up, and work that does not end does
// not delay the end.
func TestWhatGoesWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		store := &memory{}
		store.after = func() error {
			if n++; n%2 == 0 {
				return errors.New("the answer was lost")
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		began, ended := leads(ctx, options("first", store))
		<-began
		time.Sleep(time.Minute)
		select {
		case err := <-ended:
			t.Fatalf("it gave up: %v", err)
		default:
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}

		store = &memory{}
		free := make(chan struct{})
		hung := make(chan error, 1)
		go func() {
			hung <- Run(t.Context(), options("hung", store), func(context.Context) error { <-free; return nil })
		}()
		time.Sleep(time.Minute)
		store.mu.Lock()
		store.fail = func() error { return errors.New("down") }
		store.mu.Unlock()
		if err := <-hung; !errors.Is(err, ErrLost) {
			t.Errorf("it ended with %v, want %v", err, ErrLost)
		}
		close(free)
	})
}
