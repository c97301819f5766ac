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
	"gascity/internal/textfmt"
)

// web is a sink that sends messages by POST to a web service.
type web struct {
	n       config.Notify
	env     Environment
	client  *http.Client
	payload payload
}

// payload is the form of messages of a web service.
type payload struct {
	body func(n *config.Notify, m *Message) any
	// confirmed checks the answer to a request with a status of success; nil: the status is enough.
	confirmed func(body []byte) error
	// address and bearer return the address and the access token in the header, for the values of the keys url and token.
	address func(base, token string) string
	bearer  bool
	base    string // the default of url
}

// payloadOf returns the form that messages have for this type of web service.
func payloadOf(t config.NotifyType) payload {
	same := func(base, _ string) string { return base }
	switch t {
	case config.NotifySlack:
		return payload{body: slackBody, address: same}
	case config.NotifyDiscord:
		return payload{body: discordBody, address: same}
	case config.NotifyTeams:
		return payload{body: teamsBody, address: same}
	case config.NotifyTelegram:
		return payload{body: telegramBody, confirmed: telegramConfirmed, base: "https://api.telegram.org", address: func(base, token string) string {
			return strings.TrimRight(base, "/") + "/bot" + token + "/sendMessage"
		}}
	case config.NotifyNtfy:
		return payload{body: ntfyBody, confirmed: ntfyConfirmed, base: "https://ntfy.sh", address: same, bearer: true}
	default:
		return payload{body: func(_ *config.Notify, m *Message) any { return m }, address: same, bearer: true}
	}
}

// maxAnswer is the number of bytes of an answer that are read.
const maxAnswer = 64 << 10

// Send sends the message by a POST request. A 2xx status confirms it. After 408, 425, 429 and 5xx the caller tries again later;
// any other status is final. It implements [Sender].
func (w *web) Send(ctx context.Context, m *Message) error {
	req, hidden, err := w.request(ctx, m)
	if err != nil {
		return err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return withoutAddress(err)
	}
	defer res.Body.Close()
	if res.StatusCode < 300 && w.payload.confirmed == nil {
		return nil // without the body, which may be cut off
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode >= 300:
		return refusal(res, body, hidden)
	case err != nil:
		return fmt.Errorf("the answer was cut off: %w", withoutAddress(err))
	}
	return w.payload.confirmed(body)
}

// request returns the HTTP request for a message. hidden masks the credentials of the request in texts, because a service may
// repeat them in its answer.
func (w *web) request(ctx context.Context, m *Message) (req *http.Request, hidden *redact.Redactor, err error) {
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
	body, err := json.Marshal(w.payload.body(&w.n, m))
	if err != nil {
		return nil, nil, err
	}
	req, err = http.NewRequestWithContext(ctx, http.MethodPost, w.payload.address(base, token), bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("url is not the address of a web service") // the cause contains the address
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "gc")
	req.Header.Set("Idempotency-Key", m.ID)
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
	maxSlack    = 2900
	maxDiscord  = 1900
	maxTeams    = 8000
	maxTelegram = 1900 // of 4096 UTF-16 units: a character may have two
	maxNtfy     = 3500 // bytes; more would become an attachment
)

// slackBody returns a message of Slack. The text of agents is plain text, which has no markup and no mentions.
func slackBody(_ *config.Notify, m *Message) any {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	plain := func(text string) object { return object{"type": "plain_text", "text": text, "emoji": false} }
	blocks := []object{{"type": "header", "text": plain(textfmt.Bound(m.Title, 140))}}
	if m.Text != "" {
		blocks = append(blocks, object{"type": "section", "text": plain(textfmt.Bound(m.Text, maxSlack))})
	}
	if m.Link != "" {
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "text": "<" + escape(m.Link) + "|Open in the web console>"}})
	}
	return object{"text": escape(textfmt.Bound(m.Title, 140)), "blocks": blocks, "unfurl_links": false, "unfurl_media": false}
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

// telegramBody returns a message of Telegram. Without a parse mode the text has no markup.
func telegramBody(n *config.Notify, m *Message) any {
	text := m.Title + "\n" + textfmt.Bound(m.Text, maxTelegram)
	if m.Link != "" {
		text += "\n" + m.Link
	}
	return object{"chat_id": n.Chat, "text": text, "link_preview_options": object{"is_disabled": true}, "disable_notification": !m.Urgent}
}

// telegramConfirmed checks the answer of Telegram.
func telegramConfirmed(body []byte) error {
	var answer struct {
		OK bool `json:"ok"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || !answer.OK {
		return errors.New("the service did not confirm the message")
	}
	return nil
}

// ntfyBody returns a message of ntfy.
func ntfyBody(n *config.Notify, m *Message) any {
	out := object{"topic": n.Topic, "title": m.Title, "message": cmp.Or(textfmt.Truncate(m.Text, maxNtfy), m.Title), "priority": 3, "tags": []string{"robot"}}
	if m.Urgent {
		out["priority"] = 4
	}
	if m.Link != "" {
		out["click"] = m.Link
	}
	return out
}

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
