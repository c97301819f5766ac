package shim

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// The kinds of messages of a screen stream, in the form of [AttachMessage]. The client asks for each frame; it gets one answer
// for each request, as soon as the screen has changed since the last frame.
const (
	streamNext  AttachKind = 'n' // the client requests the next frame
	streamFrame AttachKind = 'f' // columns and rows, two bytes each, and output for a terminal of that size
	streamEnd   AttachKind = 'x' // as streamFrame, and the agent has exited: the last message
)

// StreamRequest is the body of POST /terminal.
type StreamRequest struct {
	Type bool `json:"type"` // the client may type, and counts as attached
}

// stream answers requests for frames until the client disconnects or the agent has exited. It never changes the size of the
// terminal.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	var req StreamRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&req); err != nil {
		fail(w, http.StatusBadRequest, codeInvalid, err.Error())
		return
	}
	h := s.host
	screen, ok := h.screen()
	if !ok {
		fail(w, http.StatusNotImplemented, codeUnsupported, "the session has no terminal")
		return
	}
	h.mu.Lock()
	run, exited := h.run, h.exit != nil
	h.mu.Unlock()
	if exited {
		fail(w, http.StatusGone, codeExited, ErrExited.Error())
		return
	}
	conn, buf := upgrade(w, "gc-terminal")
	if conn == nil {
		return
	}
	defer conn.Close()
	if req.Type {
		h.addTypist(1)
		defer h.addTypist(-1)
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	asked := make(chan struct{}, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer cancel()
		for {
			m, err := ReadAttachMessage(buf)
			if err != nil {
				return
			}
			if m.Kind == streamNext {
				select {
				case asked <- struct{}{}:
				default: // a client asks once for each frame
				}
			}
		}
	})
	h.sendFrames(ctx, conn, screen, run, asked)
	_ = conn.Close() // stops the reader
	reader.Wait()
}

// addTypist changes the number of streams that may type.
func (h *host) addTypist(change int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typists += change
	h.bumpLocked()
	h.events.publish(Event{Kind: EventAttached, Time: time.Now(), Attached: h.attachedLocked()})
}

// sendFrames sends one frame for each value of asked until ctx ends or the agent of run has exited.
func (h *host) sendFrames(ctx context.Context, conn net.Conn, screen *vt.Screen, run *run, asked <-chan struct{}) {
	var renderer vt.Renderer
	var cols, rows int
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-asked:
		case <-ctx.Done():
			return
		}
		for sent := false; !sent; {
			select {
			case <-gap.C:
			case <-ctx.Done():
				return
			}
			h.mu.Lock()
			changed, ended := h.changed, h.exit != nil || h.run != run
			pace := frameGap * time.Duration(1+len(h.viewers)/4)
			payload := make([]byte, 4)
			oldCols, oldRows := cols, rows
			cols, rows = screen.Size()
			if oldCols == 0 {
				payload = append(payload, vt.RendererBegin...)
			}
			if !ended || h.run == run {
				payload = append(payload, renderer.Frame(screen, cols, rows)...)
			}
			h.mu.Unlock()
			gap.Reset(pace)
			if len(payload) == 4 && cols == oldCols && rows == oldRows && !ended {
				select {
				case <-changed:
				case <-ctx.Done():
					return
				}
				continue
			}
			binary.BigEndian.PutUint16(payload, uint16(cols))     //nolint:gosec // at most maxSide
			binary.BigEndian.PutUint16(payload[2:], uint16(rows)) //nolint:gosec // at most maxSide
			m := AttachMessage{Kind: streamFrame, Payload: payload}
			if ended {
				m.Kind = streamEnd
			}
			if _, err := m.WriteTo(conn); err != nil || ended {
				return
			}
			sent = true
		}
	}
}

// serveType writes input that a person typed in another program than a viewer of this shim.
func (h *host) serveType(r *http.Request, p []byte) (any, error) {
	h.mu.Lock()
	exited := h.exit != nil
	h.mu.Unlock()
	if exited {
		return nil, ErrExited
	}
	err := h.typeInput(r.Context(), inputWait, p, func(time.Time) {})
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
		err = errors.New("the agent does not read its input")
	}
	return nil, err
}

// ScreenStream is an open stream of frames. Next is for one goroutine at a time; all methods may be called concurrently with
// each other otherwise.
type ScreenStream struct {
	client *Client
	conn   net.Conn
	frames chan streamResult
	done   chan struct{}
	close  sync.Once
	reader sync.WaitGroup

	// Used only by the caller of Next.
	asked bool // a request has no answer yet
	ended bool
}

type streamResult struct {
	frame runtime.TerminalFrame
	err   error
}

// Stream opens a stream of frames. An earlier release of the shim returns an error that matches [errors.ErrUnsupported].
func (c *Client) Stream(ctx context.Context, req StreamRequest) (*ScreenStream, error) {
	conn, err := c.upgrade(ctx, "/terminal", req)
	if err != nil {
		return nil, err
	}
	s := &ScreenStream{client: c, conn: conn, frames: make(chan streamResult), done: make(chan struct{})}
	s.reader.Go(s.read)
	return s, nil
}

// read receives the frames that the shim sends and passes them to the caller of Next, until the connection breaks, the
// agent has exited or the stream is closed.
func (s *ScreenStream) read() {
	for {
		m, err := ReadAttachMessage(s.conn)
		r := streamResult{err: err}
		if err == nil && len(m.Payload) >= 4 {
			r.frame = runtime.TerminalFrame{
				Cols: int(binary.BigEndian.Uint16(m.Payload)), Rows: int(binary.BigEndian.Uint16(m.Payload[2:])),
				Output: m.Payload[4:], Ended: m.Kind == streamEnd,
			}
		}
		select {
		case s.frames <- r:
		case <-s.done:
			return
		}
		if err != nil || r.frame.Ended {
			return
		}
	}
}

// Next returns what has changed on the screen since the last frame, as soon as something has. The first frame redraws the whole
// screen. After a frame with Ended, or after Close, it returns io.EOF. If the shim has exited, it returns a frame with Ended.
func (s *ScreenStream) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	select {
	case <-s.done:
		return runtime.TerminalFrame{}, io.EOF
	default:
	}
	if s.ended {
		return runtime.TerminalFrame{}, io.EOF
	}
	if !s.asked {
		s.asked = true // a failed write also ends the reader, which has the reason
		_, _ = AttachMessage{Kind: streamNext}.WriteTo(s.conn)
	}
	select {
	case r := <-s.frames:
		s.asked = false
		if r.err != nil {
			r.frame.Ended = true // the shim has exited
		}
		s.ended = r.frame.Ended
		return r.frame, nil
	case <-s.done:
		return runtime.TerminalFrame{}, io.EOF
	case <-ctx.Done():
		return runtime.TerminalFrame{}, context.Cause(ctx)
	}
}

// Type writes p to the agent's input as typed by a person, in one piece and after the hold of a delivery.
func (s *ScreenStream) Type(ctx context.Context, p []byte) error {
	return s.client.input(ctx, "/type", p)
}

// Close ends the stream and waits for its goroutine.
func (s *ScreenStream) Close() error {
	var err error
	s.close.Do(func() {
		close(s.done)
		err = s.conn.Close()
		s.reader.Wait()
	})
	return err
}
