package channel

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"gascity/internal/proc"
)

const (
	// callWithin is the time limit of one request of gc.
	callWithin = 20 * time.Second
)

var errServerGone = errors.New("the server of the agent CLI has exited")

// server is the process of the agent CLI that runs as a server. It passes messages between that
// process and the client.
type server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	tail *proc.Tail    // the end of its standard error
	done chan struct{} // closed when the process has exited

	writing sync.Mutex // held while a line is written

	mu           sync.Mutex
	changed      chan struct{} // closed and replaced at each change
	conversation *conversation
	startPending bool   // gc's turn/start is not answered yet, so the client's must wait
	client       sender // the terminal client; nil: not connected
	calls        map[string]chan message
	count        int
	gone         bool
	notify       func(change) // called with mu held; must not block
}

// sender sends one message to the terminal client.
type sender func(line []byte) error

// startServer starts the agent CLI as a server. The server's standard error is kept for a message
// and not shown, because the client has the terminal. notify gets each change of the conversation.
func startServer(program string, args, env []string, notify func(change)) (*server, error) {
	s := &server{
		cmd: exec.Command(program, args...), tail: &proc.Tail{}, done: make(chan struct{}), changed: make(chan struct{}), //nolint:noctx // it runs as long as this program
		conversation: newConversation(), calls: map[string]chan message{}, notify: notify,
	}
	s.cmd.Env, s.cmd.Stderr = env, s.tail
	s.cmd.WaitDelay = time.Second // its children may keep its standard error open
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read() // it ends when the process exits
	return s, nil
}

// read handles each line of the server's output until the server exits.
func (s *server) read() {
	r := bufio.NewReaderSize(s.out, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			s.handleServer(line)
		}
		if err != nil {
			break
		}
	}
	_ = s.cmd.Wait() // ProcessState has the result
	s.mu.Lock()
	s.gone = true
	for id, answer := range s.calls {
		close(answer)
		delete(s.calls, id)
	}
	s.changeLocked()
	s.mu.Unlock()
	close(s.done)
}

// changeLocked wakes every caller of [server.until], after a change. The caller holds mu.
func (s *server) changeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits until condition returns true. It calls condition with mu held, at first and after
// each change. It returns false if ctx ends or the server exits first.
func (s *server) until(ctx context.Context, condition func() bool) bool {
	for {
		s.mu.Lock()
		ok, gone, changed := condition(), s.gone, s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		if gone {
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// handleServer handles one line of the server: it takes the answers to gc's own requests, and
// passes every other line to the client, also one that it cannot parse.
func (s *server) handleServer(line []byte) {
	var m message
	err := json.Unmarshal(line, &m)
	s.mu.Lock()
	if err == nil && m.own() {
		if answer := s.calls[string(m.ID)]; answer != nil {
			delete(s.calls, string(m.ID))
			answer <- m // the channel has room
		}
		s.mu.Unlock()
		return
	}
	if err == nil {
		if s.conversation.listing[string(m.ID)] && m.Method == "" {
			delete(s.conversation.listing, string(m.ID))
			line = markHooksTrusted(line)
		}
		if c := s.conversation.handleServer(m); c != (change{}) {
			s.notify(c)
		}
		s.changeLocked()
	}
	client := s.client
	s.mu.Unlock()
	if client != nil {
		_ = client(line) // this program stops when the client has exited
	}
}

// handleClient passes one message of the client to the server. If the message is a prompt of the
// user and gc is sending a prompt of the city, it waits first, so that the two do not become one
// turn.
func (s *server) handleClient(ctx context.Context, line []byte) error {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return s.write(line)
	}
	apply := func() bool {
		if m.Method == methodTurnStart && s.startPending {
			return false
		}
		s.conversation.handleClient(m)
		s.changeLocked()
		return true
	}
	waiting, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	if !s.until(waiting, apply) {
		s.mu.Lock()
		s.conversation.handleClient(m)
		s.mu.Unlock()
	}
	return s.write(line)
}

// write sends one message to the server, as one line.
func (s *server) write(text []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := s.in.Write(append(oneLine(text), '\n'))
	return err
}

// oneLine returns a JSON text without its line breaks. In a valid JSON text, line breaks are only
// between values, so the meaning stays the same.
func oneLine(text []byte) []byte {
	out := make([]byte, 0, len(text)+1)
	for _, b := range text {
		if b != '\n' && b != '\r' {
			out = append(out, b)
		}
	}
	return out
}

// call sends a request of gc to the server and returns the result. An answer with an error is an
// error.
func (s *server) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return nil, errServerGone
	}
	s.count++
	id := fmt.Sprintf(`%s%d"`, ownPrefix, s.count)
	answer := make(chan message, 1)
	s.calls[id] = answer
	s.mu.Unlock()
	line, err := json.Marshal(message{ID: json.RawMessage(id), Method: method, Params: text})
	if err == nil {
		err = s.write(line)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errServerGone, err)
	}
	select {
	case m, open := <-answer:
		if !open {
			return nil, errServerGone
		}
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect sets the function that sends messages to the client. nil means that no client is
// connected.
func (s *server) connect(client sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
}

// stop stops the server: it closes the server's input, and sends SIGKILL if it has not exited after
// grace.
func (s *server) stop(grace time.Duration) {
	_ = s.in.Close() // an error does not matter, because the server is stopped anyway
	wait := time.NewTimer(grace)
	defer wait.Stop()
	select {
	case <-s.done:
	case <-wait.C:
		_ = s.cmd.Process.Kill() // an error means that it has exited
		<-s.done
	}
}
