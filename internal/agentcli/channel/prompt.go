package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gascity/worker"
)

const (
	// idleWithin is how long a prompt waits for the end of a turn. It is shorter than the time for
	// which the city waits for a report about a prompt.
	idleWithin = 15 * time.Second
	// interruptWithin is how long an interrupted turn may take to end.
	interruptWithin = 20 * time.Second
)

// begin waits until the thread on the screen is free for a prompt of gc, and returns its ID. From
// then on, prompts that the user types in the client wait until startPending is cleared.
func (s *server) begin(ctx context.Context) (thread string, err error) {
	ctx, cancel := context.WithTimeout(ctx, idleWithin)
	defer cancel()
	free := s.until(ctx, func() bool {
		if s.conversation.thread == "" || s.conversation.busy() || s.startPending {
			return false
		}
		s.startPending, thread = true, s.conversation.thread
		return true
	})
	switch {
	case free:
		return thread, nil
	case s.exited():
		return "", errServerGone
	}
	return "", errors.New("the agent is working on another turn")
}

// exited reports whether the server has exited.
func (s *server) exited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// prompt sends one prompt to the server, at most once. It returns an empty state if the prompt is
// in the conversation; otherwise the state to report to the city, with the reason.
func (s *server) prompt(ctx context.Context, id, text string) (state worker.Progress, detail string) {
	thread, err := s.begin(ctx)
	if err != nil {
		return worker.Refused, err.Error()
	}
	result, err := s.call(ctx, methodTurnStart, turnStartParams{ThreadID: thread, ClientID: id, Input: []textInput{{Type: "text", Text: text}}})
	var started struct{ Turn turn }
	if err == nil {
		err = json.Unmarshal(result, &started)
	}
	s.mu.Lock()
	if err == nil && s.conversation.thread == thread {
		s.conversation.recordTurn(started.Turn)
	}
	s.startPending = false // prompts that the user types in the client are passed to the server again
	s.changeLocked()
	s.mu.Unlock()
	if refusal, ok := errors.AsType[*rpcError](err); ok {
		return worker.Refused, "the agent does not accept the prompt: " + refusal.Message
	}
	if err != nil {
		return worker.Failed, fmt.Sprintf("gc does not know whether the agent received the prompt: %v", err)
	}
	has := false // whether the conversation has the text
	s.until(ctx, func() bool { _, has = s.conversation.turnOf(id); return has || s.conversation.turn != started.Turn.ID })
	if !has {
		return worker.Failed, "its turn ended before the text was in the conversation"
	}
	return "", ""
}

// interrupt interrupts the running turn and waits until it has ended. If no turn is running, it
// does nothing.
func (s *server) interrupt(ctx context.Context) error {
	s.mu.Lock()
	thread, turn := s.conversation.thread, s.conversation.turn
	s.mu.Unlock()
	if turn == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, interruptWithin)
	defer cancel()
	_, err := s.call(ctx, methodTurnInterrupt, turnParams{ThreadID: thread, TurnID: turn})
	if s.until(ctx, func() bool { return s.conversation.turn != turn || s.conversation.thread != thread }) {
		return nil
	}
	if err == nil {
		err = errors.New("the turn did not end in time")
	}
	return err
}
