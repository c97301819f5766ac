package account

import (
	"cmp"

	"gascity/client"
	"gascity/internal/session"
	"gascity/runtime"
)

// Gist is what of a view others wait for.
type Gist struct {
	desired, state, unknown, token string
	reachable, running, ready      bool
	epoch                          uint64
	hold                           session.HoldKind
	draining                       bool
	activity                       runtime.Activity
	kind                           string
	until                          int64
	attached                       int
	pending                        string
	conversation                   string
}

// GistOf returns the gist of a view.
func GistOf(v *session.View) Gist {
	g := Gist{
		desired: v.Desired, state: string(v.State), unknown: v.Unknown, token: v.Token, reachable: v.Provider != nil,
		running: v.Running, ready: v.Ready, epoch: v.Epoch, hold: v.Hold.Kind, draining: v.Draining,
		activity: v.Activity.State, kind: v.Activity.Kind, attached: v.Attached, pending: Asked(v.Pending),
		conversation: v.Conversation.ID,
	}
	if !v.Activity.Until.IsZero() {
		g.until = v.Activity.Until.UnixNano()
	}
	return g
}

// Asked names what blocks an agent, empty if nothing does.
func Asked(p *runtime.PendingInteraction) string {
	if p == nil {
		return ""
	}
	return p.RequestID
}

// Activity is an activity as people see it.
func Activity(a *session.Activity) client.Activity {
	return client.Activity{
		State: cmp.Or(string(a.State), string(runtime.ActivityUnknown)), Kind: a.Kind, Until: a.Until, Source: string(a.Source),
		Since: a.Since, Confidence: string(a.Confidence), Detail: a.Detail,
	}
}
