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
	"gascity/runtime"
	"gascity/worker"
)

// entryCache contains the stored usage entries that count, without the fields that budgets do not
// need, and the entries that are still to be stored. It is guarded by Engine.mu.
type entryCache struct {
	entries map[usage.Key]usage.Entry
	unsaved map[usage.Key]usage.Entry // the city's own entries that are not stored yet
	stale   bool                      // the store may contain other entries
	working map[string]*busyPeriod    // busy sessions, by name
	awake   time.Time                 // when the host last woke from sleep
	span    time.Duration             // how long an entry counts; zero: for ever
}

// busyPeriod is a period during which a session is busy.
type busyPeriod struct {
	run, agent string
	since      time.Time // start of the activity
	from       time.Time // start of the open entry
	savedAt    time.Time
}

// entry returns the entry with the working time of a session from w.from until now.
func (w *busyPeriod) entry(name string, now time.Time) usage.Entry {
	return usage.Entry{
		Run: w.run, Message: fmt.Sprintf("busy %d", w.from.UnixNano()), Session: name, Agent: w.agent, At: now, Source: ownSource, Busy: now.Sub(w.from),
	}
}

const (
	// burning is the period over which the burn rate is measured.
	burning = 10 * time.Minute
	// longest is the longest working time in one entry, because an entry leaves a window as a
	// whole.
	longest = 5 * time.Minute
	// saveEvery is how often a growing entry is saved.
	saveEvery = time.Minute
)

// spanOf returns how long an entry can count: the longest window of the budgets, and at least
// [burning], the time from which the burn rate is computed. Zero means for ever.
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

// unreadable reports whether err means that the store could not be read at all. Any other error
// means that only some entries were left out.
func unreadable(err error) bool { return errors.Is(err, client.ErrUnavailable) }

// put adds or replaces an entry.
func (b *entryCache) put(e usage.Entry, prices usage.Prices) {
	b.entries[e.Key()] = light(e, prices)
}

// light returns a copy of the entry for the cache, without the fields that budgets do not need, and
// with its cost from the price table.
func light(e usage.Entry, prices usage.Prices) usage.Entry {
	if cost, source := prices.Cost(e); source == usage.CostPriced {
		e.Cost = &cost
	}
	e.Reported, e.Tools, e.Source = worker.Usage{}, nil, ""
	return e
}

// replace replaces all entries. Unsaved entries stay.
func (b *entryCache) replace(entries []usage.Entry, prices usage.Prices) {
	b.entries = make(map[usage.Key]usage.Entry, len(entries))
	for _, e := range entries {
		b.put(e, prices)
	}
	maps.Copy(b.entries, b.unsaved)
}

// addUnsaved adds an entry of the city's own, which is to be stored.
func (b *entryCache) addUnsaved(e usage.Entry) {
	b.put(e, usage.Prices{})
	b.unsaved[e.Key()] = e
}

// list returns the entries that count, and removes those that no longer count.
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

// working reports whether a session is busy or works in the background.
func working(v *session.Snapshot) bool {
	return v.Unknown == "" && v.Running && (v.Activity.State == runtime.ActivityBusy || v.Activity.State == runtime.ActivityBackground)
}

// busy returns every session with the time since when it has been busy. That time is zero for a
// session that is not busy, and not before the host last woke from sleep.
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

// updateBusy records which sessions are busy now, from their snapshots. If timed is true, a budget
// limits working time, and the working time is recorded in entries of at most [longest] each.
func (b *entryCache) updateBusy(views []session.Snapshot, now time.Time, timed bool) {
	busyNow := map[string]bool{}
	for i := range views {
		v := &views[i]
		if !working(v) {
			continue
		}
		busyNow[v.Session] = true
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
		if !busyNow[name] {
			b.extendBusy(name, w, now, timed)
			delete(b.working, name)
		}
	}
}

// begin returns a new busy period of the session, which begins with its current activity. If an
// earlier controller has already recorded working time of this activity, only the time from now on
// counts.
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

// hasWorkSince reports whether there is an entry with working time of a session after a time.
func (b *entryCache) hasWorkSince(name string, from time.Time) bool {
	for _, e := range b.entries {
		if e.Session == name && e.Busy > 0 && e.At.After(from) {
			return true
		}
	}
	return false
}

// extendBusy records that the busy period w of a session has lasted until now, as an entry that is
// saved later. If the entry has reached its maximum length, the next one begins.
func (b *entryCache) extendBusy(name string, w *busyPeriod, now time.Time, timed bool) {
	w.savedAt = now
	if timed && now.Sub(w.from) > 0 {
		b.addUnsaved(w.entry(name, now))
	}
	if now.Sub(w.from) >= longest {
		w.from = now
	}
}

// addGrowing adds the working time of busy sessions since their last entry to the cache, so that
// this time counts now. It does not store the time; later entries contain it.
func (b *entryCache) addGrowing(now time.Time) {
	for name, w := range b.working {
		if e := w.entry(name, now); e.Busy > 0 {
			b.put(e, usage.Prices{})
		}
	}
}

// ownSource is the source of entries that the city itself creates.
const ownSource = "city"

// recordSilent records, as an entry to be stored, that a busy session has sent no usage report
// since the given time.
func (b *entryCache) recordSilent(name string, since, now time.Time) {
	w := b.working[name]
	if w == nil {
		return
	}
	e := usage.Entry{Run: w.run, Message: fmt.Sprintf("silent %d", since.UnixNano()), Session: name, Agent: w.agent, At: now, Source: ownSource, Silent: now.Sub(since)}
	b.addUnsaved(e)
}

// unsavedEntries returns the entries that are to be stored.
func (b *entryCache) unsavedEntries() []usage.Entry {
	out := slices.Collect(maps.Values(b.unsaved))
	slices.SortFunc(out, func(x, y usage.Entry) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Message, y.Message)) })
	return out
}

// markSaved records that the entries are stored. An entry that has been extended in the meantime
// must be stored again.
func (b *entryCache) markSaved(entries []usage.Entry) {
	for _, e := range entries {
		if now := b.unsaved[e.Key()]; now.At.Equal(e.At) {
			delete(b.unsaved, e.Key())
		}
	}
}

// endBusyOnSleep handles a sleep of the host from at until now: working time before the sleep is
// recorded, the sleep does not count, and new periods begin now.
func (b *entryCache) endBusyOnSleep(at, now time.Time, timed bool) {
	for name, w := range b.working {
		b.extendBusy(name, w, at, timed)
		w.from, w.since = now, now
	}
	b.awake = now
}

// runOf returns the run ID of a session, or its instance or name if it has no token.
func runOf(v *session.Snapshot) string {
	if v.Token == "" {
		return cmp.Or(v.Instance, v.Session)
	}
	return session.RunID(v.Token)
}
