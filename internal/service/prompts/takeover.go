package prompts

import (
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

// watch adds to what is seen of a session since when this controller knows it, and whether it
// was taken over from an earlier one and has not been seen at rest since.
func (o *owner) watch(s *prompt.Observation, v session.Snapshot, now time.Time) {
	s.Progress = o.opts.Progress()
	if s.Known && o.watched.IsZero() {
		o.watched = now
	}
	if s.WatchedFrom = o.watched; s.WatchedFrom.IsZero() {
		s.WatchedFrom = o.began
	}
	o.mu.Lock()
	o.queue.watchedFrom = s.WatchedFrom
	o.mu.Unlock()
	if blocked := o.blockedInstance(); s.Instance != "" && blocked != "" && blocked != s.Instance {
		o.inputFree(o.queue)
	}
	if s.Instance == "" || !v.StartedAt.Before(o.began) || v.StartedAt.IsZero() {
		return
	}
	o.mu.Lock()
	known := o.queue.seenIdle == s.Instance
	o.mu.Unlock()
	if known {
		return
	}
	s.AdoptedAt = o.began
	if s.IsIdle(now) {
		o.markSeenIdle(s.Instance)
		s.AdoptedAt = time.Time{}
	}
}

// markSeenIdle records that nothing of the time before this controller is to be waited for.
func (o *owner) markSeenIdle(instance string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.seenIdle = instance
}

// tries records that an attempt begins: what may have changed before is seen by it.
func (o *owner) tries(v session.Snapshot) {
	o.tried, o.triedAt = retryTriggerOf(v), o.opts.Now()
	o.markSeenIdle(v.Instance)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.recheck = false
}
