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

// ErrNoHost means that no host answers on the socket: it has exited or has not started yet. A host is the program of this package
// that runs the agent.
var ErrNoHost = errors.New("the session's host does not answer")

// ErrUnsettled means that the agent did not end its turn after a cancel request.
var ErrUnsettled = errors.New("the agent does not end its turn")

// Client sends requests to the host of one session, each over a new connection. It is safe for concurrent use.
type Client struct {
	Socket   string
	Instance string // the token of the instance; a host of another instance refuses the request
}

// Delivery is one prompt for the agent.
type Delivery struct {
	ID      string
	Once    bool // if a prompt with this ID was sent before, it is not sent again
	Text    string
	Busy    time.Duration // longest time to wait for the end of the previous turn
	Confirm time.Duration // longest time to wait for a sign that the agent has accepted the prompt
}

// Deliver sends one prompt to the agent and returns its outcome, see runtime.Deliverer. It announces the prompt first,
// and sends the text only if the host accepts it: an error before that gives the outcome absent, a later one gives unconfirmed. If
// ctx ends while the prompt is in the host's queue, it is not sent.
func (c Client) Deliver(ctx context.Context, d Delivery) (runtime.Outcome, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeAbsent}, err
	}
	defer conn.end()
	if _, err := conn.exchange(request{Op: opDeliver, Instance: c.Instance, ID: d.ID, Once: d.Once}); err != nil { // the text was not sent to the host
		return runtime.Outcome{State: runtime.OutcomeAbsent}, err
	}
	r, err := conn.exchange(text{Text: d.Text, Busy: d.Busy, Confirm: d.Confirm})
	if r.Outcome != nil {
		return *r.Outcome, err
	}
	if err == nil {
		err = errors.New("the session's host gave no answer")
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
}

// Settle returns the outcome of the delivery with the given ID. If the prompt was not sent to the agent yet, it is removed from
// the queue.
func (c Client) Settle(ctx context.Context, id string) (runtime.Outcome, error) {
	r, err := c.ask(ctx, request{Op: opSettle, ID: id})
	if err != nil || r.Outcome == nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	return *r.Outcome, nil
}

// Cancel cancels the running turn and returns when it has ended. If no turn runs, it does nothing. It returns [ErrUnsettled] if
// the turn does not end.
func (c Client) Cancel(ctx context.Context) error {
	_, err := c.ask(ctx, request{Op: opCancel})
	return err
}

// Respond answers a question of the agent, see runtime.InteractionProvider.
func (c Client) Respond(ctx context.Context, answer runtime.InteractionResponse) error {
	r, err := c.ask(ctx, request{Op: opRespond, Answer: &answer})
	if r.Failure == failAnswer {
		return &runtime.AnswerError{Action: answer.Action, Text: answer.Text, Why: r.Detail}
	}
	return err
}

// State returns the state of the host and its agent. If after is not zero, it waits until the state has a Seq greater than after,
// which means that something has changed.
func (c Client) State(ctx context.Context, after uint64) (State, error) {
	r, err := c.ask(ctx, request{Op: opState, After: after})
	if err != nil || r.State == nil {
		return State{}, err
	}
	return *r.State, nil
}

// ask sends one request to the host and returns its reply. If the reply says that the request failed, ask returns an error.
func (c Client) ask(ctx context.Context, r request) (reply, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return reply{}, err
	}
	defer conn.end()
	r.Instance = c.Instance
	return conn.exchange(r)
}

// err returns the error that a reply contains; nil if there is none.
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

// call is one connection to a host.
type call struct {
	net.Conn
	in   *bufio.Reader
	ctx  context.Context //nolint:containedctx // it lives as long as the call
	stop func() bool
}

// dial connects to the host. If no host listens on the socket, the error is ErrNoHost.
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

// end closes the connection.
func (c *call) end() {
	c.stop()
	_ = c.Close() // all data was exchanged
}

// exchange sends one line of JSON and reads the line with the reply. It returns the error that the reply contains, if any.
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
	switch {
	case err == nil:
		return r, r.err()
	case c.ctx.Err() != nil:
		err = context.Cause(c.ctx)
	}
	return reply{}, err
}
