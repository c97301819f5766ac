package tmux

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// controlClient is one control client of one server: it implements the protocol of the control mode and nothing else. It runs one
// client process, sends any number of commands at the same time, and receives the notifications of the server. All methods may
// be called concurrently.
//
// A controlClient belongs to one socket path. Start connects to the server or starts it. Attach and the first Do connect
// only to a running server. The server continues to run when the client exits: Close stops the client process, never the
// server.
//
// The client is attached to a session of its own, the hub. tmux sends to a control client only the output of windows of
// its session. To receive the output of a window, link it into the hub: see [hub].
//
// # Lost connections and servers
//
// If the client process exits and the server still runs, the client connects again, and each
// subscription gets one [eventResync]. Commands in flight fail with [errInterrupted]: whether the server ran them is unknown. If the
// server exits, each subscription gets one [eventServerLost], and every call fails with [errServerLost] until somebody calls Start or
// Attach. The client compares pid and start time, so it detects another server at the same path.
//
// # Text that looks like the protocol
//
// Programs in panes can print text that looks like the protocol. Therefore the client does not recognize the end of a reply by
// its text alone. It sends a fence after each command: a command that prints a random token.
type controlClient struct {
	// Constant after construction.
	options clientOptions
	// gate has capacity one. The goroutine that has put a value in may connect.
	gate chan struct{}
	// closing is closed by Close.
	closing chan struct{}
	// changes is the result of Changes.
	changes atomic.Uint64
	// supervisors are the goroutines that run supervise.
	supervisors sync.WaitGroup

	mu sync.Mutex
	// state and changed are guarded by mu. changed is closed and replaced with each new state.
	state   clientState
	changed chan struct{}
	// connection is set while connected. Guarded by mu.
	connection *connection
	// known is the server, valid while connected or reconnecting. Guarded by mu.
	known    serverProcess
	features serverFeatures
	// lostReason is the error of calls in the state serverLost. Guarded by mu.
	lostReason error
	// lossExpected: the loss of the known server is logged as debug only. Guarded by mu.
	lossExpected bool
	// subscriptions are guarded by mu.
	subscriptions map[*subscription]struct{}
}

// clientState is the state of the connection of a controlClient.
type clientState uint8

const (
	// neverConnected: the client has not connected yet.
	neverConnected clientState = iota
	// connected: the connection works.
	connected
	// reconnecting: the connection broke. It is not known yet whether the server still runs.
	reconnecting
	// serverLost: the server has exited.
	serverLost
	// closed: Close was called.
	closed
)

// newControlClient returns a client that is not connected. It does no I/O. Errors: errSocketPath.
func newControlClient(options clientOptions) (*controlClient, error) {
	if err := checkSocketPath(options.Socket); err != nil {
		return nil, err
	}
	return &controlClient{
		options:       options,
		gate:          make(chan struct{}, 1),
		closing:       make(chan struct{}),
		changed:       make(chan struct{}),
		subscriptions: map[*subscription]struct{}{},
	}, nil
}

// Start connects to the server that listens at the socket, or starts one. It replaces a stale socket and never a live one.
// If two processes call Start at the same time, both get the same server. Start returns when the server answers commands,
// and returns at once if the client is connected. After errServerLost it connects to a new server.
// Errors: errNoTmux, errTooOld, errSocketPath, errClosed, the cause of ctx, or the message of tmux.
func (c *controlClient) Start(ctx context.Context) (serverProcess, error) {
	return c.connect(ctx, mayStart)
}

// Attach connects to the server that listens at the socket. It starts no server and returns errNoServer if none
// listens. Other errors are those of Start.
func (c *controlClient) Attach(ctx context.Context) (serverProcess, error) {
	return c.connect(ctx, mustListen)
}

