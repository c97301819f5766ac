package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Client is one control client of one server. All methods may be called concurrently.
type Client struct {
	// Constant after construction.
	options Options
	// gate holds one token: its holder connects.
	gate chan struct{}
	// closing is closed by Close.
	closing chan struct{}
	// changes is what Changes returns.
	changes atomic.Uint64
	// supervisors are the goroutines that repair connections.
	supervisors sync.WaitGroup

	mu sync.Mutex
	// state and changed are guarded by mu. changed is closed and replaced with each new state.
	state   clientState
	changed chan struct{}
	// connection is set while connected. Guarded by mu.
	connection *connection
	// known is the server, valid while connected or under repair. Guarded by
	// mu.
	known    Server
	features Features
	// lostReason is why there is no server any more. Guarded by mu.
	lostReason error
	// lossExpected: the loss of the known server is no surprise. Guarded by mu.
	lossExpected bool
	// subscriptions and monitors are guarded by mu.
	subscriptions map[*queue]struct{}
	monitors      map[string]Command
}

type clientState uint8

const (
	// neverConnected: never connected.
	neverConnected clientState = iota
	connected
	// reconnecting: the connection broke; whether the server lives is being found out.
	reconnecting
	// serverLost: the server has ended.
	serverLost
	closed
)

// New returns a client. It does no I/O. Errors: ErrSocketPath.
func New(options Options) (*Client, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	return &Client{
		options:       options,
		gate:          make(chan struct{}, 1),
		closing:       make(chan struct{}),
		changed:       make(chan struct{}),
		subscriptions: map[*queue]struct{}{},
		monitors:      map[string]Command{},
	}, nil
}

// Start takes up the server that listens at the socket, or starts one: a stale socket is replaced, a
// live one never; two processes that start at once end with one server. It returns when commands are
// answered, and does nothing when they already are. After ErrServerLost it is the way to begin again.
// Errors: ErrNoTmux, ErrTooOld, ErrSocketPath, ErrClosed, the cause of ctx, or what tmux said.
func (c *Client) Start(ctx context.Context) (Server, error) { return c.connect(ctx, mayStart) }

// Attach is Start without starting a server: ErrNoServer when no server
// listens.
func (c *Client) Attach(ctx context.Context) (Server, error) { return c.connect(ctx, mustListen) }

// Do sends the commands at once and returns one reply for each, in order. They are
// independent: one that fails does not stop the next. The error is the first of the
// replies; the replies are there beside a *CommandError. Any number of goroutines may call it; their
// commands are interleaved, those of one call keep their order.
//
// A client that was never connected takes up a server that listens. While the connection
// is being repaired Do waits, until ctx ends. When ctx ends after the commands were
// sent, they may still be carried out. Commands that wait (run-shell and if-shell
// without -b, wait-for, display-popup) hold up everybody: do not send them.
//
// Errors: *CommandError, ErrWord, ErrNoServer, ErrServerLost, ErrInterrupted, ErrBusy, ErrNoTmux,
// ErrClosed, the cause of ctx.
func (c *Client) Do(ctx context.Context, commands ...Command) ([]Reply, error) {
	for _, command := range commands {
		if _, err := command.Line(); err != nil {
			return nil, err
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	for {
		connection, err := c.ready(ctx)
		if err != nil {
			return nil, err
		}
		unlock, err := c.waitForOthers(ctx, commands)
		if err != nil {
			return nil, err
		}
		replies, err := connection.request(ctx, commands...)
		unlock()
		if !errors.Is(err, errNotSent) {
			return replies, err
		}
		if err := c.waitForBreak(ctx, connection); err != nil {
			return nil, err
		}
	}
}

// Output is Do of one command whose output is wanted.
func (c *Client) Output(ctx context.Context, command Command) ([]byte, error) {
	replies, err := c.Do(ctx, command)
	if err != nil {
		return nil, err
	}
	return replies[0].Output, nil
}

// ExpectLoss says that the known server is about to be ended: its loss is reported as
// usual, but is no warning in the log. It holds until there is a connection again.
func (c *Client) ExpectLoss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lossExpected = true
}

// Server returns the server that this client is connected to and its features. It
// sends no request; ok is false before the first connection and after a loss.
func (c *Client) Server() (server Server, features Features, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != connected && c.state != reconnecting {
		return Server{}, Features{}, false
	}
	return c.known, c.features, true
}

// Hub returns the name of our session. A window linked into it (link-window -d -s SOURCE -t
// "=HUB:") is read. Its first window is ours: leave it alone.
func (c *Client) Hub() string { return c.options.Hub }

// ready returns the connection to use now.
func (c *Client) ready(ctx context.Context) (*connection, error) {
	for {
		c.mu.Lock()
		state, connection, changed, lost := c.state, c.connection, c.changed, c.lostReason
		c.mu.Unlock()
		switch state {
		case connected:
			return connection, nil
		case serverLost:
			return nil, lost
		case closed:
			return nil, ErrClosed
		case neverConnected:
			if _, err := c.Attach(ctx); err != nil {
				return nil, err
			}
		case reconnecting:
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, fmt.Errorf("connecting to tmux again: %w", context.Cause(ctx))
			}
		}
	}
}

// waitForBreak waits until the client knows that the connection broke.
func (c *Client) waitForBreak(ctx context.Context, broken *connection) error {
	for {
		c.mu.Lock()
		current, changed := c.connection, c.changed
		c.mu.Unlock()
		if current != broken {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enterLocked sets the state. connection is nil in all states but connected.
func (c *Client) enterLocked(state clientState, connection *connection) {
	c.state, c.connection = state, connection
	c.changes.Add(1)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Subscribe begins to listen. Events from now on are delivered in order. It may be
// called before the client is connected. Close the subscription when done.
func (c *Client) Subscribe(wants Wants) *Subscription {
	q := newQueue(wants)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == closed {
		q.close()
	} else {
		c.subscriptions[q] = struct{}{}
	}
	return &Subscription{queue: q, client: c}
}

// Changes counts the server's reports of windows and sessions that came, went, or got another name or
// pane, and the breaks and repairs of the connection. When Do returns, everything is counted that the
// server reported before it answered: what was asked for before stays true as far as it is about these
// things, if the count is the same after another reply. The ends of programs whose panes remain are not
// reported.
func (c *Client) Changes() uint64 { return c.changes.Load() }

// publish gives the event to all subscriptions.
func (c *Client) publish(event Event) {
	switch event.Kind { //nolint:exhaustive // the others are no such changes
	case Resync, WindowAdd, WindowClose, WindowRenamed, WindowPane, SessionsChanged, SessionRenamed:
		c.changes.Add(1)
	}
	if event.Kind == Unknown {
		c.options.Logger.Debug("tmux said something unknown", "line", event.Text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for q := range c.subscriptions {
		q.push(event)
	}
}

// Close ends our process and waits for it and for everything that was started; the
// server lives on. Calls in flight fail with ErrClosed. When ctx ends first the process is
// killed without waiting for its farewell. It may be called twice.
func (c *Client) Close(ctx context.Context) error {
	defer c.waitBeforeClose(ctx)()
	c.mu.Lock()
	connection := c.connection
	if c.state != closed {
		c.enterLocked(closed, nil)
		close(c.closing)
	}
	for q := range c.subscriptions {
		q.close()
	}
	clear(c.subscriptions)
	c.mu.Unlock()
	if connection != nil {
		connection.close(ctx)
		connection.fail(ErrClosed)
	}
	c.supervisors.Wait()
	return nil
}
