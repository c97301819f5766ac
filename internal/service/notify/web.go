package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gascity/internal/config"
	"gascity/internal/redact"
	"gascity/internal/service/notify/answers"
	"gascity/internal/textfmt"
)

// web is a sink that sends messages by POST to a web service.
type web struct {
	n       config.Notify
	env     Environment
	client  *http.Client
	payload payload
}

// newWeb returns the sink of a [[notify]] section.
func newWeb(n *config.Notify, env Environment) *web {
	return &web{n: *n, env: env, payload: payloadOf(n.Type), client: newHTTPClient(newTransport(nil))}
}

// payload is the form of messages of a web service.
type payload struct {
	body func(n *config.Notify, m *Message) any
	// confirmed checks the answer to a request with a status of success; nil: the status is enough.
	confirmed func(body []byte) error
	bearer    bool   // the token is sent in the header
	base      string // the default of url
}

// payloadOf returns the form that messages have for this type of web service.
func payloadOf(t config.NotifyType) payload {
	switch t {
	case config.NotifySlack:
		return payload{body: slackBody}
	case config.NotifyDiscord:
		return payload{body: discordBody}
	case config.NotifyTeams:
		return payload{body: teamsBody}
	case config.NotifyTelegram:
		return payload{body: telegramBody, base: "https://api.telegram.org"}
	case config.NotifyNtfy:
		return payload{body: ntfyBody, confirmed: ntfyConfirmed, base: "https://ntfy.sh", bearer: true}
	default:
		return payload{body: func(_ *config.Notify, m *Message) any { return m }, bearer: true}
	}
}

// maxAnswer is the number of bytes of an answer that are read.
const maxAnswer = 64 << 10

// Send sends the message by a POST request. A 2xx status confirms it. After 408, 425, 429 and 5xx the caller tries again later;
// any other status is final. It implements [Sender].
func (w *web) Send(ctx context.Context, m *Message) error {
	out := call{body: w.payload.body(&w.n, m), id: m.ID, check: w.payload.confirmed}
	return w.do(ctx, out)
}

// call is one request to the service.
type call struct {
	body   any
	method string // of the bot of Telegram; empty: the address has none
	id     string // of the message; empty: the request is not one
	// check reads the answer to a request with a status of success; nil: the status is enough.
	check func(body []byte) error
	most  int64 // bytes of the answer that are read; zero: maxAnswer
}

// do sends one request.
func (w *web) do(ctx context.Context, c call) error {
	req, hidden, err := w.request(ctx, c)
	if err != nil {
		return err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return explainCertificate(withoutAddress(err))
	}
	defer res.Body.Close()
	if res.StatusCode < 300 && c.check == nil {
		return nil // without the body, which may be cut off
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, cmp.Or(c.most, maxAnswer)))
	switch {
	case res.StatusCode >= 300:
		return refusal(res, body, hidden)
	case err != nil:
		return fmt.Errorf("the answer was cut off: %w", withoutAddress(err))
	}
	return c.check(body)
}

// request returns a request. hidden has its credentials, which a service may repeat in its answer.
func (w *web) request(ctx context.Context, c call) (req *http.Request, hidden *redact.Redactor, err error) {
	base, err := w.env.secret(ctx, "url", w.n.URL)
	if err != nil {
		return nil, nil, err
	}
	token, err := w.env.secret(ctx, "token", w.n.Token)
	if err != nil {
		return nil, nil, err
	}
	base = cmp.Or(base, w.payload.base)
	if !config.IsWebAddress(base) {
		return nil, nil, errors.New("url is not the address of a web service")
	}
	body, err := json.Marshal(c.body)
	if err != nil {
		return nil, nil, err
	}
	address := base
	if c.method != "" {
		address = strings.TrimRight(base, "/") + "/bot" + token + "/" + c.method
	}
	req, err = http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("url is not the address of a web service") // the cause contains the address
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "gc")
	if c.id != "" {
		req.Header.Set("Idempotency-Key", c.id)
	}
	if w.payload.bearer && token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, hide(req.URL, base, token), nil
}

// longSegment is the length from which a segment of the path of an address may be a credential by itself.
const longSegment = 16

// hide returns a redactor for the credentials of a request. The address of a webhook is one.
func hide(address *url.URL, base, token string) *redact.Redactor {
	hidden := &redact.Redactor{}
	for _, value := range []string{base, token, address.String(), address.RequestURI(), address.Path} {
		hidden.Hide(value)
	}
	for segment := range strings.SplitSeq(address.Path, "/") {
		if len(segment) >= longSegment {
			hidden.Hide(segment)
		}
	}
	for _, values := range address.Query() {
		for _, value := range values {
			hidden.Hide(value)
		}
	}
	return hidden
}

