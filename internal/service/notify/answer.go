package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/notification"
	"gascity/internal/service/notify/answers"
	"gascity/internal/textfmt"
)

// Listener is a [Sender] that receives the presses of its buttons itself.
type Listener interface {
	Sender
	// Listen calls press for each press, one after the other, and sends the result to the person. It returns when ctx ends,
	// and tries again after an error. failed is called with the result of each try, nil for a success.
	Listen(ctx context.Context, press func(context.Context, SinkPress) (reply string, answered bool), failed func(error))
	// Finish adds a line to a message whose question has ended, and removes its buttons.
	Finish(ctx context.Context, m SentMessage, outcome string) error
}

// SinkPress is a press of a button that a sink received.
type SinkPress struct {
	Token   string
	By      string       // who pressed it
	Allowed bool         // this person may answer
	Message *SentMessage // that has the button; nil: it is not known
}

// SentMessage is a message with buttons in a sink that can change its messages.
type SentMessage struct {
	Chat, ID int64
	Text     string
	Quoted   int // how much of the text can be text of an agent, in UTF-16 code units from the start
}

const (
	// listenAfter is how long presses are received after the last question has ended: a person gets a reply, and the message
	// loses its buttons.
	listenAfter = 10 * time.Minute
	// maxSentMessages is the number of messages of a sink whose buttons are removed when their question has ended, with those
	// whose buttons were removed.
	maxSentMessages = 200
)

// addButtons adds the answer buttons to a message about one question.
func (w *worker) addButtons(ctx context.Context, m *Message, sink Sink, asked *client.Pending) {
	e := w.engine
	if sink.Buttons == 0 || e.opts.Answers == nil || asked == nil || len(m.Items) != 1 {
		return
	}
	_, listens := sink.Sender.(Listener)
	if !listens && e.opts.AnswerTo != nil {
		m.AnswerTo = e.opts.AnswerTo(ctx)
	}
	if !listens && m.AnswerTo == "" {
		return // the web console is off
	}
	labels := m.Items[0].Options
	for _, b := range e.opts.Answers.Buttons(answers.Recipient{Sink: sink.Name, Device: sink.device.ID, Post: !listens}, asked, sink.Buttons) {
		m.Buttons = append(m.Buttons, Button{Label: fmt.Sprintf("%d. %s", b.Option+1, textfmt.Bound(labels[b.Option], maxButton)), Token: b.Token})
	}
}

// listening is a goroutine that receives the presses of a sink.
type listening struct {
	sender Listener
	stop   context.CancelFunc
	done   chan struct{} // closed when it has returned
}

// listen starts and stops the goroutines that receive presses: they run while a question is open, and for listenAfter. It
// returns when it must be called again.
func (c *consumer) listen(ctx context.Context) (next time.Time) {
	now := c.engine.opts.Now()
	open := slices.ContainsFunc(c.state.Open, func(s notification.Subject) bool { return s.Question != "" })
	if c.asked && !open {
		c.askedUntil = now
	}
	c.asked = open
	until := c.askedUntil.Add(listenAfter)
	wanted := open || !c.askedUntil.IsZero() && now.Before(until)
	for _, w := range c.engine.workers {
		l := w.listener()
		if w.listening != nil && (!wanted || w.listening.sender != l) {
			w.stopListening()
		}
		if l == nil || !wanted {
			continue
		}
		if w.listening == nil {
			c.startListening(ctx, w, l)
		}
		if !open {
			next = until
		}
	}
	return next
}

// startListening starts the goroutine of a sink. It begins when the last one has returned: a bot sends each press to one reader.
func (c *consumer) startListening(ctx context.Context, w *worker, l Listener) {
	ctx, stop := context.WithCancel(ctx)
	last, done := w.listened, make(chan struct{})
	w.listening = &listening{sender: l, stop: stop, done: done}
	c.jobs.Go(func() {
		defer close(done)
		defer stop()
		if last != nil {
			<-last
		}
		l.Listen(ctx, w.press, w.setListenFailure)
	})
}

// stopListening stops the goroutine that receives presses, if there is one. It does not wait.
func (w *worker) stopListening() {
	if w.listening == nil {
		return
	}
	w.listening.stop()
	w.listened, w.listening = w.listening.done, nil
	w.setListenFailure(nil)
}

