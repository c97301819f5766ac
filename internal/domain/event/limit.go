package event

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/client"
)

// Rate limits the events of one kind about one session: Burst events at once, then one per Every.
// An event that exceeds the limit is deferred and appended as soon as the rate allows it. A newer
// event replaces a deferred one, so the last state is always in the log. An event of kind
// [EventsDropped] reports how many were left out, at most once per session and Report. Zero fields
// mean 300, 200 ms and 10 s.
type Rate struct {
	Burst         int
	Every, Report time.Duration
}

// withDefaults returns the rate with its zero fields replaced by the defaults.
func (r Rate) withDefaults() Rate {
	if r.Burst <= 0 {
		r.Burst = 300
	}
	if r.Every <= 0 {
		r.Every = 200 * time.Millisecond
	}
	if r.Report <= 0 {
		r.Report = 10 * time.Second
	}
	return r
}

// Limited is a [Log] that applies a [Rate] to events about sessions and agents. Events about the
// city itself are not limited. [Limited.Run] appends deferred events. Safe for concurrent use.
type Limited struct {
	Log
	rate Rate
	now  func() time.Time
	kick chan struct{} // capacity 1: Append signals Run that an event was deferred

	mu      sync.Mutex
	streams map[stream]*bucket
	dropped map[string]*drops // by owner
	seen    int               // calls of Append since unused buckets were removed
	ended   bool              // Run has returned: events are not deferred any more
}

// stream identifies the events that share one bucket: those of one owner with the same kind and
// action. So one kind of event, or one decision, does not suppress another.
type stream struct{ owner, kind, action string }

// bucket is a token bucket: appending an event takes one token.
type bucket struct {
	tokens   float64
	at       time.Time
	deferred *client.Event // the newest event that was not appended; nil: none
}

// drops counts the events of one owner that were left out since the last report.
type drops struct {
	agent, session string
	since          time.Time
	kinds          map[string]int
}

// Limit returns a log that appends to l at the given rate. Append to the returned log instead of
// l, and run [Limited.Run] at the same time.
func Limit(l Log, rate Rate, now func() time.Time) *Limited {
	return &Limited{
		Log: l, rate: rate.withDefaults(), now: now, kick: make(chan struct{}, 1),
		streams: map[stream]*bucket{}, dropped: map[string]*drops{},
	}
}

// Append appends an event or, if there are too many events of its session or kind, defers it or
// leaves it out. It returns an event that was deferred or left out without an ID. It implements
// [Log].
func (l *Limited) Append(ctx context.Context, e client.Event) (client.Event, error) {
	owner := e.Session
	if owner == "" && e.Agent != "" {
		owner = "agent:" + e.Agent
	}
	if owner == "" {
		return l.Log.Append(ctx, e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweepLocked(now)
	key := stream{owner, e.Kind, e.Data["action"]}
	b := l.streams[key]
	if b == nil {
		b = &bucket{tokens: float64(l.rate.Burst), at: now}
		l.streams[key] = b
	}
	l.refill(b, now)
	if l.ended || b.deferred == nil && b.tokens >= 1 {
		b.tokens--
		return l.Log.Append(ctx, e)
	}
	if b.deferred != nil {
		l.dropLocked(owner, b.deferred, now)
	}
	b.deferred = &e
	select {
	case l.kick <- struct{}{}:
	default: // Run is already signaled
	}
	return e, nil
}

// refill adds to the bucket the tokens for the time since the last refill, up to Rate.Burst. It
// adds none if the clock was set back.
func (l *Limited) refill(b *bucket, now time.Time) {
	if earned := now.Sub(b.at); earned > 0 {
		b.tokens = min(float64(l.rate.Burst), b.tokens+float64(earned)/float64(l.rate.Every))
	}
	b.at = now
}

// dropLocked counts one event that was left out, for the next report of [EventsDropped]. The caller
// holds mu.
func (l *Limited) dropLocked(owner string, e *client.Event, now time.Time) {
	d := l.dropped[owner]
	if d == nil {
		d = &drops{agent: e.Agent, session: e.Session, since: now, kinds: map[string]int{}}
		l.dropped[owner] = d
	}
	d.kinds[e.Kind]++
}

// sweepLocked removes full buckets, once every 4096 calls, to free memory. A full bucket is equal
// to a new one. The caller holds mu.
func (l *Limited) sweepLocked(now time.Time) {
	if l.seen++; l.seen < 4096 {
		return
	}
	l.seen = 0
	maps.DeleteFunc(l.streams, func(_ stream, b *bucket) bool {
		l.refill(b, now)
		return b.deferred == nil && b.tokens >= float64(l.rate.Burst)
	})
}

// Run appends deferred events and reports how many were left out, until ctx is done. Then it
// appends all remaining events and stops deferring. It returns nil.
func (l *Limited) Run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next := l.release(ctx, false); next > 0 {
			timer.Reset(next)
		}
		select {
		case <-l.kick:
		case <-timer.C:
		case <-ctx.Done():
			l.release(context.WithoutCancel(ctx), true)
			return nil
		}
	}
}

// release appends the deferred events that the rate allows now, or all of them if end is true. It
// returns the time until the next one is due; zero if none is deferred.
func (l *Limited) release(ctx context.Context, end bool) (next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.ended = l.ended || end
	wait := func(d time.Duration) {
		if next == 0 || d < next {
			next = max(d, time.Millisecond)
		}
	}
	for _, b := range l.streams {
		if b.deferred == nil {
			continue
		}
		if l.refill(b, now); b.tokens < 1 && !end {
			wait(time.Duration((1 - b.tokens) * float64(l.rate.Every)))
			continue
		}
		b.tokens = max(0, b.tokens-1)
		_, _ = l.Log.Append(ctx, *b.deferred) // fails only when the log is closed: then it has no readers
		b.deferred = nil
	}
	for owner, d := range l.dropped {
		if due := d.since.Add(l.rate.Report); now.Before(due) && !end {
			wait(due.Sub(now))
			continue
		}
		_, _ = l.Log.Append(ctx, d.event(l.rate)) // fails only when the log is closed: then it has no readers
		delete(l.dropped, owner)
	}
	return next
}

// event returns the event that reports the left-out events.
func (d *drops) event(rate Rate) client.Event {
	count := 0
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(d.kinds)) {
		count += d.kinds[kind]
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, d.kinds[kind]))
	}
	return client.Event{
		Kind: string(EventsDropped), Agent: d.agent, Session: d.session,
		Text: fmt.Sprintf("%d events were left out, because there were more than %g per second of one kind", count, float64(time.Second)/float64(rate.Every)),
		Data: map[string]string{"count": strconv.Itoa(count), "kinds": strings.Join(kinds, ", "), "since": d.since.UTC().Format(time.RFC3339)},
	}
}