// Do sends a command and returns its reply. Any number of goroutines may call Do. If the error is a *commandError, the reply has
// the output of the commands of a [sequence] that succeeded.
//
// If the client was never connected, Do connects to a running server. While the client is reconnecting, Do waits until
// ctx ends. If ctx ends after the command was sent, the server may still run it. Do not send commands that
// wait (run-shell and if-shell without -b, wait-for, display-popup): they block all callers.
//
// Errors: *commandError, errWord, errNoServer, errServerLost, errInterrupted, errBusy, errNoTmux,
// errClosed, the cause of ctx.
func (c *controlClient) Do(ctx context.Context, command tmuxCommand) (tmuxReply, error) {
	if _, err := command.Line(); err != nil {
		return tmuxReply{}, err
	}
	for {
		connection, err := c.ready(ctx)
		if err != nil {
			return tmuxReply{}, err
		}
		unlock, err := c.lockForCommand(ctx, command)
		if err != nil {
			return tmuxReply{}, err
		}
		reply, err := connection.ask(ctx, command)
		unlock()
		if !errors.Is(err, errNotSent) {
			return reply, err
		}
		if err := c.waitForBreak(ctx, connection); err != nil {
			return tmuxReply{}, err
		}
	}
}

// Output calls Do and returns the output.
func (c *controlClient) Output(ctx context.Context, command tmuxCommand) ([]byte, error) {
	reply, err := c.Do(ctx, command)
	if err != nil {
		return nil, err
	}
	return reply.Output, nil
}

// ExpectLoss announces that the caller is about to stop the known server. The loss is published as usual, but logged
// as debug and not as a warning. This applies until the client connects again.
func (c *controlClient) ExpectLoss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lossExpected = true
}

// Server returns the server that this client is connected to, and its features. It sends no command. ok is false before
// the first connection and after the server is lost.
func (c *controlClient) Server() (server serverProcess, features serverFeatures, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != connected && c.state != reconnecting {
		return serverProcess{}, serverFeatures{}, false
	}
	return c.known, c.features, true
}

// ready returns the current connection. It connects if the client was never connected, and waits while the client is
// reconnecting.
func (c *controlClient) ready(ctx context.Context) (*connection, error) {
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
			return nil, errClosed
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

// waitForBreak waits until broken is no longer the client's current connection.
func (c *controlClient) waitForBreak(ctx context.Context, broken *connection) error {
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

// enterLocked sets the state and wakes the waiters. connection is nil in all states except connected.
func (c *controlClient) enterLocked(state clientState, connection *connection) {
	c.state, c.connection = state, connection
	c.changes.Add(1)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Subscribe returns a subscription that gets all later events in order. It may be called before the client is
// connected. The caller must close the subscription.
func (c *controlClient) Subscribe() *subscription {
	s := &subscription{client: c, wake: make(chan struct{}, 1), outputs: map[string]*controlEvent{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == closed {
		s.end()
	} else {
		c.subscriptions[s] = struct{}{}
	}
	return s
}

// Changes returns a counter of changes. It counts the server's notifications about windows and sessions that were created,
// closed or renamed, and about changes of a window's active pane. It also counts each change of the connection's state, and each
// call of [tmuxServer.InvalidateSessions].
//
// When Do returns, Changes has counted every notification that the server sent before its reply. So a cached result is
// still valid if the counter has the same value after another reply. The server does not report a program that exits while
// its pane remains.
func (c *controlClient) Changes() uint64 { return c.changes.Load() }

// publish sends the event to all subscriptions and updates the counter of Changes.
func (c *controlClient) publish(event controlEvent) {
	switch event.Kind { //nolint:exhaustive // other kinds do not count as changes
	case eventResync, eventWindowAdd, eventWindowClose, eventWindowRenamed, eventWindowPane, eventSessionsChanged, eventSessionRenamed:
		c.changes.Add(1)
	}
	if event.Kind == eventOther {
		c.options.Logger.Debug("ignored a notification of tmux", "line", event.Text)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.subscriptions {
		s.push(event)
	}
}

// Close stops the client process and waits for it and for the client's goroutines. The server continues to run. Calls in
// flight fail with errClosed. If ctx ends first, Close kills the process. Close may be called twice.
func (c *controlClient) Close(ctx context.Context) error {
	defer c.lockForClose(ctx)()
	c.mu.Lock()
	connection := c.connection
	if c.state != closed {
		c.enterLocked(closed, nil)
		close(c.closing)
	}
	for s := range c.subscriptions {
		s.end()
	}
	clear(c.subscriptions)
	c.mu.Unlock()
	if connection != nil {
		connection.close(ctx)
		connection.fail(errClosed)
	}
	c.supervisors.Wait()
	return nil
}
