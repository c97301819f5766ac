package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// The states of a notification.
const (
	NotifySending = "sending" // it is being sent, or tried again
	NotifySent    = "sent"    // the sink has confirmed it
	NotifyFailed  = "failed"  // it is not tried again
	NotifyDropped = "dropped" // the agent did not need a person any more, or the sink was removed
)

// NotifyTypeWebPush is the type of a sink that notifies the devices of the web console.
const NotifyTypeWebPush = "webpush"

// Notifications are the sinks of city.toml and the recent notifications.
type Notifications struct {
	Sinks         []NotifySink   `json:"sinks"`
	Present       int            `json:"present,omitempty"` // number of callers of [Client.Present]; sinks without while_attached get nothing meanwhile
	Notifications []Notification `json:"notifications"`     // newest first
}

// NotifySink is a sink of city.toml.
type NotifySink struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Waiting int       `json:"waiting"`         // notifications that are not confirmed yet
	Retry   time.Time `json:"retry,omitzero"`  // after a failure: when the next try is
	Error   string    `json:"error,omitempty"` // why the last try failed; empty: it did not
	// AnswerError is why presses of the answer buttons cannot be received; empty: they can, or there are none.
	AnswerError string `json:"answer_error,omitempty"`
	// Devices is the number of devices that get the notifications of a sink of the type webpush.
	Devices int `json:"devices,omitempty"`
}

// Notification is one message about one agent for one sink.
type Notification struct {
	ID       string    `json:"id"`
	Sink     string    `json:"sink"`
	Device   string    `json:"device,omitempty"` // id of a device of the web console; empty: the sink has no devices
	State    string    `json:"state"`
	Kind     string    `json:"kind"`
	Agent    string    `json:"agent,omitempty"`
	Session  string    `json:"session,omitempty"`
	Question string    `json:"question,omitempty"` // the id of the question, if it is one
	Text     string    `json:"text"`
	Message  string    `json:"message"` // the id of the message; several notifications may be sent as one message
	Tries    int       `json:"tries"`
	Error    string    `json:"error,omitempty"` // why the last try failed, or why it was dropped
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// NotifyTestRequest sends a test message.
type NotifyTestRequest struct {
	Sink string `json:"sink,omitempty"` // empty: to all sinks
}

// NotifyResult is the result of a test message.
type NotifyResult struct {
	Sink    string  `json:"sink"`
	Type    string  `json:"type"`
	Device  string  `json:"device,omitempty"` // name of the device; empty: the sink has no devices
	Error   string  `json:"error,omitempty"`  // empty: the sink has confirmed it
	Seconds float64 `json:"seconds"`
}

// Notifications returns the sinks and the recent notifications.
func (c *Client) Notifications(ctx context.Context) (Notifications, error) {
	return call[Notifications](ctx, c, http.MethodGet, "/v1/notifications", nil)
}

// PresenceLimit is how long one call of [Client.Present] counts at most.
const PresenceLimit = 2 * time.Minute

// Present counts the caller as a person who sees all agents of the city, until ctx ends, but at most for [PresenceLimit].
// Meanwhile sinks without while_attached get no notifications; then they get those for which an agent still needs a
// person. A caller that sees the agents for longer calls it again before the limit. Present returns nil after the limit and at
// the end of ctx; an error means that the caller is not counted, or not any more.
func (c *Client) Present(ctx context.Context) error {
	var failed error
	for _, err := range watch[struct{}](ctx, c, "/v1/presence", "present") { // it has no values
		failed = err
	}
	return failed
}

// TestNotify sends a test message to one sink or to all sinks, and returns the result of each.
func (c *Client) TestNotify(ctx context.Context, req NotifyTestRequest) ([]NotifyResult, error) {
	return call[[]NotifyResult](ctx, c, http.MethodPost, "/v1/notifications/test", req)
}

// RetryNotification sends a failed notification again, with the same id.
func (c *Client) RetryNotification(ctx context.Context, id string) (Notification, error) {
	return call[Notification](ctx, c, http.MethodPost, "/v1/notifications/"+url.PathEscape(id)+"/retry", nil)
}
