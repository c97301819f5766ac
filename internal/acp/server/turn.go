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
	"gascity/internal/retry"
)

const (
	pollInterval = 250 * time.Millisecond
	// controllerTimeout is how long a turn waits for a controller that does not answer: another controller may take over.
	controllerTimeout = time.Minute
	// idleTime is how long an agent that was never seen working must be idle before its turn counts as ended.
	idleTime = 2 * time.Second
	// exitTimeout is how long a session may not be running before its turn fails.
	exitTimeout = 5 * time.Second
)

// turn is the work on one prompt of the editor. Only the goroutine that handles the request with the prompt uses it, except for
// stop and once.
type turn struct {
	*bridge
	ctx  context.Context //nolint:containedctx // it lives as long as the turn
	stop chan struct{}   // closed when the editor cancels the turn
	once sync.Once

	receipt   client.Receipt // without an ID if the prompt was the answer to a question
	first     []string       // output lines at the beginning of the turn
	sent      []string       // output lines that were sent to the editor
	asked     map[string]bool
	questions sync.WaitGroup

	worked           bool // the agent was seen working
	cancelled        bool // the editor has cancelled the turn
	unreachableSince time.Time
	idleSince        time.Time
	notRunningSince  time.Time
}

// cancel asks the goroutine of the turn to interrupt the agent. It may be called several times.
func (t *turn) cancel() { t.once.Do(func() { close(t.stop) }) }

// prompt sends a prompt of the editor to the session and returns when its turn has ended. If the editor disconnects, the agent
// still finishes its turn.
func (b *bridge) prompt(ctx context.Context, text string) (any, error) {
	ctx, end := context.WithCancel(ctx)
	t := &turn{bridge: b, ctx: ctx, stop: make(chan struct{}), asked: map[string]bool{}}
	b.mu.Lock()
	if b.turn != nil {
		b.mu.Unlock()
		end()
		return nil, &acp.Error{Code: acp.CodeInvalidRequest, Message: "the previous prompt is still in progress"}
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

// submit sends the text of the editor to the city: as the answer if a question without options is open, otherwise as a prompt.
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
		if err == nil || !t.isTemporary(err) {
			return err
		}
		if !t.pause() {
			return context.Cause(t.ctx)
		}
	}
}

// isTemporary reports whether an error means only that no controller answers, and has not done so for less than
// controllerTimeout.
func (t *turn) isTemporary(err error) bool {
	if err == nil {
		t.unreachableSince = time.Time{}
		return false
	}
	if !errors.Is(err, client.ErrLost) && !errors.Is(err, client.ErrNoController) && !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrTimeout) {
		return false
	}
	if t.unreachableSince.IsZero() {
		t.unreachableSince = time.Now()
	}
	return time.Since(t.unreachableSince) < controllerTimeout
}

// pause waits for pollInterval. It returns false if the editor has disconnected.
func (t *turn) pause() bool { return retry.Sleep(t.ctx, pollInterval) }

// follow waits until the turn has ended and returns the reason in the words of the protocol.
func (t *turn) follow() (reason string, err error) {
	for {
		select {
		case <-t.stop:
			t.interrupt()
		default:
		}
		reason, err := t.poll()
		switch {
		case t.isTemporary(err):
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

// interrupt cancels the queued prompt or interrupts the agent, once.
func (t *turn) interrupt() {
	if t.cancelled {
		return
	}
	t.cancelled = true
	if t.receipt.ID != "" && !t.receipt.Ended() {
		if r, err := t.City.CancelPrompt(t.ctx, t.receipt.ID); err == nil && r.State == client.ReceiptCancelled {
			return // the prompt was not sent yet
		}
	}
	if _, err := t.City.Interrupt(t.ctx, t.Agent, client.LifecycleRequest{}); err != nil {
		_ = t.sendText("gc: cannot interrupt the agent: " + err.Error() + "\n") // the connection's end ends the turn
	}
}

// poll reads the state of the session and sends new output to the editor. It returns why the turn has ended, or an empty string
// if it has not.
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
	if sendErr := t.sendNewLines(reason != "" || err != nil); sendErr != nil && err == nil && s.State == client.StateRunning {
		return "", sendErr
	}
	return reason, err
}

// judge returns why the turn has ended, or an empty string if it has not. asks means that a question is open.
func (t *turn) judge(s client.Session, asks bool) (reason string, err error) {
	r := t.receipt
	switch r.State {
	case client.ReceiptCancelled:
		return acp.StopCancelled, nil
	case client.ReceiptDead, client.ReceiptExpired:
		return "", &acp.Error{Code: acp.CodeInternal, Message: fmt.Sprintf("the prompt was not delivered, it is %s: %s", r.State, r.Reason)}
	}
	if r.ID != "" && !r.Ended() {
		return "", nil // the prompt is still queued
	}
	if s.State != client.StateRunning {
		if t.notRunningSince.IsZero() {
			t.notRunningSince = time.Now()
		}
		if time.Since(t.notRunningSince) < exitTimeout {
			return "", nil
		}
		return "", &acp.Error{Code: acp.CodeInternal, Message: fmt.Sprintf("%s does not run any more, it is %s: %s", t.id, s.State, s.Reason)}
	}
	t.notRunningSince = time.Time{}
	return t.idleReason(s.Activity.State, asks), nil
}

// idleReason returns why the turn has ended if the agent is idle, or an empty string if the turn still runs. If the agent was
// never seen at work, it must have been idle for idleTime.
func (t *turn) idleReason(activity string, asks bool) (reason string) {
	switch activity {
	case "idle", "ready", "limited", "unknown":
	default: // busy, waiting, background, and unknown future states
		t.worked, t.idleSince = t.worked || activity == "busy" || activity == "waiting", time.Time{}
		return ""
	}
	if asks {
		return ""
	}
	if t.idleSince.IsZero() {
		t.idleSince = time.Now()
	}
	sure := activity != "unknown" && (t.worked || t.receipt.State == client.ReceiptConsumed)
	switch {
	case !sure && time.Since(t.idleSince) < idleTime:
		return ""
	case t.cancelled:
		return acp.StopCancelled
	}
	return acp.StopEndTurn
}
