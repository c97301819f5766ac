package remote

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/yamux"

	"gascity/runtime"
)

// After the answer of opTerminal both ends send messages: the kind in one byte, the length of the payload in four bytes in
// big-endian order, and the payload. The local end requests each frame, so nothing is rendered while no caller waits.
const (
	messageNext  = 'n' // local end: the caller waits for the next frame
	messageWrite = 'w' // local end: input of a person; remote end: the result of the write, a failure as JSON or nothing
	messageFrame = 'f' // remote end: flags, columns, rows (two bytes each) and output
	messageFail  = 'e' // remote end: Next has failed; the payload is the failure as JSON
)

const (
	flagEnded = 1 << iota
	flagPlain

	frameHead   = 5       // bytes of a frame before its output
	maxFrame    = 4 << 20 // bytes of a message
	maxKeyboard = 1 << 20 // bytes of one input
)

// maxResults is the largest number of results that wait for a call of Next: the answer to a request, and the end of the connection.
const maxResults = 2

// writeMessage writes a message in chunks, so that other streams can write in between.
func writeMessage(w io.Writer, kind byte, payload []byte) error {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload))) //nolint:gosec // at most maxFrame
	return writeChunks(w, append(m, payload...))
}

// readMessage reads one message.
func readMessage(r io.Reader) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxFrame {
		return 0, nil, fmt.Errorf("a message of a terminal is too large: %d bytes, at most %d are allowed", size, maxFrame)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return head[0], payload, err
}

