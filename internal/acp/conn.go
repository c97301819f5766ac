package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Handler handles what the other side of a connection (the peer) sends.
type Handler interface {
	// Request answers a request of the peer. It runs in a goroutine of its own. ctx ends with the connection and when the peer
	// cancels the request. An error that is not an [*Error] is sent as an internal error.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)
	// Notification processes a notification. Notifications are processed one after the other, in order. A notification is
	// processed before the result of any call that the peer answered after it.
	Notification(method string, params json.RawMessage)
	// Stray receives a line that is not a message, or the reason why a message was dropped.
	Stray(line string)
}

// Conn is one connection between a client and an agent. It is safe for concurrent use.
type Conn struct {
	lines   *lineReader
	handler Handler

	writing sync.Mutex
	w       io.Writer

	mu     sync.Mutex
	last   int64
	calls  map[string]*Pending           // calls that wait for answers
	served map[string]context.CancelFunc // requests of the peer in progress
	ended  bool

	done chan struct{} // closed when the connection has ended
}

// NewConn returns a connection that reads messages from r and writes them to w. It reads nothing before [Conn.Serve] is called.
func NewConn(r io.Reader, w io.Writer, handler Handler) *Conn {
	return &Conn{
		lines: newLineReader(r, MaxLine), w: w, handler: handler,
		calls: map[string]*Pending{}, served: map[string]context.CancelFunc{}, done: make(chan struct{}),
	}
}

// Serve reads and handles messages until the end of the input, for which it returns nil, or until a read fails. It returns when
// every request of the peer has been answered.
func (c *Conn) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var requests sync.WaitGroup
	defer requests.Wait()
	defer cancel()
	defer c.end()
	for {
		line, err := c.lines.next()
		var long *LongLineError
		switch {
		case errors.As(err, &long):
			c.handler.Stray(long.Error())
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		all, err := parse(line)
		if err != nil || len(all) == 0 {
			c.handler.Stray(string(line))
			continue
		}
		for _, m := range all {
			c.handleMessage(ctx, &requests, m)
		}
	}
}

// handleMessage handles one message of the peer: a request, in a new goroutine; the cancellation of a request; a notification; or
// an answer.
func (c *Conn) handleMessage(ctx context.Context, requests *sync.WaitGroup, m message) {
	switch {
	case m.Method != "" && m.ID != nil:
		asked, cancel := context.WithCancel(ctx)
		key := idKey(m.ID)
		c.mu.Lock()
		c.served[key] = cancel
		c.mu.Unlock()
		requests.Go(func() {
			defer cancel()
			c.answer(asked, m)
			c.mu.Lock()
			delete(c.served, key)
			c.mu.Unlock()
		})
	case m.Method == MethodCancelRequest:
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			c.mu.Lock()
			if cancel := c.served[idKey(p.ID)]; cancel != nil {
				cancel()
			}
			c.mu.Unlock()
		}
	case m.Method != "":
		c.handler.Notification(m.Method, m.Params)
	default:
		c.resolve(m)
	}
}

// answer handles one request of the peer and writes the answer. It ignores an error of the write, because the next read then
// fails too.
func (c *Conn) answer(ctx context.Context, m message) {
	reply := message{Version: rpcVersion, ID: m.ID}
	result, err := c.handler.Request(ctx, m.Method, m.Params)
	if err == nil {
		reply.Result, err = json.Marshal(result)
	}
	if err != nil {
		reply.Result = nil
		if !errors.As(err, &reply.Error) {
			reply.Error = &Error{Code: CodeInternal, Message: err.Error()}
		}
	}
	_ = c.write(reply) // after an error, the next read fails too
}

// resolve passes the answer of the peer to the call that waits for it.
func (c *Conn) resolve(m message) {
	key := idKey(m.ID)
	c.mu.Lock()
	p := c.calls[key]
	delete(c.calls, key)
	c.mu.Unlock()
	if p == nil {
		if m.Error != nil {
			c.handler.Stray("the agent sent an error for an unknown request: " + m.Error.Error())
		}
		return
	}
	if m.Error != nil {
		p.err = m.Error
	} else {
		p.result = m.Result
	}
	close(p.answered)
}

// end ends the connection. All calls that wait for an answer get the error ErrClosed.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, p := range c.calls {
		p.err = ErrClosed
		close(p.answered)
	}
	c.calls = nil
	close(c.done)
}

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// write writes one message as one line.
func (c *Conn) write(m message) error {
	line, err := encode(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.w.Write(line); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

// encode returns a message as one line of JSON.
func encode(m message) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}

// Notify sends a notification to the peer.
func (c *Conn) Notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.write(message{Version: rpcVersion, Method: method, Params: raw})
}

// Pending is a request to the peer that has no answer yet.
type Pending struct {
	answered chan struct{}
	result   json.RawMessage
	err      error
}

// Start sends a request and does not wait for the answer. If it returns an error, the peer did not get the whole request.
func (c *Conn) Start(method string, params any) (*Pending, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	p := &Pending{answered: make(chan struct{})}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.last++
	id := strconv.FormatInt(c.last, 10)
	c.calls[id] = p
	c.mu.Unlock()
	if err := c.write(message{Version: rpcVersion, ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		return nil, err
	}
	return p, nil
}

// Answered returns a channel that is closed when the answer is there or the connection has ended.
func (p *Pending) Answered() <-chan struct{} { return p.answered }

// Result decodes the answer into result, which may be nil, or returns the error in the answer. Call it only after the channel of
// Answered is closed.
func (p *Pending) Result(result any) error {
	switch {
	case p.err != nil:
		return p.err
	case result == nil || isNull(p.result):
		return nil
	}
	if err := json.Unmarshal(p.result, result); err != nil {
		return fmt.Errorf("the agent's answer cannot be read: %w", err)
	}
	return nil
}

// Call sends a request, waits for the answer and decodes it into result, which may be nil.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Start(method, params)
	if err != nil {
		return err
	}
	select {
	case <-p.answered:
		return p.Result(result)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