// listener returns the sender of the sink if it receives presses, otherwise nil.
func (w *worker) listener() Listener {
	sink := w.current()
	if l, ok := sink.Sender.(Listener); ok && sink.Buttons > 0 && w.engine.opts.Answers != nil {
		return l
	}
	return nil
}

// press handles a press of an answer button: it answers the question, and returns the reply to the person. It also records the
// message with the button as sent, because a controller that was restarted in the meantime may not know it; then the message is
// edited when the question is closed.
func (w *worker) press(ctx context.Context, p SinkPress) (reply string, answered bool) {
	e := w.engine
	press := answers.Press{Token: p.Token, Sink: w.current().Name, By: p.By}
	if !p.Allowed {
		return e.reply(e.opts.Answers.RefuseNotListed(ctx, press)), false
	}
	asked, err := e.opts.Answers.Answer(ctx, press)
	if p.Message != nil && asked.ID != "" {
		w.addSent(asked.ID, *p.Message)
		w.woken.Wake()
	}
	if err != nil {
		return e.reply(err), false
	}
	return e.outcome(&asked), true
}

// reply returns the text for a person whose press had an error.
func (e *Engine) reply(err error) string {
	return textfmt.OneLine(clean(e.opts.Secrets, "Not answered: "+err.Error(), maxReason))
}

// outcome returns how a question ended, for people.
func (e *Engine) outcome(p *client.Pending) string {
	text := "The question is not open any more."
	if p.Answer != "" {
		text = "Answered: " + p.Answer
		if p.AnsweredBy != "" {
			text += "\nby " + p.AnsweredBy
		}
	}
	return clean(e.opts.Secrets, text, maxReason)
}

// addSent records a message with buttons, unless it is known.
func (w *worker) addSent(question string, m SentMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.sent, m.sameAs) {
		return
	}
	if len(w.sent) >= maxSentMessages {
		oldest := max(0, slices.IndexFunc(w.sent, func(m sentMessage) bool { return m.finished }))
		w.sent = slices.Delete(w.sent, oldest, oldest+1)
	}
	w.sent = append(w.sent, sentMessage{SentMessage: m, question: question})
}

// hasSent reports whether there is a message with buttons.
func (w *worker) hasSent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.sent, func(m sentMessage) bool { return !m.finished })
}

// sentMessage is a message with buttons, and the id of its question.
type sentMessage struct {
	SentMessage

	question string
	// finished is true when its buttons were removed, or are being removed. The message stays in the list, because the press that
	// ended its question may add it afterwards, and it must not be finished twice.
	finished bool
}

// sameAs reports whether both are the same message of the sink.
func (m *SentMessage) sameAs(other sentMessage) bool { return other.Chat == m.Chat && other.ID == m.ID }

// finishSent removes the buttons of the messages whose question has ended. It tries each message once and returns after the
// first failure, so that a service that does not answer delays the sink's next messages by only one failed request.
func (w *worker) finishSent(ctx context.Context) {
	e := w.engine
	w.mu.Lock()
	sent := slices.Clone(w.sent)
	l, ok := w.sink.Sender.(Listener)
	w.mu.Unlock()
	for _, m := range sent {
		if m.finished {
			continue
		}
		p, err := e.opts.City.Question(ctx, m.question)
		if err == nil && p.State == client.PendingOpen || err != nil && !errors.Is(err, client.ErrNotFound) {
			continue
		}
		w.mu.Lock()
		if i := slices.IndexFunc(w.sent, m.sameAs); i >= 0 {
			w.sent[i].finished = true
		}
		w.mu.Unlock()
		if !ok {
			continue
		}
		if err := l.Finish(ctx, m.SentMessage, e.outcome(&p)); err != nil && ctx.Err() == nil {
			w.mu.Lock()
			w.sent = slices.DeleteFunc(w.sent, m.sameAs) // if a person presses a button later, addSent adds the message again
			w.mu.Unlock()
			e.opts.Logger.Warn("the buttons of a message cannot be removed; they answer nothing any more", "question", m.question, "error", err)
			return
		}
	}
}

// setListenFailure records whether presses can be received; nil: they can.
func (w *worker) setListenFailure(err error) {
	why := ""
	if err != nil {
		why = clean(w.engine.opts.Secrets, "cannot receive answers: "+err.Error(), maxReason)
	}
	w.mu.Lock()
	changed := w.listenFailure != why
	w.listenFailure = why
	w.mu.Unlock()
	if changed && err != nil {
		w.engine.opts.Logger.Warn("presses of answer buttons cannot be received", "error", why)
	}
}