// terminal serves a terminal until one end closes the stream or the session ends.
func (s *server) terminal(ctx context.Context, stream *yamux.Stream, in *bufio.Reader, r request) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var opts runtime.TerminalOptions
	err := json.Unmarshal(r.Body, &opts)
	var terminal runtime.Terminal
	if err == nil {
		terminal, err = runtime.OpenTerminal(ctx, s.provider, r.Name, opts)
	}
	reply(stream, empty{}, err)
	if err != nil {
		return
	}
	var writing sync.Mutex // one message at a time
	send := func(kind byte, payload []byte) error {
		writing.Lock()
		defer writing.Unlock()
		return writeMessage(stream, kind, payload)
	}
	asked, typed := make(chan struct{}, 1), make(chan []byte, 1)
	var work sync.WaitGroup
	work.Go(func() {
		defer cancel()
		defer limitWrites(stream)
		for {
			kind, payload, err := readMessage(in)
			if err != nil {
				return
			}
			switch kind {
			case messageNext:
				select {
				case asked <- struct{}{}:
				default: // a caller asks once for each frame
				}
			case messageWrite:
				select {
				case typed <- payload: // a caller waits for the result before it writes again
				case <-ctx.Done():
					return
				}
			}
		}
	})
	work.Go(func() {
		for {
			select {
			case p := <-typed:
				if send(messageWrite, encodeFailure(terminal.Write(ctx, p))) != nil {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	sendFrames(ctx, terminal, asked, send)
	cancel()
	_ = terminal.Close() // the session does not depend on it
	abort(stream)        // stops the goroutine that reads
	work.Wait()
}

// sendFrames sends one frame of the terminal for each value that it receives from asked. It returns when ctx ends or the
// terminal has no more frames.
func sendFrames(ctx context.Context, terminal runtime.Terminal, asked <-chan struct{}, send func(kind byte, payload []byte) error) {
	for {
		select {
		case <-asked:
		case <-ctx.Done():
			return
		}
		f, err := terminal.Next(ctx)
		if err != nil {
			_ = send(messageFail, encodeFailure(err)) // the local end may be gone
			return
		}
		var flags byte
		if f.Ended {
			flags |= flagEnded
		}
		if f.Plain {
			flags |= flagPlain
		}
		m := binary.BigEndian.AppendUint16([]byte{flags}, uint16(f.Cols)) //nolint:gosec // columns of a terminal
		m = binary.BigEndian.AppendUint16(m, uint16(f.Rows))              //nolint:gosec // rows of a terminal
		if send(messageFrame, append(m, f.Output...)) != nil {
			return
		}
	}
}

// encodeFailure encodes an error for decodeFailure.
func encodeFailure(err error) []byte {
	if err == nil {
		return nil
	}
	text, encodeErr := json.Marshal(packError(err))
	if encodeErr != nil {
		text, _ = json.Marshal(&failure{Text: "the terminal failed"}) // has only a string
	}
	return text
}

// decodeFailure returns the error that encodeFailure got.
func decodeFailure(payload []byte) error {
	if len(payload) == 0 {
		return nil
	}
	var f failure
	if err := json.Unmarshal(payload, &f); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return f.unpack()
}

// OpenTerminal implements runtime.TerminalOpener.
func (p *Provider) OpenTerminal(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	fail := func(err error) (runtime.Terminal, error) {
		return nil, &runtime.Error{Op: "watch", Session: name, Err: err}
	}
	body, err := encodeBody(opts)
	if err != nil {
		return fail(err)
	}
	stream, err := p.link.open(ctx)
	if err != nil {
		return fail(err)
	}
	stop := context.AfterFunc(ctx, func() { abort(stream) })
	defer stop()
	in := bufio.NewReaderSize(stream, chunkSize)
	var a answer
	if err = writeLine(stream, request{Op: opTerminal, Name: name, Body: body}); err == nil {
		err = readLine(in, &a)
	}
	if err != nil {
		abort(stream)
		return fail(p.link.lostError(ctx, err))
	}
	if a.Err != nil {
		abort(stream)
		return nil, a.Err.unpack()
	}
	t := &terminal{link: p.link, name: name, typing: opts.Type, stream: stream, frames: make(chan frameResult, maxResults), results: make(chan error, 1), done: make(chan struct{})}
	p.link.work.Go(func() { t.read(in) })
	return t, nil
}

// terminal is the local end of a terminal.
type terminal struct {
	link    *link
	name    string
	typing  bool
	stream  *yamux.Stream
	frames  chan frameResult // never full, so that the result of a write is always read
	results chan error       // of the write in progress
	done    chan struct{}    // closed by Close
	once    sync.Once

	write   sync.Mutex // one write at a time
	sending sync.Mutex // one message at a time

	// Used only by the caller of Next.
	asked bool // a request has no answer yet
	ended bool
}

type frameResult struct {
	frame runtime.TerminalFrame
	err   error
}

// read passes on the messages of the remote end until the stream ends.
func (t *terminal) read(in *bufio.Reader) {
	defer close(t.results)
	for {
		var r frameResult
		kind, payload, err := readMessage(in)
		switch {
		case err != nil:
			r.err = t.link.lostError(t.link.ctx, err)
		case kind == messageWrite:
			select {
			case t.results <- decodeFailure(payload):
			case <-t.done:
				return
			}
			continue
		case kind == messageFail:
			if r.err = decodeFailure(payload); r.err == nil {
				r.err = io.ErrUnexpectedEOF
			}
		case kind == messageFrame && len(payload) >= frameHead:
			r.frame = runtime.TerminalFrame{
				Cols: int(binary.BigEndian.Uint16(payload[1:])), Rows: int(binary.BigEndian.Uint16(payload[3:])), Output: payload[frameHead:],
				Ended: payload[0]&flagEnded != 0, Plain: payload[0]&flagPlain != 0,
			}
		default:
			continue
		}
		select {
		case t.frames <- r:
		case <-t.done:
			return
		}
		if r.err != nil {
			return
		}
	}
}

// Next implements runtime.Terminal.
func (t *terminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	select {
	case <-t.done:
		return runtime.TerminalFrame{}, io.EOF
	default:
	}
	if t.ended {
		return runtime.TerminalFrame{}, io.EOF
	}
	if !t.asked {
		t.asked = true
		_ = t.send(messageNext, nil) // if it fails, reading fails too
	}
	select {
	case r := <-t.frames:
		t.asked = false
		t.ended = r.frame.Ended || r.err != nil
		return r.frame, r.err
	case <-t.done:
		return runtime.TerminalFrame{}, io.EOF
	case <-ctx.Done():
		return runtime.TerminalFrame{}, context.Cause(ctx)
	}
}

// send sends one message.
func (t *terminal) send(kind byte, payload []byte) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	return writeMessage(t.stream, kind, payload)
}

// Write implements runtime.Terminal. If ctx ends, the input may still be sent, and Write closes the terminal.
func (t *terminal) Write(ctx context.Context, p []byte) error {
	fail := func(err error) error { return &runtime.Error{Op: "type into", Session: t.name, Err: err} }
	if !t.typing {
		return fail(runtime.ErrTerminalWatchOnly)
	}
	if len(p) > maxKeyboard {
		return fail(fmt.Errorf("%d bytes at once, the limit is %d", len(p), maxKeyboard))
	}
	t.write.Lock()
	defer t.write.Unlock()
	if err := t.send(messageWrite, p); err != nil {
		return fail(t.link.lostError(ctx, err))
	}
	select {
	case err, ok := <-t.results:
		if !ok {
			return fail(t.link.lostError(ctx, errors.New("it gave no answer")))
		}
		return err
	case <-t.done:
		return fail(io.ErrClosedPipe)
	case <-ctx.Done():
		_ = t.Close() // a late result would be taken for that of the next input
		return fail(context.Cause(ctx))
	}
}

// Close implements runtime.Terminal.
func (t *terminal) Close() error {
	t.once.Do(func() {
		close(t.done)
		abort(t.stream)
	})
	return nil
}
