package budgets

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/domain/workerrun"
	"gascity/runtime"
	"gascity/worker"
)

// entryCache is what is in the store and counts, without what is not asked for again,
// and what is to be written into it. The engine's lock guards it.
type entryCache struct {
	entries map[usage.Key]usage.Entry
	unsaved map[usage.Key]usage.Entry // of entries: what the city noted and the store has not taken
	stale   bool                      // the store may have more
	working map[string]*busyPeriod    // sessions that are busy
	awake   time.Time                 // when the host was last seen to wake
	span    time.Duration             // how far back anything counts; zero is for ever
}

// busyPeriod is how long a session has been busy.
type busyPeriod struct {
	run, agent string
	since      time.Time // of the activity
	from       time.Time // of the entry that is open
	savedAt    time.Time
}

const (
	// burning is the time over which the speed of spending is measured.
	burning = 10 * time.Minute
	// longest is how much time one entry holds: it leaves a window as a whole.
	longest = 5 * time.Minute
	// saveEvery is how often what grows is written down.
	saveEvery = time.Minute
)

// earliestCounted returns the time from which on entries count for the budgets; zero: all do.
func earliestCounted(budgets []usage.Budget, now time.Time) time.Time {
	span := spanOf(budgets)
	if span == 0 {
		return time.Time{}
	}
	return now.Add(-span)
}

// spanOf returns the longest window; zero is for ever.
func spanOf(budgets []usage.Budget) time.Duration {
	span := burning
	for _, b := range budgets {
		if b.Window == 0 {
			return 0
		}
		span = max(span, b.Window)
	}
	return span
}

// unreadable reports whether nothing could be read; else an error names what was
// left out.
func unreadable(err error) bool { return errors.Is(err, client.ErrUnavailable) }

func (b *entryCache) put(e usage.Entry, prices usage.Prices) {
	if b.entries == nil {
		b.entries = map[usage.Key]usage.Entry{}
	}
	b.entries[e.Key()] = light(e, prices)
}

// light returns an entry without what does not count. Its cost is settled once.
func light(e usage.Entry, prices usage.Prices) usage.Entry {
	if cost, source := prices.Cost(e); source == usage.CostPriced {
		e.Cost = &cost
	}
	e.Reported, e.Tools, e.Source = worker.Usage{}, nil, ""
	return e
}

func (b *entryCache) replace(entries []usage.Entry, prices usage.Prices) {
	b.entries = make(map[usage.Key]usage.Entry, len(entries))
	for _, e := range entries {
		b.put(e, prices)
	}
	maps.Copy(b.entries, b.unsaved)
}

// addUnsaved takes an entry of the city's own, to be saved.
func (b *entryCache) addUnsaved(e usage.Entry) {
	b.put(e, usage.Prices{})
	if b.unsaved == nil {
		b.unsaved = map[usage.Key]usage.Entry{}
	}
	b.unsaved[e.Key()] = e
}

// list returns what counts, and forgets what does not any more.
func (b *entryCache) list(now time.Time) []usage.Entry {
	out := make([]usage.Entry, 0, len(b.entries))
	for key, e := range b.entries {
		if b.span > 0 && now.Sub(e.At) > b.span {
			delete(b.entries, key)
			continue
		}
		out = append(out, e)
	}
	return out
}

// working reports whether a session spends, as far as gc knows.
func working(v *session.Snapshot) bool {
	return v.Unknown == "" && v.Running && (v.Activity.State == runtime.ActivityBusy || v.Activity.State == runtime.ActivityBackground)
}

// busy returns every session, in the terms of budgets. Nothing was reported while the
// host slept.
func (b *entryCache) busy(views []session.Snapshot) []usage.Busy {
	out := make([]usage.Busy, 0, len(views))
	for i := range views {
		v := &views[i]
		s := usage.Busy{Session: v.Session, Agent: v.Agent}
		if w := b.working[v.Session]; w != nil {
			s.Since = w.since
			if b.awake.After(s.Since) {
				s.Since = b.awake
			}
		}
		out = append(out, s)
	}
	return out
}

