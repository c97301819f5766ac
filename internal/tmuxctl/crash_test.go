package tmuxctl_test

import (
	"fmt"
	"testing"
	"time"

	"gascity/internal/tmuxctl"
)

// TestConnectingUpsetsNobody connects clients while others make, rename and close sessions: tmux
// crashes if both are let at once (3.3a within 0.1 s of this).
func TestConnectingUpsetsNobody(t *testing.T) {
	o := options(t)
	first := newClient(t, o)
	server, err := first.Start(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	end := time.Now().Add(1500 * time.Millisecond)
	go func() {
		var err error
		for i := 0; err == nil && time.Now().Before(end); i++ {
			name := fmt.Sprintf("s%d", i)
			_, err = first.Do(t.Context(), tmuxctl.Cmd("new-session", "-d", "-s", name, "exec cat"), tmuxctl.Cmd("rename-session", "-t", "="+name+":", name+"b"), tmuxctl.Cmd("kill-session", "-t", "="+name+"b:"))
		}
		done <- err
	}()
	go func() {
		var err error
		for err == nil && time.Now().Before(end) {
			var other *tmuxctl.Client
			if other, err = tmuxctl.New(o); err != nil {
				break
			}
			_, err = other.Attach(t.Context())
			if closed := other.Close(t.Context()); err == nil {
				err = closed
			}
		}
		done <- err
	}()
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if now, err := first.Attach(limit(t)); err != nil || now.PID != server.PID {
		t.Errorf("the server is %+v, %v, and was %+v", now, err, server)
	}
}
