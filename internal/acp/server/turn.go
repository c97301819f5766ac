package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/acp"
)

const (
	pollInterval = 250 * time.Millisecond
	// awayTime is how long a controller may be away in a turn: another one takes over.
	awayTime = time.Minute
	// restTime is how long an agent must rest that was never seen working.
	restTime = 2 * time.Second
	// goneTime is how long a session may not run before its turn is given up.
	goneTime = 5 * time.Second
)

// turn is the work on one prompt of the editor. Only the goroutine of its request
// touches it, save for stop.
type turn struct {
	*bridge
	ctx  context.Context //nolint:containedctx // it lives as long as the turn
	stop chan struct{}   // closed when the editor cancels it
	once sync.Once

	receipt   client.Receipt // without an id: an answer, which has no receipt
	first     []string       // lines when it began
	sent      []string       // lines that the editor has
	asked     map[string]bool
	questions sync.WaitGroup

	worked    bool // it was seen at work
	cancelled bool // and is to end
	lostAt    time.Time
	restAt    time.Time
	goneAt    time.Time
}

func (t *turn) cancel() { t.once.Do(func() { close(t.stop) }) }

// prompt returns the session a prompt and returns when its turn is over. An editor
// that goes leaves it as it is.
func (b *bridge) prompt(ctx context.Context, text string) (any, error) {
	ctx, end := context.WithCancel(ctx)
	t := &turn{bridge: b, ctx: ctx, stop: make(chan struct{}), asked: map[string]bool{}}
	b.mu.Lock()
	if b.turn != nil {
		b.mu.Unlock()
		end()
		return nil, &acp.Error{Code: acp.CodeInvalidRequest, Message: "the prompt before is still worked on"}
	}
	b.turn = t
	b.mu.Unlock()
	defer func() {
		end()
		t.questions.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.turn = nil
	}()
	var err error
	if t.first, err = b.printed(ctx); err != nil {
		return nil, err
	}
	t.sent = t.first
	if err := t.submit(text); err != nil {
		return nil, err
	}
	reason, err := t.follow()
	if err != nil {
		return nil, err
	}
	return acp.PromptResult{StopReason: reason}, nil
}

// submit gives the prompt to the city; what is asked in free words gets it as the answer.
func (t *turn) submit(text string) error {
	open, err := t.City.Pending(t.ctx, t.Agent, client.OnlyOpen)
	if err != nil {
		return err
	}
	for _, q := range open {
		if len(q.Options) == 0 && q.Why == "" {
			_, err := t.City.Respond(t.ctx, q.ID, client.RespondRequest{Text: text, By: t.By})
			t.asked[q.ID] = true
			return err
		}
	}
	req := client.NudgeRequest{Text: text, Key: "acp-" + rand.Text(), Source: t.By}
	for {
		t.receipt, err = t.City.Nudge(t.ctx, t.Agent, req)
		if err == nil || !t.isAway(err) {
			return err
		}
		if !t.pause() {
			return context.Cause(t.ctx)
		}
	}
}

// isAway reports whether an error only says that no controller answers for now.
func (t *turn) isAway(err error) bool {
	if err == nil {
		t.lostAt = time.Time{}
		return false
	}
	if !errors.Is(err, client.ErrLost) && !errors.Is(err, client.ErrNoController) && !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrTimeout) {
		return false
	}
	if t.lostAt.IsZero() {
		t.lostAt = time.Now()
	}
	return time.Since(t.lostAt) < awayTime
}

// pause is false if the editor has gone.
func (t *turn) pause() bool {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// follow returns why the turn has ended.
func (t *turn) follow() (reason string, err error) {
	for {
		select {
		case <-t.stop:
			t.interrupt()
		default:
		}
		reason, err := t.poll()
		switch {
		case t.isAway(err):
		case err != nil:
			return "", err
		case reason != "":
			return reason, nil
		}
		if !t.pause() {
			return acp.StopCancelled, nil
		}
	}
}

// interrupt ends what the editor does not want any more, once.
func (t *turn) interrupt() {
	if t.cancelled {
		return
	}
	t.cancelled = true
	if t.receipt.ID != "" && !t.receipt.Ended() {
		if r, err := t.City.CancelPrompt(t.ctx, t.receipt.ID); err == nil && r.State == client.ReceiptCancelled {
			return // it was never begun
		}
	}
	if _, err := t.City.Interrupt(t.ctx, t.Agent, client.LifecycleRequest{}); err != nil {
		_ = t.sendText("gc: it could not be interrupted: " + err.Error() + "\n") // the connection's end ends the turn
	}
}

// poll reads how the session is, sends the editor what is new, and returns why the
// turn has ended, if it has.
func (t *turn) poll() (reason string, err error) {
	if t.receipt.ID != "" {
		if t.receipt, err = t.City.Receipt(t.ctx, t.receipt.ID, ""); err != nil {
			return "", err
		}
	}
	s, err := t.City.Session(t.ctx, t.Agent)
	if err != nil {
		return "", err
	}
	open, err := t.City.Pending(t.ctx, t.Agent, client.OnlyOpen)
	if err != nil {
		return "", err
	}
	reason, err = t.judge(s, len(open) > 0)
	if err == nil && reason == "" {
		reason = t.ask(open)
	}
	if tell := t.sendNewLines(reason != "" || err != nil); tell != nil && err == nil && s.State == client.StateRunning {
		return "", tell
	}
	return reason, err
}

// judge reports whether the turn has ended.
func (t *turn) judge(s client.Session, asks bool) (reason string, err error) {
	r := t.receipt
	switch r.State {
	case client.ReceiptCancelled:
		return acp.StopCancelled, nil
	case client.ReceiptDead, client.ReceiptExpired:
		return "", &acp.Error{Code: acp.CodeInternal, Message: fmt.Sprintf("the prompt was not delivered, it is %s: %s", r.State, r.Reason)}
	}
	if r.ID != "" && !r.Ended() {
		return "", nil // it waits for its turn
	}
	if s.State != client.StateRunning {
		if t.goneAt.IsZero() {
			t.goneAt = time.Now()
		}
		if time.Since(t.goneAt) < goneTime {
			return "", nil
		}
		return "", &acp.Error{Code: acp.CodeInternal, Message: fmt.Sprintf("%s does not run any more, it is %s: %s", t.id, s.State, s.Reason)}
	}
	t.goneAt = time.Time{}
	return t.idleReason(s.Activity.State, asks), nil
}

// idleReason says that the turn has ended when the agent rests: at once if it was seen at work or
// says that it has worked, else after a moment.
func (t *turn) idleReason(activity string, asks bool) (reason string) {
	switch activity {
	case "idle", "ready", "limited", "unknown":
	default: // busy, waiting, background, and what may come
		t.worked, t.restAt = t.worked || activity == "busy" || activity == "waiting", time.Time{}
		return ""
	}
	if asks {
		return ""
	}
	if t.restAt.IsZero() {
		t.restAt = time.Now()
	}
	sure := activity != "unknown" && (t.worked || t.receipt.State == client.ReceiptConsumed)
	switch {
	case !sure && time.Since(t.restAt) < restTime:
		return ""
	case t.cancelled:
		return acp.StopCancelled
	}
	return acp.StopEndTurn
}
