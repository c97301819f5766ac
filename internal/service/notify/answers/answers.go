// Package answers makes the tokens of answer buttons, and answers questions with them. A button is a part of a notification: a
// person who gets the notification answers a question with one press, without a sign-in.
//
// # Tokens
//
// A token permits one answer: this option of this question, once, until a time, for the recipient that it was made for. It is
// signed with a key of the city (HMAC-SHA256), so nothing is saved when it is made. It has at most [MaxToken] bytes, which is
// the limit of Telegram. It is a secret: it belongs into the body of a request and never into an address.
//
// The open question is the truth: a token of a question that is not open any more is refused, however it was answered. A used
// token is saved before the answer is sent, so it is used at most once, also over a kill.
//
// docs/adr/0051 has the reasons.
package answers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
	"gascity/internal/textfmt"
)

// Path is the path of the web console to which a button sends its [Request] by POST.
const Path = "/answer"

// Request is the body of the request of a button, as JSON.
type Request struct {
	Token string `json:"token"`
}

// Life is how long a token is valid. Its question may end earlier.
const Life = 24 * time.Hour

// Questions are the questions of a city, as questions.Service has them.
type Questions interface {
	// Question returns a question that is open or ended recently, or client.ErrNotFound.
	Question(ctx context.Context, id string) (client.Pending, error)
	// Respond answers an open question, once. client.ErrRefused means that the question has ended, or that another answer is
	// being sent, and client.ErrUnavailable that the agent cannot be reached now; nothing was sent.
	Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error)
}

// Recipient is who gets a token.
type Recipient struct {
	Sink   string // its name in city.toml
	Device string // of the sink; empty: the sink has no devices
	// Post states how the press of a button arrives: true: by a POST to [Path]; false: through the sink itself.
	Post bool
}

// Options are the dependencies of a service. All are required.
type Options struct {
	File      string // path of the file with the key and the used tokens; it is made with the first token, mode 0600
	Questions Questions
	Events    event.Log
	Logger    *slog.Logger
	Now       func() time.Time
	// Recipients returns who may answer now. A token for anybody else is refused, so a sink that is removed, or that loses
	// answer = true, cannot answer from then on. It must not wait.
	Recipients func() []Recipient
}

// Service makes tokens and answers questions with them. It is safe for concurrent use. It has no goroutine.
type Service struct {
	opts Options

	mu       sync.Mutex
	secrets  *secrets     // nil: not read yet; guarded by mu
	refusals retry.Bucket // refused tokens that are recorded; guarded by mu
}

// New returns a service. It reads and writes nothing.
func New(opts Options) *Service { return &Service{opts: opts} }

// Button is an answer button of a question.
type Button struct {
	Option int // the index of the option
	Token  string
}

// Buttons returns a button for each option of an open question. It returns none if the question cannot be answered by them: it
// has no options or more than most, a label is not distinct, the agent waits no longer, the recipient may not answer, or the key
// cannot be saved.
func (s *Service) Buttons(to Recipient, p *client.Pending, most int) []Button {
	now := s.opts.Now()
	expires := now.Add(Life)
	if !p.Until.IsZero() && p.Until.Before(expires) {
		expires = p.Until
	}
	if p.State != client.PendingOpen || len(p.Options) == 0 || len(p.Options) > most || !areDistinct(p.Options) || !expires.After(now) || !slices.Contains(s.opts.Recipients(), to) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.keyLocked()
	if err != nil {
		s.opts.Logger.Error("a notification has no answer buttons", "question", p.ID, "error", err)
		return nil
	}
	buttons := make([]Button, len(p.Options))
	for i, label := range p.Options {
		t := token{question: p.ID, option: i, label: labelHash(label), expires: expires.Unix()}
		buttons[i] = Button{i, t.sign(key, to)}
		if len(buttons[i].Token) > MaxToken || !isPlain(p.ID) {
			return nil
		}
	}
	return buttons
}

