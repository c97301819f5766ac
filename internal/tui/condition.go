package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

// tone is the kind of a condition. It decides the shape, the color and the position in the list: the lowest comes first.
type tone int

const (
	toneNeed tone = iota
	toneFail
	toneWarn
	toneLimit
	toneBusy
	toneIdle
	toneStart
	toneUnknown
	toneStop
)

// The styles of the dashboard. Its colors are those of the palette, which follow the terminal's theme, light or dark.
var (
	plain = style{}
	faint = style{attr: vt.Dim}
	bold  = style{attr: vt.Bold}
)

// shapes maps each tone to its shape, its style and its meaning for the help. No two tones have the same shape.
var shapes = [...]struct {
	shape   string
	style   style
	meaning string
}{
	toneNeed:    {"◆", style{fg: vt.Magenta, attr: vt.Bold}, "needs you"},
	toneFail:    {"✗", style{fg: vt.Red, attr: vt.Bold}, "failed"},
	toneWarn:    {"▲", style{fg: vt.Yellow}, "in trouble"},
	toneLimit:   {"◷", style{fg: vt.Yellow}, "usage limit"},
	toneBusy:    {"●", style{fg: vt.Green}, "busy"},
	toneIdle:    {"○", style{fg: vt.Blue}, "idle"},
	toneStart:   {"◌", style{fg: vt.Cyan}, "starting"},
	toneUnknown: {"?", faint, "unknown"},
	toneStop:    {"·", faint, "stopped"},
}

// condition is one word, one tone and the reason for all that the status reports about an agent.
type condition struct {
	word   string
	tone   tone
	detail string
	since  time.Time
	until  time.Time // when it ends
	next   time.Time // when gc or the agent tries again
	asks   bool      // the agent has asked a question
}

var stoppedWords = map[string]string{
	client.StateStopped: "stopped", client.StateAsleep: "asleep", client.StateSuspended: "stopped", client.StateDraining: "draining", client.StateStopping: "stopping",
}

var failedWords = map[string]string{client.StateFailed: "failed", client.StateQuarantined: "quarantined", client.StateLost: "lost"}

// conditionOf returns the condition of an agent.
func conditionOf(a *client.Agent) condition {
	if word := failedWords[a.State]; word != "" {
		return condition{word: word, tone: toneFail, detail: cmp.Or(reason(a), a.Exit), since: a.ActiveAt, next: a.NextAt}
	}
	o := a.Obstacle
	if o != nil && o.Kind == client.ObstacleLimit {
		return condition{word: "usage limit", tone: toneLimit, detail: o.Detail, since: o.Since, until: o.ResetAt, next: o.ProbeAt}
	}
	if word := stoppedWords[a.State]; word != "" {
		return condition{word: word, tone: toneStop, detail: reason(a), next: a.NextAt}
	}
	switch a.State {
	case client.StateCreating, client.StateStarting:
		return condition{word: "starting", tone: toneStart, since: a.StartedAt}
	case client.StateRunning:
	default:
		return condition{word: "unknown", tone: toneUnknown, detail: reason(a)}
	}
	if c, ok := troubleOf(a); ok {
		return c
	}
	return activityOf(a)
}

// troubleOf returns the condition of a running agent that waits for a person or makes no progress.
func troubleOf(a *client.Agent) (condition, bool) {
	o := a.Obstacle
	switch {
	case a.Pending > 0 || a.Activity.State == client.WaitWaiting:
		since := a.Activity.Since
		if a.Activity.State != client.WaitWaiting { // gc asks, not the agent
			since = cmp.Or(a.InputBlockedSince, since)
		}
		return condition{word: "needs you", tone: toneNeed, detail: strings.ReplaceAll(a.Activity.Kind, "_", " "), since: since, asks: true}, true
	case a.InputBlocked != "":
		return condition{word: "input blocked", tone: toneNeed, detail: a.InputBlocked, since: a.InputBlockedSince}, true
	case o != nil && o.Kind == client.ObstacleLogin:
		return condition{word: "login needed", tone: toneNeed, detail: o.Detail, since: o.Since}, true
	case o != nil:
		return condition{word: cmp.Or(map[string]string{client.ObstacleRetrying: "retrying", client.ObstacleNoNetwork: "no network"}[o.Kind], "turn failed"), tone: toneWarn, detail: o.Detail, since: o.Since, next: o.NextTry}, true
	case !a.StalledSince.IsZero():
		return condition{word: "stalled", tone: toneWarn, detail: "last signal: " + cmp.Or(a.LastSign, "unknown"), since: a.StalledSince}, true
	}
	return condition{}, false
}

// activityOf returns the condition of a running agent without trouble.
func activityOf(a *client.Agent) condition {
	act := a.Activity
	c := condition{since: cmp.Or(act.Since, a.StartedAt)}
	switch act.State {
	case "limited":
		c.word, c.tone, c.until = "usage limit", toneLimit, act.Until
	case "busy":
		c.word, c.tone = "busy", toneBusy
	case "background":
		c.word, c.tone, c.detail = "background", toneBusy, act.Detail
	case "idle", "ready":
		c.word, c.tone = "idle", toneIdle
	default:
		c.word, c.tone, c.detail = "unknown", toneUnknown, reason(a)
	}
	return c
}

// reason returns the reason of an agent's state, for people.
func reason(a *client.Agent) string {
	if a.Reason == client.RunsAsConfigured {
		return ""
	}
	return textfmt.ReplaceInternalTerms(a.Reason)
}

// deliveryOf returns the delivery status of a prompt as a word and a style.
func deliveryOf(state string) (word string, s style) {
	switch state {
	case client.ReceiptAccepted, client.ReceiptQueued:
		return "waiting", style{fg: vt.Cyan}
	case client.ReceiptInjected:
		return "sending", style{fg: vt.Cyan}
	case client.ReceiptSubmitted:
		return "delivered", style{fg: vt.Green}
	case client.ReceiptConsumed:
		return "worked on", style{fg: vt.Green}
	case client.ReceiptExpired:
		return "expired", style{fg: vt.Red}
	case client.ReceiptDead:
		return "not delivered", style{fg: vt.Red}
	case client.ReceiptUnconfirmed:
		return "unconfirmed", style{fg: vt.Yellow}
	}
	return state, faint
}

// age returns the time since t in at most four columns: "<1m", "12m", "3h", "5d"; empty for the zero time. It changes at
// most once a minute, so that a dashboard in which nothing happens is not drawn each second.
func age(now, t time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "<1m"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// rigOf returns the rig of a qualified name and the rest of the name.
func rigOf(name string) (rig, short string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}
