package worker

import (
	"bufio"
	"bytes"
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
)

const (
	// streamSilence is how long a stream may be silent before it counts as broken:
	// three heartbeats of the city.
	streamSilence = 45 * time.Second

	firstPause = 20 * time.Millisecond
	longPause  = 2 * time.Second

	maxStreamLine = 8 << 20
)

var (
	errLeft = errors.New("reader left")
	errEnd  = errors.New("the run has ended")
)

// Messages returns what the city has for this run, for as long as ctx and the run
// last. It connects again after a failure, and goes on behind what it has yielded.
// A message that the city sends again, because it does not know how far it has come,
// is not yielded again by this client; another process of the run may get one that its
// predecessor had, with the same ID. It ends without an error when the run has ended,
// and with one if the city will not have this worker ([ErrUnauthorized], [ErrFenced],
// ...); while the city cannot be reached it keeps trying. It is for one reader at a time.
func (c *Client) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		s := &messages{client: c, yield: yield}
		if err := s.follow(ctx); err != nil {
			yield(Message{}, err)
		}
	}
}

// messages is one reader's way through the stream. It is used by one goroutine.
type messages struct {
	client *Client
	last   uint64
	news   bool // something was yielded since the last connection began
	yield  func(Message, error) bool
}

func (s *messages) follow(ctx context.Context) error {
	pause := firstPause
	for {
		began := time.Now()
		s.news = false
		err := s.read(ctx)
		switch {
		case errors.Is(err, errLeft), errors.Is(err, errEnd), ctx.Err() != nil:
			return nil //nolint:nilerr // the reader has left, or the city has ended the stream
		case final(err):
			return err
		case s.news, time.Since(began) > longPause: // one that breaks at once is not tried again at once
			pause = firstPause
		}
		if !sleep(ctx, pause) {
			return nil
		}
		pause = min(2*pause, longPause)
	}
}

// read reads one connection to its end, which is always an error.
func (s *messages) read(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	silence := time.AfterFunc(streamSilence, cancel)
	defer silence.Stop()
	header := map[string]string{"Accept": "text/event-stream"}
	if s.last > 0 {
		header["Last-Event-ID"] = strconv.FormatUint(s.last, 10)
	}
	res, err := s.client.send(ctx, http.MethodGet, "/stream?run_id="+url.QueryEscape(s.client.RunID), nil, header)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return s.parse(ctx, pulse{res.Body, func() { silence.Reset(streamSilence) }})
}

// pulse is a body that reports each read: a long message may come slowly.
type pulse struct {
	io.Reader
	alive func()
}

func (p pulse) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.alive()
	return n, err
}

// parse reads the text/event-stream format.
func (s *messages) parse(ctx context.Context, body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxStreamLine)
	var kind string
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if err := s.dispatch(ctx, kind, data); err != nil {
				return err
			}
			kind, data = "", nil
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			kind = string(value)
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		default: // the id is in the data too; comments are heartbeats
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the stream broke: %w", err)
	}
	return fmt.Errorf("the stream broke: %w", io.ErrUnexpectedEOF)
}

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
		return fmt.Errorf("the city cut the stream off: %w", io.ErrUnexpectedEOF)
	case EndEvent:
		return errEnd
	}
	var m Message
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("cannot read a message: %w", err)
	}
	s.last = m.Seq
	if taken, err := s.client.applyToken(ctx, m); taken || err != nil {
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

// applyToken uses a new token from now on. It reports whether the message held nothing
// else.
func (c *Client) applyToken(ctx context.Context, m Message) (bool, error) {
	var id Identity
	if m.Kind != IdentityMessage || json.Unmarshal(m.Data, &id) != nil || id.Token == "" {
		return false, nil //nolint:nilerr // what has no token that we can read is left to the reader
	}
	token := string(id.Token)
	c.token.Store(&token)
	if id.Credentials != nil || len(id.Env) > 0 {
		return false, nil
	}
	return true, c.Ack(ctx, Ack{ID: m.ID, State: Consumed})
}

// maxInbox is how many messages are remembered.
const maxInbox = 4096

// inbox knows which messages have come, and what was last said of them. The zero
// value is empty.
type inbox struct {
	mu    sync.Mutex
	acks  map[string]Ack
	order []string
}

// add records a message; seen says that it has come before.
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

// recordAck keeps the last acknowledgement of a message that has come.
func (b *inbox) recordAck(a Ack) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, seen := b.acks[a.ID]; seen {
		b.acks[a.ID] = a
	}
}
