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

	"gascity/runtime"
)

// server answers on the host's socket.
type server struct {
	h        *host
	listener net.Listener
}

// requestTime bounds how long a caller may take for its lines.
const requestTime = 30 * time.Second

// listen makes the socket, which only this user can reach. One that a previous host has
// left behind is replaced: the shim runs one host at a time.
func listen(ctx context.Context, h *host) (*server, error) {
	if err := os.MkdirAll(filepath.Dir(h.spec.Socket), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(h.spec.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", h.spec.Socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(h.spec.Socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &server{h, l}, nil
}

// close removes the socket. It may be called twice.
func (s *server) close() error { return s.listener.Close() }

// serve answers until the socket is closed, and returns when all answers are given.
func (s *server) serve(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { _ = s.close() })
	defer stop()
	for {
		c, err := s.listener.Accept()
		switch {
		case err == nil:
			all.Go(func() { s.answer(ctx, c) })
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return
		default: // out of files, for a moment
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// answer serves one connection. ctx ends for its work when the caller goes away.
func (s *server) answer(ctx context.Context, c net.Conn) {
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	in := bufio.NewReaderSize(c, 64<<10)
	_ = c.SetReadDeadline(time.Now().Add(requestTime)) // a unix socket has deadlines
	line, err := in.ReadBytes('\n')
	var r request
	if err != nil || json.Unmarshal(line, &r) != nil {
		return
	}
	say := func(answer reply) {
		if line, err := json.Marshal(answer); err == nil {
			_, _ = c.Write(append(line, '\n')) // a caller that has gone asks again
		}
	}
	if r.Instance != s.h.token {
		say(reply{Failure: failStale})
		return
	}
	var t text
	var e *entry
	if r.Op == opDeliver {
		e = s.h.announce(r.ID, r.Once)
		say(reply{})
		line, err := in.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &t) != nil {
			s.h.withdrawAnnounced(e)
			return
		}
	}
	_ = c.SetReadDeadline(time.Time{})
	gone := make(chan struct{})
	go func() { // ends with the connection
		defer close(gone)
		_, _ = in.ReadByte() // a caller says no more: this is its end
		cancel()
	}()
	if e != nil {
		out := s.h.push(ctx, e, t)
		say(reply{Outcome: &out})
	} else {
		say(s.h.do(ctx, r))
	}
	_ = c.Close()
	<-gone
}

// withdrawAnnounced takes back what was announced and never came.
func (h *host) withdrawAnnounced(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.withdraw(e)
}

// do serves what is one line each way.
func (h *host) do(ctx context.Context, r request) reply {
	switch r.Op {
	case opSettle:
		out := h.resolveDelivery(r.ID)
		return reply{Outcome: &out}
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
	case opMode:
		if err := h.setMode(ctx, r.Mode); err != nil {
			return reply{Failure: err.Error()}
		}
		return reply{}
	case opState:
		state := h.await(ctx, r.After)
		return reply{State: &state}
	}
	return reply{Failure: failUnknown}
}

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

// await returns the state once it is later than after.
func (h *host) await(ctx context.Context, after uint64) State {
	for {
		h.mu.Lock()
		state, changed, over := h.state(), h.changed, h.ended
		h.mu.Unlock()
		if after == 0 || state.Seq > after || over || ctx.Err() != nil {
			return state
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
