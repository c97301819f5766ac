package tmux

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"gascity/internal/fsutil"
)

// TestConnectingUpsetsNobody connects clients while others make, rename and close sessions: tmux
// crashes if both happen at once (3.3a within 0.1 s of this).
func TestConnectingUpsetsNobody(t *testing.T) {
	connectBeside(t, func(first *controlClient, i int) error {
		name := fmt.Sprintf("s%d", i)
		return each(t, first, cmd("new-session", "-d", "-s", name, "exec cat"), cmd("rename-session", "-t", "="+name+":", name+"b"), cmd("kill-session", "-t", "="+name+"b:"))
	})
}

// TestTextsUpsetNobody connects clients while others bring texts by paste buffers, which tmux
// reports from 3.4 on, and crashes as above.
func TestTextsUpsetNobody(t *testing.T) {
	connectBeside(t, func(first *controlClient, _ int) error {
		return each(t, first, cmd("setb", "-b", "b", "text"), cmd("deleteb", "-b", "b"))
	})
}

// each runs the commands and returns the first error.
func each(t *testing.T, client *controlClient, commands ...tmuxCommand) error {
	t.Helper()
	for _, command := range commands {
		if _, err := client.Do(t.Context(), command); err != nil {
			return err
		}
	}
	return nil
}

// connectBeside connects clients and ends them while act is done again and again, and fails
// unless the server outlives it.
func connectBeside(t *testing.T, act func(first *controlClient, i int) error) {
	t.Helper()
	o := testOptions(t)
	first := testClient(t, o)
	server, err := first.Start(withDeadline(t))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	end := time.Now().Add(1500 * time.Millisecond)
	go func() {
		var err error
		for i := 0; err == nil && time.Now().Before(end); i++ {
			err = act(first, i)
		}
		done <- err
	}()
	go func() {
		var err error
		for err == nil && time.Now().Before(end) {
			var other *controlClient
			if other, err = newControlClient(o); err != nil {
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
	if now, err := first.Attach(withDeadline(t)); err != nil || now.PID != server.PID {
		t.Errorf("the server is %+v, %v, and was %+v", now, err, server)
	}
}

// Close waits while another client connects, also if that takes longer than a second on a loaded machine.
func TestCloseWaitsForAClientThatConnects(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	if _, err := client.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(lockPath(o.Socket), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := fsutil.Lock(withDeadline(t), lock); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- client.Close(withDeadline(t)) }()
	select {
	case err := <-done:
		t.Fatalf("Close did not wait: %v", err)
	case <-time.After(1500 * time.Millisecond):
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A glance is no control client, starts no server, and gets the reports that a client gets.
func TestGlance(t *testing.T) {
	o := testOptions(t)
	first, other := testClient(t, o), testClient(t, o)
	show := cmd("list-clients", "-F", "#{client_control_mode} it's #; ~ é漢")
	if out, err := other.QueryOnce(t.Context(), show); !errors.Is(err, errNoServer) {
		t.Errorf("without a server: %q, %v", out, err)
	}
	if _, err := first.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	if out, err := other.QueryOnce(withDeadline(t), show); err != nil || string(out) != "1 it's #; ~ é漢" {
		t.Errorf("it sees the clients %q, %v", out, err)
	}
	if out, err := other.QueryOnce(withDeadline(t), cmd("kill-session", "-t", "=none:")); !errors.Is(err, errNotFound) {
		t.Errorf("of a session that is not there: %q, %v", out, err)
	}
	if _, _, connected := other.Server(); connected {
		t.Error("it has connected")
	}
	if out, err := first.QueryOnce(withDeadline(t), show); err != nil || string(out) != "1 it's #; ~ é漢" {
		t.Errorf("a client that is connected sees %q, %v", out, err)
	}
}