// follow records who is busy, and with timed for how long: in entries that grow, each
// of at most [longest].
func (b *entryCache) follow(views []session.Snapshot, now time.Time, timed bool) {
	if b.working == nil {
		b.working = map[string]*busyPeriod{}
	}
	seen := map[string]bool{}
	for i := range views {
		v := &views[i]
		seen[v.Session] = seen[v.Session] || working(v)
		if !working(v) {
			continue
		}
		w := b.working[v.Session]
		if w != nil && w.run != runOf(v) {
			b.extendBusy(v.Session, w, now, timed)
			w = nil
		}
		if w == nil {
			w = b.begin(v, now)
		}
		if timed && now.Sub(w.from) >= longest || now.Sub(w.savedAt) >= saveEvery {
			b.extendBusy(v.Session, w, now, timed)
		}
	}
	for name, w := range b.working {
		if !seen[name] {
			b.extendBusy(name, w, now, timed)
			delete(b.working, name)
		}
	}
}

// begin records that a session is busy since it said so, and counts from now on what
// somebody before us has counted.
func (b *entryCache) begin(v *session.Snapshot, now time.Time) *busyPeriod {
	since := v.Activity.Since
	if since.IsZero() || since.After(now) {
		since = now
	}
	w := &busyPeriod{run: runOf(v), agent: v.Agent, since: since, from: since, savedAt: now}
	if b.hasWorkSince(v.Session, since) {
		w.from = now
	}
	b.working[v.Session] = w
	return w
}

// hasWorkSince reports whether something is noted already of a session's work after a time,
// as by a controller before this one.
func (b *entryCache) hasWorkSince(name string, from time.Time) bool {
	for _, e := range b.entries {
		if e.Session == name && e.Busy > 0 && e.At.After(from) {
			return true
		}
	}
	return false
}

// extendBusy records how long a session has been busy in the entry that is open, and
// begins the next one if it is long enough.
func (b *entryCache) extendBusy(name string, w *busyPeriod, now time.Time, timed bool) {
	w.savedAt = now
	if long := now.Sub(w.from); timed && long > 0 {
		b.addUnsaved(usage.Entry{
			Run: w.run, Message: fmt.Sprintf("busy %d", w.from.UnixNano()), Session: name, Agent: w.agent, At: now, Source: ownSource, Busy: long,
		})
	}
	if now.Sub(w.from) >= longest {
		w.from = now
	}
}

// growing puts the time that is not noted yet into the book, and not into the store.
func (b *entryCache) growing(now time.Time) {
	for name, w := range b.working {
		e := usage.Entry{Run: w.run, Message: fmt.Sprintf("busy %d", w.from.UnixNano()), Session: name, Agent: w.agent, At: now, Busy: now.Sub(w.from)}
		if e.Busy > 0 {
			b.put(e, usage.Prices{})
		}
	}
}

// ownSource is the source of entries that the city makes.
const ownSource = "city"

// silence records that a session is silent, since when.
func (b *entryCache) silence(name string, since, now time.Time) {
	w := b.working[name]
	if w == nil {
		return
	}
	e := usage.Entry{Run: w.run, Message: fmt.Sprintf("silent %d", since.UnixNano()), Session: name, Agent: w.agent, At: now, Source: ownSource, Silent: now.Sub(since)}
	b.addUnsaved(e)
}

// open returns what is to be saved.
func (b *entryCache) open() []usage.Entry {
	out := slices.Collect(maps.Values(b.unsaved))
	slices.SortFunc(out, func(x, y usage.Entry) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Message, y.Message)) })
	return out
}

// saved records that the store has entries, as far as they have not grown since.
func (b *entryCache) saved(entries []usage.Entry) {
	for _, e := range entries {
		if now := b.unsaved[e.Key()]; now.At.Equal(e.At) {
			delete(b.unsaved, e.Key())
		}
	}
}

// endBusyOnSleep ends what was busy when the host went to sleep.
func (b *entryCache) endBusyOnSleep(at, now time.Time, timed bool) {
	for name, w := range b.working {
		b.extendBusy(name, w, at, timed)
		w.from, w.since = now, now
	}
	b.awake = now
}

func runOf(v *session.Snapshot) string {
	if v.Token == "" {
		return cmp.Or(v.Instance, v.Session)
	}
	return workerrun.ID(v.Token)
}
