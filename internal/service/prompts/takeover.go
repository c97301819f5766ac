package prompts

import (
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

// watch adds to what is seen of a session since when this controller knows it, and whether it
// was taken over from an earlier one and has not been seen at rest since.
func (o *owner) watch(s *prompt.Sight, v session.View, now time.Time) {
	s.Progress = o.opts.Progress()
	if s.Known && o.watched.IsZero() {
		o.watched = now
	}
	if s.WatchedFrom = o.watched; s.WatchedFrom.IsZero() {
		s.WatchedFrom = o.began
	}
	o.mu.Lock()
	o.box.watchedFrom = s.WatchedFrom
	o.mu.Unlock()
	if blocked := o.blockedInstance(); s.Instance != "" && blocked != "" && blocked != s.Instance {
		o.inputFree(o.box)
	}
	if s.Instance == "" || !v.StartedAt.Before(o.began) || v.StartedAt.IsZero() {
		return
	}
	o.mu.Lock()
	known := o.box.seenAtRest == s.Instance
	o.mu.Unlock()
	if known {
		return
	}
	s.TookOver = o.began
	if s.Rests(now) {
		o.tookOver(s.Instance)
		s.TookOver = time.Time{}
	}
}

// tookOver notes that nothing of the time before this controller is to be waited for.
func (o *owner) tookOver(instance string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.box.seenAtRest = instance
}

// tries notes that an attempt begins: what may have changed before is seen by it.
func (o *owner) tries(v session.View) {
	o.tried, o.triedAt = sceneOf(v), o.opts.Now()
	o.tookOver(v.Instance)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.box.recheck = false
}
