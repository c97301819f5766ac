package web

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"gascity/client"
	"gascity/internal/httpwire"
	"gascity/internal/redact"
	"gascity/internal/service/engine"
	"gascity/internal/service/terminals"
	"gascity/runtime"
)

// The kinds of messages of a terminal: the first byte of each.
const (
	// From the server.
	messageGrid   = 'g' // columns and rows, two bytes each: the size of the terminal from here on
	messageOutput = 'o' // output for the terminal emulator
	messageDriver = 't' // JSON: which device types; from the browser: take over
	messageEnd    = 'x' // JSON: the agent has exited
	messageError  = 'e' // JSON: a problem document
	// From the browser.
	messageParsed  = 'a' // how many bytes of output the emulator has parsed, 8 bytes
	messageInput   = 'i' // bytes that the person typed
	messageRelease = 'r' // stop typing
)

const (
	// window is how much output may be sent that the browser has not parsed, in bytes. Beyond it the
	// server takes no more from the screen: the next output has all changes until then.
	window = 256 << 10
	// piece is the largest output in one message. A piece is sent only if it fits into the window.
	piece = 32 << 10
	// maxTyped and maxTypedBytes are how much input may wait for the agent, in messages and in bytes;
	// more is refused. The largest message fits.
	maxTyped, maxTypedBytes = 64, maxMessage
	// maxMessage is the size of the largest message of a browser that types, and maxWatching that of one
	// that only watches.
	maxMessage, maxWatching = 256 << 10, 1 << 10
	// writeTime is how long a message may take. The window fits into the buffers of most connections.
	writeTime = time.Minute
	typeTime  = 15 * time.Second // how long input waits for the agent
)

// TerminalOptions are the options of [NewTerminals].
type TerminalOptions struct {
	// Open opens a viewer of a session for the person or device of that name.
	Open func(ctx context.Context, session, name string) (*terminals.Viewer, error)
	Log  *slog.Logger
	// Secrets are masked in problem documents. Nil masks only tokens of gc.
	Secrets *redact.Redactor
}

// NewTerminals returns the value of [Options].Terminal.
func NewTerminals(opts TerminalOptions) func(ctx context.Context, w http.ResponseWriter, r *http.Request, g Grant) {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, g Grant) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			Subprotocols:       []string{TerminalProtocol},
			InsecureSkipVerify: true, // the console has checked host and origin
			CompressionMode:    websocket.CompressionDisabled,
		})
		if err != nil {
			return // Accept has answered
		}
		defer conn.CloseNow() //nolint:errcheck // closed twice in the regular case
		conn.SetReadLimit(maxWatching)
		if g.Type {
			conn.SetReadLimit(maxMessage)
		}
		t := &terminalConn{conn: conn, secrets: opts.Secrets, grant: g, typed: make(chan []byte, maxTyped), parsed: engine.NewSignal()}
		t.serve(ctx, opts)
	}
}

// terminalConn is the WebSocket of one terminal.
type terminalConn struct {
	conn    *websocket.Conn
	secrets *redact.Redactor
	grant   Grant
	viewer  *terminals.Viewer
	typed   chan []byte   // messages that are to be handled in their order: input, take over, release
	parsed  engine.Signal // the browser has parsed more

	mu        sync.Mutex
	sent      uint64 // bytes of output; guarded by mu
	confirmed uint64 // bytes of output that the browser has parsed; guarded by mu
	waiting   int    // bytes in typed; guarded by mu
}

// serve serves the terminal until the browser closes it, the session ends or ctx ends.
func (t *terminalConn) serve(ctx context.Context, opts TerminalOptions) {
	viewer, err := opts.Open(ctx, t.grant.Session, t.grant.Device.Name)
	if err != nil {
		t.end(ctx, err)
		return
	}
	t.viewer = viewer
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		defer cancel()
		if err := t.read(ctx); err != nil && ctx.Err() == nil && websocket.CloseStatus(err) == -1 && !errors.Is(err, io.EOF) {
			opts.Log.Debug("the connection of a terminal ended", "device", t.grant.Device.ID, "session", t.grant.Session, "error", err)
		}
	})
	work.Go(func() { t.typeAll(ctx) })
	err = t.show(ctx)
	if ctx.Err() == nil {
		t.end(ctx, err)
	}
	cancel()
	viewer.Close()
	_ = t.conn.CloseNow() // stops read
	work.Wait()
}

// end sends why the terminal has ended and closes the connection.
func (t *terminalConn) end(ctx context.Context, err error) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, runtime.ErrSessionNotFound):
		_ = t.sendJSON(ctx, messageEnd, map[string]string{"session": t.grant.Session}) // the browser may be gone
	case err != nil:
		t.report(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = t.conn.CloseNow() })
	defer stop()
	_ = t.conn.Close(websocket.StatusNormalClosure, "") // the browser may be gone
}

