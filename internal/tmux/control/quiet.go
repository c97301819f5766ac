package control

import (
	"context"
	"errors"
)

// Quiet pauses a pane for this client until resume is called: the server sends none of its output, and
// nothing of it waits for this client when Quiet returns. Whatever starts another program in a pane
// (respawn-pane) does so within Quiet: tmux 3.3a goes on with its place in the output of the previous
// program where a control client had not read all of that, and crashes. The output of the meantime is
// lost to this client; an event with Gap says so. A server without pauses needs none, and there it
// does nothing. Errors as for Do.
func (c *Client) Quiet(ctx context.Context, pane string) (resume func(), err error) {
	connection, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	if !connection.canPause.Load() {
		return func() {}, nil
	}
	connection.quiet(pane, 1)
	resume = func() {
		connection.quiet(pane, -1)
		if connection.isQuiet(pane) {
			return // somebody else has quieted it too
		}
		_ = connection.send(nil, toEach([]string{pane}, "continue")...) // a broken connection needs none
		connection.tell(Event{Kind: Output, Pane: pane, Gap: true})
	}
	// The server drops what waits when it pauses, and looks at what its clients have read before it
	// answers the second.
	for _, command := range []Command{toEach([]string{pane}, "pause")[0], Cmd("display-message", "-p", ".")} {
		if _, err = connection.ask(ctx, command); err != nil {
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

// quiet counts who wants a pane quiet.
func (c *connection) quiet(pane string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quieted == nil {
		c.quieted = map[string]int{}
	}
	if c.quieted[pane] += by; c.quieted[pane] <= 0 {
		delete(c.quieted, pane)
	}
}

// isQuiet reports whether somebody wants a pane quiet.
func (c *connection) isQuiet(pane string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quieted[pane] > 0
}
