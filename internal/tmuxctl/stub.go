package tmuxctl

import (
	"context"
	"errors"
)

var errStub = errors.New("not written yet")

type queue struct{}

func (q *queue) next(context.Context) (Event, error) { return Event{}, errStub }
func (q *queue) close()                              {}

// Client is one control client of one server. All methods may be called concurrently.
type Client struct{ options Options }

func newClient(options Options) (*Client, error) {
	if options.Hub == "" {
		options.Hub = "gc-hub"
	}
	return &Client{options: options}, nil
}
func (c *Client) start(context.Context) (Server, error)  { return Server{}, errStub }
func (c *Client) attach(context.Context) (Server, error) { return Server{}, errStub }
func (c *Client) do(_ context.Context, commands []Command) ([]Reply, error) {
	return make([]Reply, len(commands)), errStub
}
func (c *Client) subscribe(Wants) *Subscription                         { return &Subscription{queue: &queue{}} }
func (c *Client) serverNow() (Server, Features, bool)                   { return Server{}, Features{}, false }
func (c *Client) signal(string) Command                                 { return Command{err: errStub} }
func (c *Client) monitor(context.Context, string, string, string) error { return errStub }
func (c *Client) unmonitor(context.Context, string) error               { return errStub }
func (c *Client) loadBuffer(context.Context, []byte) (string, error)    { return "", errStub }
func (c *Client) close(context.Context) error                           { return errStub }
func command(string, []string) Command                                  { return Command{err: errStub} }
func sequence([]Command) Command                                        { return Command{err: errStub} }
func conditional(string, string, Command, Command) Command              { return Command{err: errStub} }
func literal(string) string                                             { return "" }
func splitLines([]byte) []string                                        { return nil }
