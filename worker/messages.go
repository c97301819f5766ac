package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"gascity/internal/httpwire"
)

const (
	firstPause = 20 * time.Millisecond
	longPause  = 2 * time.Second
)

var (
	errLeft = errors.New("reader left")
	errEnd  = errors.New("the run has ended")
)

// Messages returns the messages of the city for this run, until ctx or the run ends. It connects
// again after a failure and continues after the last message. If the city sends a message again
// because it has no acknowledgment, this client does not yield it a second time. Another process of
// the run may get a message, with the same ID, that an earlier process had. The sequence ends
// without an error when the run has ended, and with an error if the city refuses this worker
// ([ErrUnauthorized], [ErrFenced] and others). While the city cannot be reached it keeps trying.
// Only one reader may use it at a time.
func (c *Client) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		s := &messages{client: c, yield: yield}
		if err := s.follow(ctx); err != nil {
			yield(Message{}, err)
		}
	}
}

// messages is one reader of the stream. Only one goroutine uses it.
type messages struct {
	client *Client
	last   uint64
	news   bool // a message was yielded on this connection
	yield  func(Message, error) bool
}

// follow reads the stream of messages and connects again when it breaks, with growing pauses. It returns nil when the
// caller has left the loop, the city has ended the stream or ctx has ended, and the error if trying again cannot help.
func (s *messages) follow(ctx context.Context) error {
	pause := firstPause
	for {
		began := time.Now()
		s.news = false
		err := s.read(ctx)
		switch {
		case errors.Is(err, errLeft), errors.Is(err, errEnd), ctx.Err() != nil:
			return nil //nolint:nilerr // the caller has left the loop, or the city has ended the stream
		case final(err):
			return err
		case s.news, time.Since(began) > longPause: // a connection that breaks at once is tried again only after a pause
			pause = firstPause
		}
		if !httpwire.Pause(ctx, pause) {
			return nil
		}
		pause = min(2*pause, longPause)
	}
}

// read reads one connection until it ends. It always returns an error.
func (s *messages) read(ctx context.Context) error {
	return httpwire.ReadStream(ctx, s.open, func(kind string, data []byte) error { return s.dispatch(ctx, kind, data) })
}

// open requests the messages after the last one that was read.
func (s *messages) open(ctx context.Context) (*http.Response, error) {
	header := map[string]string{"Accept": httpwire.EventStream}
	if s.last > 0 {
		header["Last-Event-ID"] = strconv.FormatUint(s.last, 10)
	}
	return s.client.send(ctx, http.MethodGet, "/stream?run_id="+url.QueryEscape(s.client.RunID), nil, header)
}

// dispatch handles one event of the stream. An ordinary message is passed to the caller; the other kinds report a gap,
// a reader that is too slow, or the end of the stream.
func (s *messages) dispatch(ctx context.Context, kind string, data []byte) error {
	switch kind {
	case "":
		return nil
	case GapEvent:
		var gap Gap
		if err := json.Unmarshal(data, &gap); err != nil {
			return fmt.Errorf("cannot read a gap in the stream: %w", err)
		}
		s.last = max(gap.Next, 1) - 1
		return nil
	case LaggedEvent:
		return fmt.Errorf("the city closed the stream because this reader was too slow: %w", io.ErrUnexpectedEOF)
	case EndEvent:
		return errEnd
	}
	var m Message
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("cannot read a message: %w", err)
	}
	s.last = m.Seq
	if done, err := s.client.applyToken(ctx, m); done || err != nil {
		return err
	}
	if ack, seen := s.client.inbox.add(m.ID); seen {
		if ack.State != "" {
			return s.client.Ack(ctx, ack)
		}
		return nil
	}
	s.news = true
	if !s.yield(m, nil) {
		return errLeft
	}
	return nil
}

// applyToken uses a new token from now on. It returns true if the message contained nothing else.
func (c *Client) applyToken(ctx context.Context, m Message) (bool, error) {
	var id Identity
	if m.Kind != IdentityMessage || json.Unmarshal(m.Data, &id) != nil || id.Token == "" {
		return false, nil //nolint:nilerr // the reader gets a message without a readable token
	}
	token := string(id.Token)
	c.token.Store(&token)
	if id.Credentials != nil || len(id.Env) > 0 {
		return false, nil
	}
	return true, c.Ack(ctx, Ack{ID: m.ID, State: Consumed})
}

// maxInbox is the maximum number of remembered messages.
const maxInbox = 4096

// inbox remembers the received messages and their last acknowledgments. The zero value is empty.
type inbox struct {
	mu    sync.Mutex
	acks  map[string]Ack
	order []string
}

// add records a message. seen reports that it was received before; ack is then its last
// acknowledgment.
func (b *inbox) add(id string) (ack Ack, seen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ack, seen = b.acks[id]; seen || id == "" {
		return ack, seen
	}
	if b.acks == nil {
		b.acks = map[string]Ack{}
	}
	b.acks[id] = Ack{}
	if b.order = append(b.order, id); len(b.order) > maxInbox {
		delete(b.acks, b.order[0])
		b.order = b.order[1:]
	}
	return Ack{}, false
}

// recordAck stores the last acknowledgment of a received message.
func (b *inbox) recordAck(a Ack) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, seen := b.acks[a.ID]; seen {
		b.acks[a.ID] = a
	}
}
