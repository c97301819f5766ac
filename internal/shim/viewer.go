package shim

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"gascity/internal/terminal/vt"
)

// AttachMessage is one frame of an attached connection: its kind in one byte, the length of its payload as four bytes in
// big-endian order, and the payload.
type AttachMessage struct {
	Kind    AttachKind
	Payload []byte
}

// AttachKind is the kind of an [AttachMessage].
type AttachKind byte

// The kinds of messages. A viewer sends input, size and detach; the shim sends output and exit.
const (
	AttachInput  AttachKind = 'i' // bytes for the agent
	AttachSize   AttachKind = 's' // columns and rows, two bytes each
	AttachDetach AttachKind = 'd' // the viewer detaches
	AttachOutput AttachKind = 'o' // bytes for the viewer's terminal
	AttachExit   AttachKind = 'x' // the agent has exited; the payload is an [Exit] as JSON
)

// maxAttach bounds the payload of a message, in bytes.
const maxAttach = 4 << 20

// WriteTo writes the message in one piece.
func (m AttachMessage) WriteTo(w io.Writer) (int64, error) {
	b := binary.BigEndian.AppendUint32([]byte{byte(m.Kind)}, uint32(len(m.Payload)))
	n, err := w.Write(append(b, m.Payload...))
	return int64(n), err
}

// ReadAttachMessage reads one message.
func ReadAttachMessage(r io.Reader) (AttachMessage, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return AttachMessage{}, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxAttach {
		return AttachMessage{}, fmt.Errorf("a message of the attached terminal has %d bytes, which is too long", size)
	}
	m := AttachMessage{Kind: AttachKind(head[0]), Payload: make([]byte, size)}
	_, err := io.ReadFull(r, m.Payload)
	return m, err
}

// AttachRequest is the body of POST /attach.
type AttachRequest struct {
	Cols     int  `json:"cols"`
	Rows     int  `json:"rows"`
	ReadOnly bool `json:"read_only"`
}

// viewer is one attached terminal. Its frames are rendered from the screen model, not from the agent's raw output: its size may
// differ, and only the model answers the agent's terminal queries.
type viewer struct {
	conn         net.Conn
	readOnly     bool
	readerDone   chan struct{} // closed when the reader has stopped
	inputStalled bool          // whether the agent did not read the last input; only the reader uses it

	// Guarded by the host's mu.
	cols, rows int
	activeAt   time.Time
}

// frameGap is the shortest time between two frames to a viewer. It grows with the number of viewers.
const frameGap = 8 * time.Millisecond

// Time limits for input that a person types. inputWait is how long the viewer waits for an agent that does not read its input;
// then the input is dropped. stalledInputWait is the shorter limit after that, because the viewer's detach message comes
// through the same connection.
const (
	inputWait        = 5 * time.Second
	stalledInputWait = 10 * time.Millisecond
)

// attach connects a viewer to the terminal until it detaches or the agent has exited.
func (s *server) attach(w http.ResponseWriter, r *http.Request) {
	var req AttachRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&req); err != nil {
		fail(w, http.StatusBadRequest, codeInvalid, err.Error())
		return
	}
	screen, ok := s.host.screen()
	if !ok || min(req.Cols, req.Rows) < 1 || max(req.Cols, req.Rows) > maxSide {
		fail(w, http.StatusBadRequest, codeInvalid, "the session has no terminal, or the viewer no size")
		return
	}
	conn, buf := upgrade(w, "gc-attach")
	if conn == nil {
		return
	}
	defer conn.Close()
	v := &viewer{conn: conn, readOnly: req.ReadOnly, readerDone: make(chan struct{}), cols: req.Cols, rows: req.Rows}
	s.host.addViewer(v)
	defer s.host.removeViewer(v)
	go v.read(s.host, buf) // stops when the connection is closed
	v.draw(s.host, screen)
	_ = conn.Close() // stops the reader
	<-v.readerDone
}

// upgrade switches the connection of a request to messages of the given protocol. It returns nil if that failed.
func upgrade(w http.ResponseWriter, protocol string) (net.Conn, *bufio.Reader) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		fail(w, http.StatusInternalServerError, codeFailed, err.Error())
		return nil, nil
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: "+protocol+"\r\nConnection: Upgrade\r\n\r\n"); err != nil {
		_ = conn.Close()
		return nil, nil
	}
	return conn, buf.Reader
}

// addViewer adds a viewer and resizes the terminal for it.
func (h *host) addViewer(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers[v] = struct{}{}
	v.activeAt = time.Now()
	h.fitLocked()
	h.events.publish(Event{Kind: EventAttached, Time: time.Now(), Attached: h.attachedLocked()})
}

// removeViewer removes a viewer and resizes the terminal for the others.
func (h *host) removeViewer(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
	h.fitLocked()
	h.bumpLocked()
	h.events.publish(Event{Kind: EventAttached, Time: time.Now(), Attached: h.attachedLocked()})
}

