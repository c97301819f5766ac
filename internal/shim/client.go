package shim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/internal/httpwire"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
)

// Client sends requests to the shim of one instance. It is safe for concurrent use. Every method returns [ErrNoShim] when the
// shim has exited, and [ErrStale] when the session now belongs to another instance. In both cases the shim did nothing, unless
// the error also matches [ErrDisconnected].
type Client struct {
	name  string
	dir   statedir.Folder
	token string
	http  *http.Client
}

// newClient returns a client for the session in dir. It connects when it is used.
func newClient(name string, dir statedir.Folder, token string) *Client {
	var dialer net.Dialer
	return &Client{name: name, dir: dir, token: token, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", dir.Sock())
		},
		MaxIdleConnsPerHost: 2, IdleConnTimeout: 15 * time.Second, DisableCompression: true,
	}}}
}

// Token returns the instance token that the client sends with each request.
func (c *Client) Token() string { return c.token }

// State returns the current state of the session.
func (c *Client) State(ctx context.Context) (State, error) {
	var s State
	err := c.call(ctx, http.MethodGet, "/state", nil, &s)
	return s, err
}

// Frame returns the newest frame whose number is greater than after. It waits until there is such a frame or the agent has
// exited.
func (c *Client) Frame(ctx context.Context, after uint64) (Frame, error) {
	var f Frame
	err := c.call(ctx, http.MethodGet, "/frame?after="+strconv.FormatUint(after, 10), nil, &f)
	return f, err
}

// Text returns the last n lines of output; n <= 0 returns all lines.
func (c *Client) Text(ctx context.Context, n int) (string, error) {
	var t textResult
	err := c.call(ctx, http.MethodGet, "/text?lines="+strconv.Itoa(n), nil, &t)
	return t.Text, err
}

// Send writes p to the agent's input in one piece.
func (c *Client) Send(ctx context.Context, p []byte) error {
	return c.input(ctx, "/input", p)
}

func (c *Client) input(ctx context.Context, path string, p []byte) error {
	return c.do(ctx, http.MethodPost, path, bytes.NewReader(p), nil)
}

// Answered increments the count of answered questions. last holds the names of the last answered questions and replaces
// [State.Last].
func (c *Client) Answered(ctx context.Context, last []string) error {
	return c.call(ctx, http.MethodPost, "/answered", last, nil)
}

// Keys sends key events by their tmux names. For an unknown name it returns an error and sends nothing.
func (c *Client) Keys(ctx context.Context, names []string) error {
	return c.call(ctx, http.MethodPost, "/keys", names, nil)
}

// Interrupt sends Ctrl-C to the terminal, or SIGINT if the session has no terminal.
func (c *Client) Interrupt(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/interrupt", nil, nil)
}

// Resize sets the size of the terminal. The size changes again when a viewer that may type attaches, resizes or leaves.
func (c *Client) Resize(ctx context.Context, cols, rows int) error {
	return c.call(ctx, http.MethodPost, "/resize", resizeRequest{cols, rows}, nil)
}

// Clear deletes the scrollback.
func (c *Client) Clear(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/clear", nil, nil)
}

// StartSuccessor stops the agent and starts argv in its place. grace is the time between SIGTERM and SIGKILL. If next is a new
// instance, the shim begins to refuse requests with the previous instance token before the new agent starts, so this client cannot
// be used any more.
func (c *Client) StartSuccessor(ctx context.Context, argv []string, grace time.Duration, next Successor) error {
	return c.call(ctx, http.MethodPost, "/succeed", relaunchRequest{argv, grace, next}, nil)
}

// SetAgent sets which process of the tree is the agent's process.
func (c *Client) SetAgent(ctx context.Context, id proc.ID) error {
	return c.call(ctx, http.MethodPut, "/agent", id, nil)
}

// SetHints replaces the [Hints] in the session's record.
func (c *Client) SetHints(ctx context.Context, hints Hints) error {
	return c.call(ctx, http.MethodPut, "/hints", hints, nil)
}

// Meta returns the value of key and reports whether it is set.
func (c *Client) Meta(ctx context.Context, key string) (value string, set bool, err error) {
	var v metaValue
	err = c.call(ctx, http.MethodGet, "/meta?key="+url.QueryEscape(key), nil, &v)
	return v.Value, v.Set, err
}

// SetMeta stores value under key.
func (c *Client) SetMeta(ctx context.Context, key, value string) error {
	return c.call(ctx, http.MethodPut, "/meta?key="+url.QueryEscape(key), metaValue{Value: value}, nil)
}

// RemoveMeta removes key.
func (c *Client) RemoveMeta(ctx context.Context, key string) error {
	return c.do(ctx, http.MethodDelete, "/meta?key="+url.QueryEscape(key), nil, nil)
}

// stop stops all processes of the session. The shim exits afterwards, unless a process survived.
func (c *Client) stop(ctx context.Context, grace time.Duration) (StopReport, error) {
	var r StopReport
	err := c.call(ctx, http.MethodPost, "/stop", stopRequest{grace}, &r)
	return r, err
}