// areDistinct reports whether each label names one option: none is empty, no two are equal, and none is the number of another
// option.
func areDistinct(labels []string) bool {
	for i, label := range labels {
		if strings.TrimSpace(label) == "" || slices.Contains(labels[:i], label) {
			return false
		}
		if n, err := strconv.Atoi(strings.TrimSpace(label)); err == nil && n != i+1 {
			return false
		}
	}
	return true
}

// Press is a press of a button.
type Press struct {
	Token string
	Sink  string // the sink through which it arrived; empty: it arrived by POST
	By    string // who pressed it, as text for people; empty: it is not known
}

// Reason is why a press is refused. Events and logs have it.
type Reason string

// The reasons.
const (
	Forged     Reason = "forged"     // the city did not make the token for a sink that may answer now
	Expired    Reason = "expired"    // it is too old
	Replayed   Reason = "replayed"   // it was used before
	Superseded Reason = "superseded" // the question is not open any more, is being answered, or its options have changed
	NotListed  Reason = "not_listed" // the person is not one of those who may answer
)

// Answer answers a question with a token, and returns the question. The question of an error has at least an ID if the token is
// genuine.
//
// The error is client.ErrForbidden for a token that is forged or expired, client.ErrRefused for one that was used or whose
// question is not open any more, and client.ErrTooMany for a refused one while too many are refused. Otherwise it is that of
// [Questions].Respond.
func (s *Service) Answer(ctx context.Context, press Press) (client.Pending, error) {
	t, to, ok := s.verify(press)
	if !ok {
		return client.Pending{}, s.refuse(ctx, press, Forged, fmt.Errorf("%w: the button is not valid", client.ErrForbidden))
	}
	asked, err := s.answer(ctx, press, t, to)
	asked.ID = t.question
	return asked, err
}

// answer answers a question with a genuine token.
func (s *Service) answer(ctx context.Context, press Press, t token, to Recipient) (client.Pending, error) {
	press.Sink = to.Sink
	switch {
	case s.opts.Now().Unix() >= t.expires:
		return client.Pending{}, s.refuse(ctx, press, Expired, fmt.Errorf("%w: the button has expired", client.ErrForbidden))
	case s.isUsed(press.Token):
		return client.Pending{}, s.refuse(ctx, press, Replayed, errReplayed)
	}
	asked, err := s.opts.Questions.Question(ctx, t.question)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return asked, s.refuse(ctx, press, Superseded, fmt.Errorf("%w: the question %s is not open any more", client.ErrRefused, t.question))
	case err != nil:
		return asked, err
	case asked.State != client.PendingOpen:
		return asked, s.refuse(ctx, press, Superseded, fmt.Errorf("%w: the question %s is not open any more", client.ErrRefused, t.question))
	case t.option >= len(asked.Options) || labelHash(asked.Options[t.option]) != t.label || !areDistinct(asked.Options):
		return asked, s.refuse(ctx, press, Superseded, fmt.Errorf("%w: the options of %s have changed, or two of them are equal", client.ErrRefused, t.question))
	}
	label := asked.Options[t.option]
	switch used, err := s.use(press.Token, t.expires); {
	case err != nil:
		return asked, fmt.Errorf("%w: the press was not saved, so the question was not answered: %w", client.ErrUnavailable, err)
	case used: // another press of the same button was faster
		return asked, s.refuse(ctx, press, Replayed, errReplayed)
	}
	if _, err := s.opts.Events.Append(ctx, pressed(press, &asked, label)); err != nil {
		s.release(press.Token)
		return asked, fmt.Errorf("%w: the press was not recorded, so the question was not answered: %w", client.ErrUnavailable, err)
	}
	by := "button of " + to.Sink
	if press.By != "" {
		by = press.By + " (" + by + ")"
	}
	answered, err := s.respond(ctx, t.question, client.RespondRequest{Option: label, By: by})
	switch {
	case err == nil:
		return answered, nil
	case errors.Is(err, client.ErrRefused): // nothing was sent
		s.release(press.Token)
		return asked, s.refuse(ctx, press, Superseded, err)
	case !errors.Is(err, engine.ErrEnded) && isNothingSent(err):
		s.release(press.Token)
	}
	return asked, err
}

