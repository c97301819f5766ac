package client

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// dying returns a controller that is killed while it answers: the first connections
// break, each after it has read some of the request, and then answer is asked.
func dying(t *testing.T, breaks int32, answer func() (net.Conn, error)) *Client {
	t.Helper()
	var dials atomic.Int32
	return &Client{Root: "/town", Dial: func(context.Context) (net.Conn, error) {
		if dials.Add(1) > breaks {
			return answer()
		}
		ours, theirs := net.Pipe()
		go func() {
			buffer := make([]byte, 16)
			_, _ = theirs.Read(buffer)
			_ = theirs.Close()
		}()
		return ours, nil
	}}
}

func noController() (net.Conn, error) { return nil, &NoControllerError{City: "/town"} }

func TestAControllerThatDiesBeforeItsAnswerIsNone(t *testing.T) {
	c := dying(t, 1, noController)
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNoController) {
		t.Errorf("the status of a city whose controller has just died is %v, want no controller", err)
	}
	c = dying(t, 1<<30, noController)
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNoController) || !strings.Contains(err.Error(), "/town") {
		t.Errorf("a controller that breaks every connection gives %v, want no controller", err)
	}
}

func TestAQuestionIsAskedOfTheNextController(t *testing.T) {
	c := dying(t, 1, func() (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			_ = theirs.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = theirs.Read(make([]byte, 4096))
			_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"+`{"city":"town"}`)
		}()
		return ours, nil
	})
	defer c.Close()
	status, err := c.Status(t.Context())
	if err != nil || status.City != "town" {
		t.Errorf("got %+v, %v, want the answer of the controller that came after", status, err)
	}
}

func TestAnOrderIsNeverSentTwice(t *testing.T) {
	var second atomic.Bool
	c := dying(t, 1, func() (net.Conn, error) { second.Store(true); return noController() })
	_, err := c.Nudge(t.Context(), "a", NudgeRequest{Text: "x"})
	if !errors.Is(err, ErrLost) || errors.Is(err, ErrNoController) {
		t.Errorf("a prompt whose controller died is %v, want an unknown outcome", err)
	}
	if second.Load() {
		t.Error("the prompt was sent again")
	}
}

func TestAControllerThatHangsEndsAQuestion(t *testing.T) {
	c := &Client{Patience: 50 * time.Millisecond, Dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}}
	_, err := c.Status(t.Context())
	if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "has not answered for 50ms") {
		t.Errorf("a controller that hangs gives %v, want a time-out that says so", err)
	}
}