// withoutAddress returns the error of a request without the address of the request, which may contain a credential.
func withoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// refusal returns the error for an HTTP answer that is not a success, with the service's text.
func refusal(res *http.Response, body []byte, hidden *redact.Redactor) error {
	why := "the service answered " + textfmt.Truncate(hidden.Text(res.Status), 100)
	if text := textfmt.OneLine(textfmt.Truncate(hidden.Text(string(body)), 200)); text != "" { // masked before it is cut
		why += ": " + text
	}
	if res.StatusCode < 400 {
		why += "; a redirect is not followed: write the address to which it leads as url"
	}
	e := &SendError{Err: errors.New(why)}
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
	default:
		e.Final = res.StatusCode < 500
	}
	if seconds, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64); err == nil && seconds > 0 {
		e.After = time.Duration(min(seconds, maxAfter.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(res.Header.Get("Retry-After")); err == nil {
		e.After = time.Until(at)
	}
	var telegram struct {
		Parameters struct {
			RetryAfter float64 `json:"retry_after"`
		} `json:"parameters"`
	}
	if json.Unmarshal(body, &telegram) == nil && telegram.Parameters.RetryAfter > 0 {
		e.After = max(e.After, time.Duration(min(telegram.Parameters.RetryAfter, maxAfter.Seconds())*float64(time.Second)))
	}
	return e
}

// object is a JSON object.
type object = map[string]any

// The maximum lengths of texts of the services, in characters, with a reserve.
const (
	maxSlack   = 2900
	maxDiscord = 1900
	maxTeams   = 8000
	maxNtfy    = 3500 // bytes, with the buttons; more would become an attachment
)

// slackBody returns a message of Slack. The text of agents is plain text, which has no markup and no mentions.
func slackBody(_ *config.Notify, m *Message) any {
	plain := func(text string) object { return object{"type": "plain_text", "text": text, "emoji": false} }
	blocks := []object{{"type": "header", "text": plain(textfmt.Bound(m.Title, 140))}}
	if m.Text != "" {
		blocks = append(blocks, object{"type": "section", "text": plain(textfmt.Bound(m.Text, maxSlack))})
	}
	if m.Link != "" {
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "text": "<" + escapeMarkup(m.Link) + "|Open in the web console>"}})
	}
	return object{"text": escapeMarkup(textfmt.Bound(m.Title, 140)), "blocks": blocks, "unfurl_links": false, "unfurl_media": false}
}

// discordBody returns a message of Discord, with escaped markup and without mentions.
func discordBody(_ *config.Notify, m *Message) any {
	text := "**" + escapeMarkdown(m.Title) + "**\n" + textfmt.Bound(escapeMarkdown(m.Text), max(1, maxDiscord-2*len(m.Title)-len(m.Link)-20))
	if m.Link != "" {
		text += "\n<" + m.Link + ">"
	}
	return object{"content": text, "allowed_mentions": object{"parse": []string{}}}
}

// escapeMarkdown escapes the characters of Markdown.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_~|>#[]()<@:-+=!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// teamsBody returns an adaptive card. A RichTextBlock shows its text without markup.
func teamsBody(_ *config.Notify, m *Message) any {
	block := func(text string, bold bool) object {
		run := object{"type": "TextRun", "text": text}
		if bold {
			run["weight"] = "bolder"
		}
		return object{"type": "RichTextBlock", "inlines": []object{run}}
	}
	card := object{
		"type": "AdaptiveCard", "version": "1.4", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"body": []object{block(m.Title, true), block(textfmt.Bound(m.Text, maxTeams), false)},
	}
	if m.Link != "" {
		card["actions"] = []object{{"type": "Action.OpenUrl", "title": "Open in the web console", "url": m.Link}}
	}
	return object{"type": "message", "attachments": []object{{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}
}

// ntfyBody returns a message of ntfy. Its buttons send a POST from the phone. Their tokens are in the body, never in the address.
func ntfyBody(n *config.Notify, m *Message) any {
	actions, size := ntfyActions(m)
	text := cmp.Or(textfmt.Truncate(m.Text, max(0, maxNtfy-size)), m.Title)
	out := object{"topic": n.Topic, "title": m.Title, "message": text, "priority": 3, "tags": []string{"robot"}}
	if m.Urgent {
		out["priority"] = 4
	}
	if m.Link != "" {
		out["click"] = m.Link
	}
	if len(actions) > 0 {
		out["actions"] = actions
	}
	return out
}

// ntfyActions returns the buttons of a message, and how many bytes they add to it.
func ntfyActions(m *Message) (actions []object, size int) {
	if m.AnswerTo == "" {
		return nil, 0
	}
	for _, b := range m.Buttons {
		body, err := json.Marshal(answers.Request{Token: b.Token})
		if err != nil {
			return nil, 0
		}
		one := object{
			"action": "http", "label": b.Label, "url": m.AnswerTo, "method": http.MethodPost, "clear": true,
			"headers": object{"Content-Type": "application/json"}, "body": string(body),
		}
		actions = append(actions, one)
		size += len(b.Label) + len(m.AnswerTo) + len(body) + actionSize
	}
	return actions, size
}

// actionSize is the number of bytes of a button besides its texts, with a reserve.
const actionSize = 160

// ntfyConfirmed checks the answer of ntfy: the message with its id.
func ntfyConfirmed(body []byte) error {
	var answer struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.ID == "" {
		return errors.New("the service did not confirm the message")
	}
	return nil
}
