package tui

import (
	"context"
	"time"

	"gascity/client"
)

// presenceGap is how long after a report the next key repeats it.
const presenceGap = client.PresenceLimit / 2

// presence is what the city knows about the person: since when the dashboard has the focus.
type presence struct {
	at  time.Time       // of the last call; zero: the dashboard has no focus
	ctx context.Context //nolint:containedctx // ends with the focus
	end context.CancelFunc
}

// seen reports to the city that the person sees the dashboard. It is called for each key and when the terminal gets the focus: a key is a sign
// of the focus also in a terminal that does not report it. Calls that overlap leave no gap, and each ends by itself.
func (r *runner) seen() {
	now := r.opts.Now()
	if !r.presence.at.IsZero() && now.Sub(r.presence.at) < presenceGap {
		return
	}
	if r.presence.at.IsZero() {
		r.presence.ctx, r.presence.end = context.WithCancel(r.ctx)
	}
	r.presence.at = now
	ctx := r.presence.ctx
	r.work.Go(func() {
		_ = r.opts.City.Present(ctx) // without a controller no notifications are sent
	})
}

// unseen reports that the person does not see the dashboard any more.
func (r *runner) unseen() {
	if !r.presence.at.IsZero() {
		r.presence.end()
		r.presence = presence{}
	}
}

// seenAgain repeats the report to a new controller.
func (r *runner) seenAgain() {
	if at := r.presence.at; !at.IsZero() && r.opts.Now().Sub(at) < client.PresenceLimit {
		r.presence.at = at.Add(-presenceGap)
		r.seen()
	}
}
