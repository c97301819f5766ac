package controller

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// hintsOf names the hints of a configuration, to compare them.
func hintsOf(s *plan.Session) string { return fmt.Sprintf("%q", s.Config.Hints()) }

// setHints gives sessions that run the hints of the configuration in force, where they were
// started with others or with unknown ones. It disturbs no agent. Hints that come with a
// change which needs another start belong to the next program.
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
				e.hints = wanted // what cannot be set now takes effect at the next start
				if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, runtime.ErrStaleInstance) {
					l.c.opts.Logger.Warn("changed hints take effect at the next start only", "session", name, "error", err)
				}
				l.sense(e)
			}
		})
	}
}