// show sends what the viewer does not show yet, until there is no more.
func (t *terminalConn) show(ctx context.Context) error {
	for {
		if err := t.await(ctx, 1); err != nil { // the next update has all changes until then
			return err
		}
		u, err := t.viewer.Next(ctx)
		if err != nil {
			return err
		}
		if u.All {
			grid := binary.BigEndian.AppendUint16(nil, uint16(u.Cols))                                            //nolint:gosec // at most 2000
			if err := t.send(ctx, messageGrid, binary.BigEndian.AppendUint16(grid, uint16(u.Rows))); err != nil { //nolint:gosec // at most 2000
				return err
			}
		}
		if u.Driver != nil {
			d := driverMessage{Driver: u.Driver.Name, You: u.Driver.You, Plain: u.Plain}
			if err := t.sendJSON(ctx, messageDriver, d); err != nil {
				return err
			}
		}
		for rest := u.Output; len(rest) > 0; {
			some := rest[:min(len(rest), piece)]
			rest = rest[len(some):]
			if err := t.await(ctx, len(some)); err != nil {
				return err
			}
			t.mu.Lock()
			t.sent += uint64(len(some)) // before the browser can confirm it
			t.mu.Unlock()
			if err := t.send(ctx, messageOutput, some); err != nil {
				return err
			}
		}
	}
}

// driverMessage is the content of messageDriver.
type driverMessage struct {
	Driver string `json:"driver"` // name of the device that types; empty: none
	You    bool   `json:"you"`
	Plain  bool   `json:"plain,omitempty"` // the runtime provider shows only text, from time to time
}

// await waits until size more bytes of output fit into the window.
func (t *terminalConn) await(ctx context.Context, size int) error {
	for {
		t.mu.Lock()
		free := window - int(t.sent-t.confirmed) //nolint:gosec // at most window
		t.mu.Unlock()
		if free >= size {
			return nil
		}
		select {
		case <-t.parsed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errProtocol reports a message that the protocol does not allow.
var errProtocol = errors.New("the browser sent a message that is not part of the protocol")

// read handles the browser's messages until the connection ends. It never waits for the agent, so confirmations are always read.
func (t *terminalConn) read(ctx context.Context) error {
	for {
		kind, m, err := t.conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary || len(m) == 0 {
			return errProtocol
		}
		switch m[0] {
		case messageParsed:
			if err := t.confirm(m[1:]); err != nil {
				return err
			}
		case messageInput, messageDriver, messageRelease:
			if !t.grant.Type {
				t.report(ctx, client.ErrForbidden)
				continue
			}
			if !t.enqueue(m) {
				t.report(ctx, fmt.Errorf("%w: the agent does not read its input, so this input was dropped", client.ErrRefused))
			}
		default: // the page of a newer gc may send other messages
		}
	}
}

// confirm handles the count of the bytes that the browser has parsed.
func (t *terminalConn) confirm(m []byte) error {
	if len(m) != 8 {
		return errProtocol
	}
	count := binary.BigEndian.Uint64(m)
	t.mu.Lock()
	defer t.mu.Unlock()
	if count > t.sent || count < t.confirmed {
		return errProtocol
	}
	t.confirmed = count
	t.parsed.Wake()
	return nil
}

// enqueue queues a message for typeAll. It reports whether it fits.
func (t *terminalConn) enqueue(m []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting+len(m) > maxTypedBytes {
		return false
	}
	select {
	case t.typed <- m:
		t.waiting += len(m)
		return true
	default:
		return false
	}
}

// typeAll handles input in its order until ctx ends.
func (t *terminalConn) typeAll(ctx context.Context) {
	for {
		select {
		case m := <-t.typed:
			t.mu.Lock()
			t.waiting -= len(m)
			t.mu.Unlock()
			if err := t.handle(ctx, m); err != nil && ctx.Err() == nil {
				t.report(ctx, err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// handle processes one message of the page: a change of the driver, or input.
func (t *terminalConn) handle(ctx context.Context, m []byte) error {
	ctx, cancel := context.WithTimeout(ctx, typeTime)
	defer cancel()
	switch m[0] {
	case messageDriver:
		err := t.viewer.TakeOver(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			err = fmt.Errorf("%w: this session can only be watched here; send a prompt instead", client.ErrUnsupported)
		}
		return err
	case messageRelease:
		t.viewer.Release()
		return nil
	default:
		err := t.viewer.Write(ctx, m[1:])
		if errors.Is(err, terminals.ErrNotDriver) {
			err = fmt.Errorf("%w: %w", client.ErrRefused, err)
		}
		return err
	}
}

// report sends a problem document with one line of detail, with secrets masked.
func (t *terminalConn) report(ctx context.Context, err error) {
	p := httpwire.Problem(*client.ProblemOf(err))
	p.Detail = strings.Join(strings.FieldsFunc(p.Detail, func(r rune) bool { return r == '\n' || r == '\r' }), ": ") // joined errors have a line each
	text, err := t.secrets.Encode(p)
	if err != nil {
		return // impossible: texts and numbers can always be encoded
	}
	_ = t.send(ctx, messageError, text) // the browser may be gone
}

func (t *terminalConn) sendJSON(ctx context.Context, kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.send(ctx, kind, text)
}

// send sends one message.
func (t *terminalConn) send(ctx context.Context, kind byte, payload []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return t.conn.Write(ctx, websocket.MessageBinary, append([]byte{kind}, payload...))
}