// reachTime is how long a press waits for an agent that cannot be reached yet: a controller that has just started opens its providers.
const reachTime = 5 * time.Second

// respond answers a question. While the agent cannot be reached, so that nothing is sent, it tries again, for reachTime.
func (s *Service) respond(ctx context.Context, question string, req client.RespondRequest) (client.Pending, error) {
	began := s.opts.Now()
	for delay := retry.New(50*time.Millisecond, 500*time.Millisecond); ; {
		p, err := s.opts.Questions.Respond(ctx, question, req)
		if !errors.Is(err, client.ErrUnavailable) || errors.Is(err, engine.ErrEnded) || s.opts.Now().Sub(began) >= reachTime || !delay.Wait(ctx) {
			return p, err
		}
	}
}

// isNothingSent reports whether an error of Respond, other than client.ErrRefused, means that nothing was sent to the agent.
func isNothingSent(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrUnsupported)
}

var errReplayed = fmt.Errorf("%w: the button was used before", client.ErrRefused)

// verify returns the token of a press and its recipient. ok is false if it was not made for one of those who may answer now and
// from whom the press can arrive.
func (s *Service) verify(press Press) (t token, to Recipient, ok bool) {
	t, mac, ok := parse(press.Token)
	if !ok {
		return t, to, false
	}
	recipients := s.opts.Recipients()
	if len(recipients) == 0 {
		return t, to, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.keyLocked()
	if err != nil {
		s.opts.Logger.Error("cannot read the key that signs answer buttons, so the press of a button is refused", "error", err)
		return t, to, false
	}
	for _, r := range recipients {
		arrives := press.Sink == "" && r.Post || press.Sink != "" && press.Sink == r.Sink && !r.Post
		if arrives && t.isSignedBy(key, r, mac) {
			return t, r, true
		}
	}
	return t, to, false
}

// RefuseNotListed records the press of a person who may not answer, and returns its error, which is client.ErrForbidden.
func (s *Service) RefuseNotListed(ctx context.Context, press Press) error {
	return s.refuse(ctx, press, NotListed, fmt.Errorf("%w: you are not in answer_users of the sink %q in city.toml", client.ErrForbidden, press.Sink))
}

// maxWord is the largest size in bytes of a name or a label in an event.
const maxWord = 200

// pressed returns the event of a press that is to answer a question.
func pressed(press Press, asked *client.Pending, label string) client.Event {
	data := map[string]string{"sink": press.Sink, "id": asked.ID, "answer": textfmt.Truncate(label, maxWord)}
	if press.By != "" {
		data["by"] = textfmt.Truncate(press.By, maxWord)
	}
	return client.Event{
		Kind: string(event.NotifyAnswer), Agent: asked.Agent, Session: asked.Session, Data: data,
		Text: fmt.Sprintf("an answer button of %s was pressed: %s", press.Sink, textfmt.Brief(label)),
	}
}

// refuse records why a press is refused and returns err. If too many presses are refused, it does not record the press, and
// returns client.ErrTooMany.
func (s *Service) refuse(ctx context.Context, press Press, why Reason, err error) error {
	s.mu.Lock()
	recorded := s.refusals.Allow(refusalRate, s.opts.Now())
	s.mu.Unlock()
	if !recorded {
		return fmt.Errorf("%w: too many buttons were refused", client.ErrTooMany)
	}
	data := map[string]string{"reason": string(why)}
	if t, _, ok := parse(press.Token); ok && why != Forged { // a forged token may name anything
		data["id"] = t.question
	}
	if press.Sink != "" {
		data["sink"] = press.Sink
	}
	if press.By != "" {
		data["by"] = textfmt.Truncate(press.By, maxWord)
	}
	engine.Record(ctx, s.opts.Events, s.opts.Logger, client.Event{Kind: string(event.NotifyAnswerRefused), Text: "an answer button was refused: " + err.Error(), Data: data})
	return err
}
