package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"gascity/runtime"
)

// ErrNoHost says that no host answers on a socket: the host has ended, or has not
// come up yet.
var ErrNoHost = errors.New("the session's host does not answer")

// ErrUnsettled says that a turn goes on although it was cancelled.
var ErrUnsettled = errors.New("the agent does not end its turn")

// Client reaches one host. It holds no connection and is safe for concurrent use.
type Client struct {
	Socket   string
	Instance string // the token of the instance that is meant
}

// Delivery is one prompt.
type Delivery struct {
	ID      string
	Once    bool // what was sent under the ID before is not sent again
	Text    string
	Busy    time.Duration // how long it may wait for the turn before it
	Confirm time.Duration // how long a sign of the agent is waited for
}

// Deliver brings one prompt to the agent, see runtime.Deliverer. When ctx ends while the
// prompt waits for its turn it is not sent. An error other than [ErrNoHost] and
// runtime.ErrStaleInstance leaves the outcome open.
func (c Client) Deliver(ctx context.Context, d Delivery) (runtime.Outcome, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeAbsent}, err
	}
	defer conn.end()
	announced, err := conn.exchange(request{Op: opDeliver, Instance: c.Instance, ID: d.ID, Once: d.Once})
	if err == nil {
		err = announced.err()
	}
	if err != nil { // the text is still here
		return runtime.Outcome{State: runtime.OutcomeAbsent}, err
	}
	r, err := conn.exchange(text{Text: d.Text, Busy: d.Busy, Confirm: d.Confirm})
	if err == nil && r.Outcome == nil {
		err = errors.New("the session's host gave no answer")
	}
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
	}
	return *r.Outcome, r.err()
}

// Settle returns the outcome of a delivery. One that was not sent never will
// be.
func (c Client) Settle(ctx context.Context, id string) (runtime.Outcome, error) {
	r, err := c.ask(ctx, request{Op: opSettle, ID: id})
	if err != nil || r.Outcome == nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	return *r.Outcome, nil
}

// Cancel cuts the present turn off, if there is one, and returns when it has ended;
// [ErrUnsettled] if it does not.
func (c Client) Cancel(ctx context.Context) error {
	_, err := c.ask(ctx, request{Op: opCancel})
	return err
}

// Respond answers a question, see runtime.InteractionProvider.
func (c Client) Respond(ctx context.Context, answer runtime.InteractionResponse) error {
	r, err := c.ask(ctx, request{Op: opRespond, Answer: &answer})
	if r.Failure == failAnswer {
		return &runtime.AnswerError{Action: answer.Action, Text: answer.Text, Why: r.Detail}
	}
	return err
}

// SetMode changes the mode that the agent works in.
func (c Client) SetMode(ctx context.Context, mode string) error {
	_, err := c.ask(ctx, request{Op: opMode, Mode: mode})
	return err
}

// State returns what the host knows: at once for zero, else when it is later than after.
func (c Client) State(ctx context.Context, after uint64) (State, error) {
	r, err := c.ask(ctx, request{Op: opState, After: after})
	if err != nil || r.State == nil {
		return State{}, err
	}
	return *r.State, nil
}

func (c Client) ask(ctx context.Context, r request) (reply, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return reply{}, err
	}
	defer conn.end()
	r.Instance = c.Instance
	answer, err := conn.exchange(r)
	if err != nil {
		return reply{}, err
	}
	return answer, answer.err()
}

// err is a failure as an error.
func (r reply) err() error {
	switch r.Failure {
	case "":
		return nil
	case failStale:
		return runtime.ErrStaleInstance
	case failGone:
		return runtime.ErrInteractionGone
	case failUnsettled:
		return fmt.Errorf("%w: %s", ErrUnsettled, r.Detail)
	}
	return errors.New(r.Failure)
}

// call is one connection.
type call struct {
	net.Conn
	in   *bufio.Reader
	ctx  context.Context //nolint:containedctx // it lives as long as the call
	stop func() bool
}

func (c Client) dial(ctx context.Context) (*call, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w: %w", ErrNoHost, err)
		}
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &call{conn, bufio.NewReaderSize(conn, 64<<10), ctx, stop}, nil
}

func (c *call) end() {
	c.stop()
	_ = c.Close() // all is said
}

func (c *call) exchange(line any) (reply, error) {
	raw, err := json.Marshal(line)
	if err != nil {
		return reply{}, err
	}
	var answer []byte
	if _, err = c.Write(append(raw, '\n')); err == nil {
		answer, err = c.in.ReadBytes('\n')
	}
	var r reply
	if err == nil {
		err = json.Unmarshal(answer, &r)
	}
	if err != nil && c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	}
	return r, err
}
