package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gascity/internal/retry"
	"gascity/runtime"
)

// requestTime is how long a caller may take to send its request.
const requestTime = 30 * time.Second

// listen creates the socket at path, to which only this user can connect. It replaces the socket of an earlier host; the shim
// runs only one at a time.
func listen(ctx context.Context, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// serve accepts connections until the socket is closed or ctx ends. It returns when every request is answered.
func (h *host) serve(ctx context.Context, listener net.Listener) {
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		c, err := listener.Accept()
		switch {
		case err == nil:
			all.Go(func() { h.answer(ctx, c) })
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return
		default: // no free file descriptors; retry
			retry.Sleep(ctx, 50*time.Millisecond)
		}
	}
}

// answer handles the request of one connection. If the caller disconnects, the request is cancelled.
func (h *host) answer(ctx context.Context, c net.Conn) {
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	in := bufio.NewReaderSize(c, 64<<10)
	_ = c.SetReadDeadline(time.Now().Add(requestTime)) // Unix sockets support deadlines
	line, err := in.ReadBytes('\n')
	var r request
	if err != nil || json.Unmarshal(line, &r) != nil {
		return
	}
	send := func(answer reply) {
		if line, err := json.Marshal(answer); err == nil {
			_, _ = c.Write(append(line, '\n')) // the caller has disconnected
		}
	}
	if r.Instance != h.token {
		send(reply{Failure: failStale})
		return
	}
	var t text
	var e *entry
	if r.Op == opDeliver {
		e = h.announce(r.ID, r.Once)
		send(reply{})
		line, err := in.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &t) != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.withdraw(e) // its text has not arrived
			return
		}
	}
	_ = c.SetReadDeadline(time.Time{})
	gone := make(chan struct{})
	go func() { // stops when the connection is closed
		defer close(gone)
		_, _ = in.ReadByte() // returns when the caller disconnects
		cancel()
	}()
	if e != nil {
		send(reply{Outcome: new(h.push(ctx, e, t))})
	} else {
		send(h.do(ctx, r))
	}
	_ = c.Close()
	<-gone
}

// do handles a request of one line and returns the reply.
func (h *host) do(ctx context.Context, r request) reply {
	switch r.Op {
	case opSettle:
		return reply{Outcome: new(h.resolveDelivery(r.ID))}
	case opCancel:
		switch err := h.cancel(ctx); {
		case errors.Is(err, errUnsettled):
			return reply{Failure: failUnsettled, Detail: err.Error()}
		case err != nil:
			return reply{Failure: err.Error()}
		}
		return reply{}
	case opRespond:
		return h.responded(r)
	case opState:
		return reply{State: new(h.await(ctx, r.After))}
	}
	return reply{Failure: failUnknown}
}

// responded sends the agent the answer in a request, and returns the reply.
func (h *host) responded(r request) reply {
	if r.Answer == nil {
		return reply{Failure: "no answer"}
	}
	err := h.respond(*r.Answer)
	var wrong *runtime.AnswerError
	switch {
	case errors.As(err, &wrong):
		return reply{Failure: failAnswer, Detail: wrong.Why}
	case errors.Is(err, runtime.ErrInteractionGone):
		return reply{Failure: failGone}
	case err != nil:
		return reply{Failure: err.Error()}
	}
	return reply{}
}

// await waits until the state has a Seq greater than after, the agent has exited or ctx has ended, and returns the state. If
// after is zero, it does not wait.
func (h *host) await(ctx context.Context, after uint64) State {
	var state State
	h.waitUntil(ctx, func() bool {
		state = h.state()
		return after == 0 || state.Seq > after || h.ended
	})
	return state
}
