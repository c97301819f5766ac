package tmux

import (
	"context"
	"errors"
)

// PauseOutput pauses a pane for this client until resume is called. The server sends no output of the pane, and when
// PauseOutput returns, no output of the pane waits in the server for this client. The output during the pause is lost to
// this client, and resume publishes an eventOutput with Gap. If the server does not support pauses, PauseOutput does
// nothing. Errors are those of Do.
//
// A caller that starts another program in a pane (respawn-pane) must pause the pane first. Otherwise tmux 3.3a crashes if
// a control client has not read all output of the previous program.
func (c *controlClient) PauseOutput(ctx context.Context, pane string) (resume func(), err error) {
	connection, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	if !connection.canPause.Load() {
		return func() {}, nil
	}
	connection.addPause(pane, 1)
	resume = func() {
		connection.addPause(pane, -1)
		if connection.isPaused(pane) {
			return // another caller has paused it too
		}
		_ = connection.send(toEach([]string{pane}, "continue")...) // an error means that the connection is broken: nothing to continue
		connection.publishEvent(controlEvent{Kind: eventOutput, Pane: pane, Gap: true})
	}
	// The first command drops the waiting output. Before the server replies to the second one, it updates the positions of
	// its clients in the output.
	for _, command := range []tmuxCommand{cmd("refresh-client", "-A", pane+":pause"), cmd("display-message", "-p", ".")} {
		if _, err = connection.ask(ctx, command); err != nil {
			break
		}
	}
	if errors.Is(err, errNotSent) {
		err = errInterrupted
	}
	if err != nil {
		resume()
		return nil, err
	}
	return resume, nil
}

// addPause adds by to the number of callers that have paused the pane.
func (c *connection) addPause(pane string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauseCounts == nil {
		c.pauseCounts = map[string]int{}
	}
	if c.pauseCounts[pane] += by; c.pauseCounts[pane] <= 0 {
		delete(c.pauseCounts, pane)
	}
}

// isPaused reports whether a caller of PauseOutput has paused the pane.
func (c *connection) isPaused(pane string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauseCounts[pane] > 0
}
