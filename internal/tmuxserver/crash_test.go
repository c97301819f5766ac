package tmuxserver_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"gascity/internal/fsutil"
	"gascity/internal/tmuxserver"
)

// TestConnectingUpsetsNobody connects clients while others make, rename and close sessions: tmux
// crashes if both happen at once (3.3a within 0.1 s of this).
func TestConnectingUpsetsNobody(t *testing.T) {
	connectBeside(t, func(first *tmuxserver.Client, i int) error {
		name := fmt.Sprintf("s%d", i)
		return each(t, first, tmuxserver.Cmd("new-session", "-d", "-s", name, "exec cat"), tmuxserver.Cmd("rename-session", "-t", "="+name+":", name+"b"), tmuxserver.Cmd("kill-session", "-t", "="+name+"b:"))
	})
}

// TestTextsUpsetNobody connects clients while others bring texts by paste buffers, which tmux
// reports from 3.4 on, and crashes as above.
func TestTextsUpsetNobody(t *testing.T) {
	connectBeside(t, func(first *tmuxserver.Client, _ int) error {
		return each(t, first, tmuxserver.Cmd("setb", "-b", "b", "text"), tmuxserver.Cmd("deleteb", "-b", "b"))
	})
}

// each runs the commands and returns the first error.
func each(t *testing.T, client *tmuxserver.Client, commands ...tmuxserver.Command) error {
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
func connectBeside(t *testing.T, act func(first *tmuxserver.Client, i int) error) {
	t.Helper()
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
			err = act(first, i)
		}
		done <- err
	}()
	go func() {
		var err error
		for err == nil && time.Now().Before(end) {
			var other *tmuxserver.Client
			if other, err = tmuxserver.NewClient(o); err != nil {
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

// Close waits while another client connects, also if that takes longer than a second on a loaded machine.
func TestCloseWaitsForAClientThatConnects(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	if _, err := client.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(tmuxserver.LockPath(o.Socket), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := fsutil.Lock(limit(t), lock); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- client.Close(limit(t)) }()
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
	o := options(t)
	first, other := newClient(t, o), newClient(t, o)
	show := tmuxserver.Cmd("list-clients", "-F", "#{client_control_mode} it's #; ~ é漢")
	if out, err := other.QueryOnce(t.Context(), show); !errors.Is(err, tmuxserver.ErrNoServer) {
		t.Errorf("without a server: %q, %v", out, err)
	}
	if _, err := first.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	if out, err := other.QueryOnce(limit(t), show); err != nil || string(out) != "1 it's #; ~ é漢" {
		t.Errorf("it sees the clients %q, %v", out, err)
	}
	if out, err := other.QueryOnce(limit(t), tmuxserver.Cmd("kill-session", "-t", "=none:")); !errors.Is(err, tmuxserver.ErrNotFound) {
		t.Errorf("of a session that is not there: %q, %v", out, err)
	}
	if _, _, connected := other.Server(); connected {
		t.Error("it has connected")
	}
	if out, err := first.QueryOnce(limit(t), show); err != nil || string(out) != "1 it's #; ~ é漢" {
		t.Errorf("a client that is connected sees %q, %v", out, err)
	}
}
