package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"gascity/internal/domain/notification"
	"gascity/internal/textfmt"
)

// Push is what sinks of the type webpush need. Key, Devices and Contact are required if there is such a sink.
type Push struct {
	Key     *PushKey
	Devices PushDevices
	// Contact returns the https address of the web console, by which a push service can identify the sender; empty: it has none.
	Contact func(ctx context.Context) string
	// Dial makes the connections to push services. Nil: only public addresses are connected to, because a browser chooses the
	// address. Tests replace it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  *tls.Config // of these connections; nil: the defaults
}

// PushDevices has the subscriptions of the devices of the web console. Safe for concurrent use.
type PushDevices interface {
	// PushSubscription returns the subscription of a device; ok is false if it has none.
	PushSubscription(device string) (s notification.Subscription, ok bool)
	// RemovePushSubscription removes the subscription of a device if it still has this endpoint.
	RemovePushSubscription(ctx context.Context, device, endpoint, why string)
}

// errNotPublic is the error of a connection to an address that is not public.
var errNotPublic = errors.New("the push service has an address of this machine or of a private network, to which gc does not connect")

// transport returns the transport of requests to push services.
func (p *Push) transport() *http.Transport {
	t := newTransport(p.TLS)
	if t.DialContext = p.Dial; t.DialContext == nil {
		t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: checkAddress}).DialContext
	}
	return t
}

// checkAddress refuses a connection to an address that is not public. It is called after the name was looked up, with the address
// of the connection itself, so that a name cannot lead to another address later.
func checkAddress(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !notification.IsPublic(at.Addr()) {
		return errNotPublic
	}
	return nil
}

// webPush sends messages to one device by Web Push (RFC 8030): encrypted for the browser (RFC 8291), signed with the key of the
// city.
type webPush struct {
	push   Push
	client *http.Client
	device string
}

const (
	// pushLife is how long a push service keeps a message for a device that is off.
	pushLife = 4 * time.Hour
	// noContact is the contact of a city whose web console has no https address. Push services require one.
	noContact = "gc@localhost"
)

// Send implements [Sender]. The id of the message is its Topic: a push service replaces a message that it could not deliver yet
// by one with the same Topic.
func (w *webPush) Send(ctx context.Context, m *Message) error {
	payload, err := pushPayload(m)
	if err != nil {
		return err
	}
	urgency := webpush.UrgencyNormal
	if m.Urgent {
		urgency = webpush.UrgencyHigh
	}
	return w.post(ctx, payload, webpush.Options{Topic: m.ID, Urgency: urgency})
}

// Withdraw implements [Withdrawer]. The message has the Topic of the first one, so a push service that could not deliver that one
// delivers only this one.
func (w *webPush) Withdraw(ctx context.Context, m *Message) error {
	out := pushMessage{ID: m.ID, Title: cut("Closed: "+m.Title, maxPushTitle), Page: "#/needs", Over: true, Badge: m.Questions}
	payload, err := out.encode()
	if err != nil {
		return err
	}
	return w.post(ctx, payload, webpush.Options{Topic: m.ID, Urgency: webpush.UrgencyNormal})
}

// post sends a payload. If the subscription has ended, it removes it.
func (w *webPush) post(ctx context.Context, payload []byte, opts webpush.Options) error {
	s, ok := w.push.Devices.PushSubscription(w.device)
	if !ok {
		return errors.New("the device gets no notifications any more") // the engine removes its deliveries
	}
	at, err := url.Parse(s.Endpoint)
	if err != nil {
		return final("the endpoint of the device is not an address")
	}
	opts.VAPIDPrivateKey, opts.VAPIDPublicKey, err = w.push.Key.pair()
	if err != nil {
		return err
	}
	opts.HTTPClient, opts.TTL, opts.Subscriber = w.client, int(pushLife.Seconds()), noContact
	if contact := w.push.Contact(ctx); strings.HasPrefix(contact, "https://") {
		opts.Subscriber = contact
	}
	res, err := webpush.SendNotificationWithContext(ctx, payload, &webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{P256dh: s.P256DH, Auth: s.Auth}}, &opts)
	switch {
	case errors.Is(err, errNotPublic):
		return final("%w", errNotPublic)
	case err != nil:
		return explainCertificate(withoutAddress(err))
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode < http.StatusMultipleChoices:
		return nil
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		why := fmt.Sprintf("its push service answers %d: the subscription has ended", res.StatusCode)
		w.push.Devices.RemovePushSubscription(ctx, w.device, s.Endpoint, why)
		return errors.New(why) // not final: the device may have another subscription meanwhile
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		body = nil
	}
	return refusal(res, body, hide(at, s.Endpoint, s.Auth))
}