// attachedLocked returns the number of terminals of people: all viewers, and the streams that may type.
func (h *host) attachedLocked() int { return len(h.viewers) + h.typists }

// fitLocked resizes the terminal to the size of the viewer that was active last, or to its configured size if no viewer that
// may type is attached. Rules that read the screen then always see the same size.
func (h *host) fitLocked() {
	cols, rows := h.spec.Cols, h.spec.Rows
	var latest time.Time
	for v := range h.viewers {
		if !v.readOnly && v.activeAt.After(latest) {
			latest, cols, rows = v.activeAt, v.cols, v.rows
		}
	}
	_ = h.resizeLocked(max(cols, minSide), max(rows, minSide)) // after the agent has exited the terminal keeps its size
}

// read handles the messages of an attached terminal (input, sizes) until it detaches or the connection breaks.
func (v *viewer) read(h *host, r *bufio.Reader) {
	defer close(v.readerDone)
	defer v.conn.Close() // stops draw
	for {
		m, err := ReadAttachMessage(r)
		if err != nil || m.Kind == AttachDetach {
			h.wake()
			return
		}
		if err := v.handle(h, m); err != nil {
			h.wake()
			return
		}
	}
}

// handle handles one message of the viewer.
func (v *viewer) handle(h *host, m AttachMessage) error {
	switch {
	case m.Kind == AttachSize && len(m.Payload) == 4:
		cols, rows := binary.BigEndian.Uint16(m.Payload), binary.BigEndian.Uint16(m.Payload[2:])
		h.mu.Lock()
		defer h.mu.Unlock()
		v.cols, v.rows = clamp(int(cols)), clamp(int(rows))
		h.fitLocked()
		h.bumpLocked()
	case m.Kind == AttachInput && !v.readOnly:
		return v.sendInput(h, m.Payload)
	}
	return nil // unknown messages are ignored
}

func clamp(side int) int { return min(max(side, 1), maxSide) }

// sendInput waits until no hold is active and writes p to the agent's input.
func (v *viewer) sendInput(h *host, p []byte) error {
	limit := inputWait
	if v.inputStalled {
		limit = stalledInputWait
	}
	err := h.typeInput(h.ctx, limit, p, func(now time.Time) {
		v.activeAt = now
		h.fitLocked()
	})
	v.inputStalled = errors.Is(err, context.DeadlineExceeded)
	if h.ctx.Err() != nil {
		return err
	}
	return nil // the agent has exited, or does not read
}

// typeInput waits until no hold is active and writes p, which a person typed, to the agent's input. It calls active with the
// host's mu locked if p counts as typing. limit is how long it waits, after the hold, for an agent that does not read.
func (h *host) typeInput(ctx context.Context, limit time.Duration, p []byte, active func(now time.Time)) error {
	input := h.waitForHoldEnd()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	passed := false
	_, err := input.WriteNext(ctx, func() ([]byte, error) {
		passed = true
		return h.typed(p, active)
	})
	if !passed {
		h.allowHolds()
	}
	return err
}

// typed records that a person typed p, immediately before it is written, and returns the bytes to write. A report that the
// person's window got or lost the focus does not count as typing.
func (h *host) typed(p []byte, active func(now time.Time)) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.bumpLocked()
	h.waiting--
	if h.exit != nil {
		return nil, ErrExited
	}
	if !vt.IsFocusReport(p) {
		p = slices.Concat(h.touchLocked(p), p)
		h.lastHuman = time.Now()
		active(h.lastHuman)
	}
	return p, nil
}

// wake wakes all goroutines that wait for a change.
func (h *host) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bumpLocked()
}

// draw sends frames until the viewer detaches or the agent has exited.
func (v *viewer) draw(h *host, screen *vt.Screen) {
	var renderer vt.Renderer
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		h.mu.Lock()
		changed, exit := h.changed, h.exit
		pace := frameGap * time.Duration(1+len(h.viewers)/4) // rendering for many viewers must not delay the agent's output
		frame := renderer.Frame(screen, v.cols, v.rows)
		h.mu.Unlock()
		err := v.send(AttachMessage{Kind: AttachOutput, Payload: frame})
		if err == nil && exit != nil {
			err = v.sendExit(*exit)
		}
		if err != nil || exit != nil {
			return
		}
		<-gap.C
		gap.Reset(pace)
		select {
		case <-changed:
		case <-v.readerDone:
			return
		case <-h.ctx.Done():
			return
		}
	}
}

// send writes the message. It waits without limit for a viewer that does not read, such as one on a sleeping machine. Meanwhile
// no frames are rendered for that viewer.
func (v *viewer) send(m AttachMessage) error {
	if len(m.Payload) == 0 {
		return nil
	}
	_, err := m.WriteTo(v.conn)
	return err
}

// sendExit sends the exit status of the agent to an attached viewer.
func (v *viewer) sendExit(exit Exit) error {
	body, err := json.Marshal(exit)
	return errors.Join(err, v.send(AttachMessage{Kind: AttachExit, Payload: body}))
}