func (c *Client) release(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/release", nil, nil)
}

// Events calls the function each for every event until ctx ends or the shim closes the stream. It returns [ErrNoShim] when the stream was
// closed.
func (c *Client) Events(ctx context.Context, each func(Event)) error {
	resp, err := c.request(ctx, http.MethodGet, "/events", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var bad error
	_ = httpwire.ReadEvents(resp.Body, func(_ string, data []byte) error {
		var e Event
		if bad = json.Unmarshal(data, &e); bad == nil {
			each(e)
		}
		return bad
	}) // it returns bad, or that the stream has ended
	switch {
	case bad != nil:
		return fmt.Errorf("cannot read an event of session %q: %w", c.name, bad)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ErrNoShim
}

// Attach opens a viewer's connection. The caller reads and writes
// [AttachMessage]s on it and closes it.
func (c *Client) Attach(ctx context.Context, req AttachRequest) (net.Conn, error) {
	return c.upgrade(ctx, "/attach", req)
}

// upgrade sends a request that switches the connection to messages, and returns the connection.
func (c *Client) upgrade(ctx context.Context, path string, req any) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", c.dir.Sock())
	if err != nil {
		return nil, c.unreachable(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // unblocks reads and writes on the connection
	defer stop()
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://shim"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	buf := bufio.NewReader(conn)
	if err := r.Write(conn); err != nil {
		return nil, errors.Join(c.unreachable(err), conn.Close())
	}
	resp, err := http.ReadResponse(buf, r)
	if err != nil {
		return nil, errors.Join(c.unreachable(err), conn.Close())
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		err := c.problem(resp)
		return nil, errors.Join(err, resp.Body.Close(), conn.Close())
	}
	return &bufferedConn{Conn: conn, buf: buf}, nil
}

// bufferedConn reads first the bytes that were buffered together with the response to the request.
type bufferedConn struct {
	net.Conn
	buf *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.buf.Read(p) }

// call sends body as JSON, unless it is nil, and decodes the response into v.
func (c *Client) call(ctx context.Context, method, path string, body, v any) error {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(b)
	}
	return c.do(ctx, method, path, r, v)
}

// do makes one request and decodes the response into v. A nil v ignores the response.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader, v any) error {
	resp, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if v == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		return c.unreachable(err)
	}
	return nil
}

// request sends one request and returns the response. An error status is returned as an error.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://shim"+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, c.unreachable(err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, c.problem(resp)
	}
	return resp, nil
}

// The texts of errors of package net/http that have no exported values: the server, or [Fleet.drop], closed an idle connection
// that was about to be used again.
const (
	closedIdle  = "server closed idle connection"
	droppedIdle = "CloseIdleConnections called"
)

// unreachable explains why a call failed: with [ErrNoShim] if the connection could not be opened because no process listens on
// the socket, with ErrNoShim and [ErrDisconnected] if an open connection ended, and otherwise with err.
func (c *Client) unreachable(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)) {
		return fmt.Errorf("session %q: %w", c.name, ErrNoShim)
	}
	ended := strings.Contains(err.Error(), closedIdle) || strings.Contains(err.Error(), droppedIdle)
	for _, gone := range []error{syscall.ECONNREFUSED, syscall.ENOENT, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		ended = ended || errors.Is(err, gone)
	}
	if ended {
		return fmt.Errorf("session %q: %w, %w", c.name, ErrNoShim, ErrDisconnected)
	}
	return fmt.Errorf("session %q: its shim does not answer: %w", c.name, err)
}

// problem converts a response of the shim with an error status into an error that matches the same sentinel as in the
// shim.
func (c *Client) problem(resp *http.Response) error {
	var p problem
	if resp.StatusCode == http.StatusNotFound {
		return fmt.Errorf("session %q: its shim is of an earlier release: %w", c.name, errors.ErrUnsupported)
	}
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		return fmt.Errorf("session %q: its shim answered %s", c.name, resp.Status)
	}
	switch p.Code {
	case codeStale:
		return fmt.Errorf("session %q: %w", c.name, ErrStale)
	case codeExited:
		return fmt.Errorf("session %q: %w", c.name, ErrExited)
	case codeTouched:
		return fmt.Errorf("session %q: %w", c.name, inject.ErrTouched)
	case codeChanged:
		return fmt.Errorf("session %q: %w", c.name, inject.ErrChanged)
	case codeUnsupported:
		return &unsupportedError{p.Detail}
	default:
		return fmt.Errorf("session %q: %s", c.name, p.Detail)
	}
}

// unsupportedError is an error of the shim that matches [errors.ErrUnsupported].
type unsupportedError struct{ detail string }

func (e *unsupportedError) Error() string { return e.detail }
func (e *unsupportedError) Unwrap() error { return errors.ErrUnsupported }