// pushMessage is a message as the service worker of the web console gets it.
type pushMessage struct {
	ID        string   `json:"id"` // the tag of the notification: a repeated message replaces it
	Title     string   `json:"title"`
	Body      string   `json:"body,omitempty"`
	Page      string   `json:"page"`                // the fragment of the address of a page of the web console
	Questions []string `json:"questions,omitempty"` // the questions that the message is about
	Urgent    bool     `json:"urgent,omitempty"`
	Over      bool     `json:"over,omitempty"` // what the message with this id was about is over
	Badge     int      `json:"badge"`          // the number of open questions
	At        int64    `json:"at,omitempty"`   // when it began, in milliseconds of Unix time

	Actions []pushAction `json:"actions,omitempty"` // the answer buttons
}

// pushAction is an answer button of a push message. The service worker sends its token to answers.Path.
type pushAction struct {
	Label string `json:"label"`
	Token string `json:"token"`
}

// The maximum sizes of a push message, in bytes.
const (
	maxPush       = 3993 // of its JSON: with its encryption it has 4096, which every push service accepts
	maxPushText   = 1500 // of the text of the agent
	maxPushTitle  = 200
	maxPushOption = 80
	pushOptions   = 8 // number of options
)

// pushPayload returns a message for the service worker. It cuts the text of the agent until the message fits.
func pushPayload(m *Message) ([]byte, error) {
	out := pushMessage{ID: m.ID, Title: cut(m.Title, maxPushTitle), Page: "#/needs", Urgent: m.Urgent, Badge: m.Questions}
	for i := range m.Items {
		if question := m.Items[i].Question; question != "" {
			out.Questions = append(out.Questions, question)
		}
	}
	for _, b := range m.Buttons {
		out.Actions = append(out.Actions, pushAction(b))
	}
	for limit := maxPushText; ; limit /= 2 {
		out.Body = cut(m.Text, limit)
		if len(m.Items) == 1 {
			it := &m.Items[0]
			out.At, out.Body = it.Since.UnixMilli(), it.pushBody(limit)
			switch {
			case it.Question != "":
				out.Page = "#/needs/" + url.PathEscape(it.Question)
			case it.Agent != "":
				out.Page = "#/agent/" + url.PathEscape(it.Agent)
			}
		}
		payload, err := out.encode()
		if err != nil || len(payload) <= maxPush {
			return payload, err
		}
		if limit == 0 {
			return nil, final("the message has %d bytes, more than %d", len(payload), maxPush)
		}
	}
}

// encode returns the message as JSON without escapes that only HTML needs.
func (m *pushMessage) encode() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(m)
	return bytes.TrimSpace(text.Bytes()), err
}

// pushBody returns the text about one item. limit is the maximum size of the text of the agent, in bytes.
func (it *Item) pushBody(limit int) string {
	var lines []string
	if prompt := cut(strings.TrimSpace(it.Prompt), limit); prompt != "" {
		lines = append(lines, prompt)
	}
	if it.Tool != "" {
		lines = append(lines, cut(strings.TrimSpace(it.Tool+" "+it.Input), min(limit, maxPushTitle)))
	}
	for i, option := range it.Options[:min(len(it.Options), pushOptions)] {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, cut(option, maxPushOption)))
	}
	return strings.Join(lines, "\n")
}

// cut cuts a text to at most limit bytes and marks a cut with an ellipsis.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.TrimSpace(textfmt.Truncate(text, max(0, limit-len("…")))) + "…"
}
