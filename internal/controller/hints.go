package controller

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// hintsOf returns the hints of a session's configuration as one string, for comparison. Hints help
// the provider to read a session, such as the pattern of its ready prompt, see
// [runtime.Config.Hints].
func hintsOf(s *plan.Session) string { return fmt.Sprintf("%q", s.Config.Hints()) }

// setHints passes changed hints of the current configuration to the providers of the running
// sessions. The agents do not notice it. If the agent must be restarted for another change anyway,
// setHints does nothing: the start uses the new hints.
func (l *loop) setHints() {
	for key, e := range l.entries {
		s := l.desired[key]
		if s == nil || !e.known || !e.running() || e.job != nil || e.stale || e.backend.provider == nil || e.hints == hintsOf(s) {
			continue
		}
		if !runtime.FingerprintCurrent(e.rec.Stored.Core) || e.rec.Stored.Core != s.Core {
			continue
		}
		p, name, token, hints, wanted := e.backend.provider, e.rec.Session, e.rec.Token, s.Config.Hints(), hintsOf(s)
		l.begin(e, jobAdopt, "", observeLimit, func(ctx context.Context) func() {
			err := runtime.SetHints(ctx, p, name, token, hints)
			return func() {
				e.hints = wanted // a hint that cannot be set now takes effect at the next start
				if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, runtime.ErrStaleInstance) {
					l.c.opts.Logger.Warn("changed hints take effect at the next start only", "session", name, "error", err)
				}
				l.sense(e)
			}
		})
	}
}
