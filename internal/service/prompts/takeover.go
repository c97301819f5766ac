package prompts

import (
	"context"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

// addWatchTimes adds to the observation s since when this controller observes the session, and
// whether it adopted the instance from an earlier controller and has not seen it idle since.
func (o *owner) addWatchTimes(ctx context.Context, s *prompt.Observation, v session.Snapshot, now time.Time) {
	s.Progress = o.opts.Progress()
	if s.Known && o.watched.IsZero() {
		o.watched = now
	}
	if s.WatchedFrom = o.watched; s.WatchedFrom.IsZero() {
		s.WatchedFrom = o.began
	}
	o.mu.Lock()
	o.queue.watchedFrom = s.WatchedFrom
	blocked, seenIdle := o.queue.input.instance, o.queue.seenIdle
	o.mu.Unlock()
	if s.Instance != "" && blocked != "" && blocked != s.Instance {
		o.setInputFree(ctx, o.queue)
	}
	if s.Instance == "" || s.Instance == seenIdle || !v.StartedAt.Before(o.began) || v.StartedAt.IsZero() {
		return
	}
	s.AdoptedAt = o.began
	if s.IsIdle(now) {
		o.markSeenIdle(s.Instance)
		s.AdoptedAt = time.Time{}
	}
}

// markSeenIdle records that this controller has seen the instance idle or has given it a prompt, so
// it need not wait for a turn from before its own start any more.
func (o *owner) markSeenIdle(instance string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.seenIdle = instance
}

// recordAttempt records the state of the session at the start of a delivery attempt. Only a change
// after that triggers another attempt before its time.
func (o *owner) recordAttempt(v session.Snapshot) {
	o.tried, o.triedAt = retryTriggerOf(v), o.opts.Now()
	o.markSeenIdle(v.Instance)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.recheck = false
}
