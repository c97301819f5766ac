package control

import (
	"context"
	"errors"
)

// PauseOutput pauses a pane for this client until resume is called: the server sends none of its output, and
// nothing of it waits for this client when Quiet returns. Whatever starts another program in a pane
// (respawn-pane) does so within Quiet: tmux 3.3a goes on with its place in the output of the previous
// program where a control client had not read all of that, and crashes. The output of the meantime is
// lost to this client; an event with Gap says so. A server without pauses needs none, and there it
// does nothing. Errors as for Do.
func (c *Client) PauseOutput(ctx context.Context, pane string) (resume func(), err error) {
	connection, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	if !connection.canPause.Load() {
		return func() {}, nil
	}
	connection.pauseOutput(pane, 1)
	resume = func() {
		connection.pauseOutput(pane, -1)
		if connection.isPaused(pane) {
			return // somebody else has quieted it too
		}
		_ = connection.send(nil, toEach([]string{pane}, "continue")...) // a broken connection needs none
		connection.publishEvent(Event{Kind: Output, Pane: pane, Gap: true})
	}
	// The server drops what waits when it pauses, and looks at what its clients have read before it
	// answers the second.
	for _, command := range []Command{toEach([]string{pane}, "pause")[0], Cmd("display-message", "-p", ".")} {
		if _, err = connection.request(ctx, command); err != nil {
			break
		}
	}
	if errors.Is(err, errNotSent) {
		err = ErrInterrupted
	}
	if err != nil {
		resume()
		return nil, err
	}
	return resume, nil
}

// pauseOutput counts who wants a pane quiet.
func (c *connection) pauseOutput(pane string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauseCounts == nil {
		c.pauseCounts = map[string]int{}
	}
	if c.pauseCounts[pane] += by; c.pauseCounts[pane] <= 0 {
		delete(c.pauseCounts, pane)
	}
}

// isPaused reports whether somebody wants a pane quiet.
func (c *connection) isPaused(pane string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauseCounts[pane] > 0
}
