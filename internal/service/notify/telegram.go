package notify

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"gascity/internal/config"
	"gascity/internal/retry"
	"gascity/internal/textfmt"
)

// telegram is a sink that sends messages by a bot of Telegram, and receives presses of their buttons.
type telegram struct {
	*web
}

var _ Listener = (*telegram)(nil)

const (
	maxTelegram   = 1900             // characters of a text, of 4096 UTF-16 units: a character may have two
	pollTime      = 25 * time.Second // how long the service waits for a press
	pollSlack     = 15 * time.Second // how much later its answer may arrive
	confirmTime   = 2 * time.Second  // how long the last request may take, which confirms what was handled
	pollUpdates   = 5                // presses in one answer
	maxUpdates    = 1 << 20          // bytes of one answer
	maxReply      = 190              // characters of the reply to a press, of 200
	maxPersonName = 60               // characters of the name of a person
)

// telegramBody returns a message of Telegram. Without a parse mode the text has no markup. The token of a button is the data of
// the button: Telegram sends it back when the button is pressed.
func telegramBody(n *config.Notify, m *Message) any {
	text, quoted := telegramText(m)
	out := object{"chat_id": n.Chat, "text": text, "entities": preformatted(quoted), "link_preview_options": object{"is_disabled": true}, "disable_notification": !m.Urgent}
	var rows [][]object
	for _, b := range m.Buttons {
		rows = append(rows, []object{{"text": b.Label, "callback_data": b.Token}})
	}
	if len(rows) > 0 {
		out["reply_markup"] = object{"inline_keyboard": rows}
	}
	return out
}

// telegramText returns the text of a message, and how much of it can be text of an agent, in UTF-16 code units from the start.
func telegramText(m *Message) (text string, quoted int) {
	text = strings.TrimSpace(m.Title + "\n" + textfmt.Bound(m.Text, maxTelegram))
	quoted = units(text)
	if m.Link != "" {
		text += "\n" + m.Link
	}
	return text, quoted
}

// units returns the length of a text in UTF-16 code units, in which Telegram counts.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// preformatted returns the entities of a text whose first units are preformatted. Without a parse mode the text has no markup, but
// Telegram would still make mentions, commands and links of @name, /name and addresses; it does not do that in preformatted text.
func preformatted(units int) []object {
	return []object{{"type": "pre", "offset": 0, "length": units}}
}

// Send implements [Sender].
func (t *telegram) Send(ctx context.Context, m *Message) error {
	var sent telegramMessage
	err := t.call(ctx, call{method: "sendMessage", id: m.ID, body: telegramBody(&t.n, m)}, &sent)
	if err == nil && len(m.Buttons) > 0 && sent.ID != 0 {
		m.Sent = &SentMessage{Chat: sent.Chat.ID, ID: sent.ID}
		m.Sent.Text, m.Sent.Quoted = telegramText(m)
	}
	return err
}

// telegramMessage is a message that the service has.
type telegramMessage struct {
	ID   int64 `json:"message_id"`
	Chat struct {
		ID int64 `json:"id"`
	} `json:"chat"`
	Text string `json:"text"`
}

// telegramUpdate is a press.
type telegramUpdate struct {
	ID    int64 `json:"update_id"`
	Press *struct {
		ID   string `json:"id"`
		From struct {
			ID   int64  `json:"id"`
			Name string `json:"username"`
		} `json:"from"`
		Message *telegramMessage `json:"message"`
		Data    string           `json:"data"`
	} `json:"callback_query"`
}

// call calls a method of the bot. Its result is decoded into out; nil: it is ignored.
func (t *telegram) call(ctx context.Context, c call, out any) error {
	c.check = func(body []byte) error {
		answer := struct {
			OK     bool            `json:"ok"`
			Result json.RawMessage `json:"result"`
		}{}
		if err := json.Unmarshal(body, &answer); err != nil || !answer.OK {
			return errors.New("the service did not confirm the message")
		}
		if out != nil && json.Unmarshal(answer.Result, out) != nil && c.method != "sendMessage" { // a message was sent, whatever the rest says
			return errors.New("the service sent a result that cannot be understood")
		}
		return nil
	}
	return t.do(ctx, c)
}

