package exchange

import (
	"strconv"
	"time"

	"gascity/internal/event"
	"gascity/internal/exchange/pressure"
	"gascity/worker"
)

// press looks whether a run's context is too full, and has its worker compact it.
func (e *Engine) press(a *active) {
	if e.opts.Pressure == nil {
		return
	}
	rules := e.opts.Pressure(a.agent)
	v, err := e.opts.City.View(a.session)
	ends := err != nil || !v.Running || v.Draining || v.Token != a.instance
	now := e.opts.Now()
	a.mu.Lock()
	sight := a.strainLocked()
	sight.Ends = ends
	next, act, again := a.lock.Next(rules, sight, now)
	if act == pressure.Compact {
		a.compaction = "compact-" + strconv.FormatInt(now.UnixNano(), 36)
		if _, err := a.putLocked(worker.CompactMessage, a.compaction, worker.Compact{RunID: a.id, Reason: "its context is " + percent(sight.Usage) + " full"}); err != nil {
			next, act, again = a.lock, pressure.Nothing, time.Time{} // it fetches nothing: a later look tries again
		}
	}
	if act == pressure.Freed || act == pressure.Overdue {
		a.box.Drop(a.compaction) // it is not to be obeyed at another time
		a.usage = nil            // what was told before it says nothing any more
	}
	a.lock = next
	a.changeLocked()
	a.mu.Unlock()
	if act != pressure.Nothing {
		e.record(a, event.WorkerContext, nil, map[string]string{"step": string(act), "usage": percent(sight.Usage)})
		e.opts.City.Sense(a.session)
	}
	if act == pressure.Compact {
		time.AfterFunc(again.Sub(now), func() { e.press(a) })
	}
}

// strainLocked is what is seen of a run's pressure, but for whether it is about to end.
func (a *active) strainLocked() pressure.Sight {
	state := a.life.State()
	l := a.box.Find(a.compaction)
	s := pressure.Sight{
		Usage: a.usage, Offers: a.reader != nil && a.life.Offers(worker.OfferCompact),
		Idle: (state == worker.Ready || state == worker.Idle) && len(a.standingLocked()) == 0 && !a.box.Waits(worker.PromptMessage),
		Done: a.over || a.lock.Held() && (l.Ended() || a.given.Compacted.After(a.lock.Since)),
	}
	if s.Usage == nil && a.lock == (pressure.Lock{}) {
		s.Usage = a.life.ContextUsage()
	}
	return s
}

func percent(usage *float64) string {
	if usage == nil {
		return ""
	}
	return strconv.Itoa(int(*usage*100)) + "%"
}