// Listen implements [Listener] by long polls.
func (t *telegram) Listen(ctx context.Context, press func(context.Context, SinkPress) (string, bool), failed func(error)) {
	var next int64
	defer func() { t.confirm(ctx, next) }()
	for delays := retry.New(time.Second, 5*time.Minute); ctx.Err() == nil; {
		updates, err := t.poll(ctx, next, pollTime)
		if ctx.Err() != nil {
			return
		}
		failed(err)
		if err != nil {
			wait := delays.Next()
			if e, ok := errors.AsType[*SendError](err); ok {
				wait = max(wait, min(e.After, maxAfter))
			}
			if !retry.Sleep(ctx, wait) {
				return
			}
			continue
		}
		delays.Reset()
		for i := range updates {
			t.answer(context.WithoutCancel(ctx), &updates[i], press) // a press that is in work gets its reply
			next = updates[i].ID + 1
		}
	}
}

// confirm reports to the service, when Listen ends, which presses were handled, so that the next reader does not get them again. A failure
// is harmless: the button of such a press was used.
func (t *telegram) confirm(ctx context.Context, next int64) {
	if next == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmTime)
	defer cancel()
	_, _ = t.poll(ctx, next, 0)
}

// poll waits for presses, at most for the given time. The service does not send those before next again.
func (t *telegram) poll(ctx context.Context, next int64, patience time.Duration) ([]telegramUpdate, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience+pollSlack, errors.New("the service did not answer a poll for presses of buttons in time"))
	defer cancel()
	var updates []telegramUpdate
	err := t.call(ctx, call{method: "getUpdates", most: maxUpdates, body: object{
		"offset": next, "timeout": int(patience.Seconds()), "limit": pollUpdates, "allowed_updates": []string{"callback_query"},
	}}, &updates)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return updates, err
}

// answer reports a press, and sends the reply to the person who pressed.
func (t *telegram) answer(ctx context.Context, u *telegramUpdate, press func(context.Context, SinkPress) (string, bool)) {
	p := u.Press
	if p == nil {
		return
	}
	by := "telegram user " + strconv.FormatInt(p.From.ID, 10)
	if p.From.Name != "" {
		by += " @" + textfmt.Bound(textfmt.OneLine(p.From.Name), maxPersonName)
	}
	one := SinkPress{Token: p.Data, By: by, Allowed: slices.Contains(t.n.AnswerUsers, strconv.FormatInt(p.From.ID, 10))}
	if p.Message != nil {
		one.Message = &SentMessage{Chat: p.Message.Chat.ID, ID: p.Message.ID, Text: p.Message.Text, Quoted: units(p.Message.Text)}
	}
	reply, answered := press(ctx, one)
	ctx, cancel := context.WithTimeout(ctx, t.n.Timeout)
	defer cancel()
	// A failure is no reason to answer again: the reply only ends the progress display of the button.
	_ = t.call(ctx, call{method: "answerCallbackQuery", body: object{"callback_query_id": p.ID, "text": textfmt.Bound(reply, maxReply), "show_alert": !answered}}, nil)
}

// Finish implements [Listener]: the message says how its question ended, and has no buttons any more.
func (t *telegram) Finish(ctx context.Context, m SentMessage, outcome string) error {
	if strings.HasSuffix(m.Text, outcome) {
		return nil // it was a press on a copy from before the change
	}
	ctx, cancel := context.WithTimeout(ctx, t.n.Timeout)
	defer cancel()
	return t.call(ctx, call{method: "editMessageText", body: object{
		"chat_id": m.Chat, "message_id": m.ID, "text": m.Text + "\n\n" + outcome, "entities": preformatted(m.Quoted), "link_preview_options": object{"is_disabled": true},
	}}, nil)
}
