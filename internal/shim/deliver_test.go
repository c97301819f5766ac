package shim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// recorded returns what the file of deliveries says about a name.
func recorded(c *Client, name string) (out *runtime.Outcome, begun bool) {
	var records []inject.Record
	_ = statedir.ReadJSON(c.dir.Deliveries(), &records) // it may not exist yet
	for _, r := range records {
		if r.Name == name {
			return r.Outcome, true
		}
	}
	return nil, false
}

// A delivery that has begun does not end with its client. Its name is on disk before its first byte, and its outcome
// afterwards.
func TestADeliveryOutlivesItsClient(t *testing.T) {
	c := start(t, testFleet(t), spec("outlive", `stty raw -echo; echo go; exec cat`))
	frameWith(t, c, "go")
	client, kill := context.WithCancel(t.Context())
	defer kill()
	ended := make(chan error, 1)
	go func() {
		ended <- c.call(client, http.MethodPost, "/deliver", &DeliverRequest{Key: "k", Name: "r-1 1", ID: "r-1", Text: []byte("<a prompt>")}, nil)
	}()
	waitFor(t, "the name", func() bool { _, begun := recorded(c, "r-1 1"); return begun })
	kill()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want the request cut off", err)
	}
	frameWith(t, c, "<a prompt>")
	waitFor(t, "the outcome", func() bool { out, _ := recorded(c, "r-1 1"); return out != nil })
	info, err := os.Stat(c.dir.Deliveries())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	want, _ := recorded(c, "r-1 1")
	again, err := c.Deliver(t.Context(), &DeliverRequest{Name: "r-1 1", ID: "r-1", Text: []byte("<another>")})
	if err != nil || again.State != want.State || again.Detail != want.Detail {
		t.Errorf("again: %+v, %v, want %+v", again, err, want)
	}
	text, err := c.Text(t.Context(), 0)
	if err != nil || strings.Count(text, "<a prompt>") != 1 || strings.Contains(text, "<another>") {
		t.Errorf("%q, %v", text, err)
	}
}

// A delivery that has not begun ends with its client: another client has the terminal.
func TestADeliveryThatWaitsEndsWithItsClient(t *testing.T) {
	c := start(t, testFleet(t), spec("waits", `stty raw -echo; echo go; exec cat`))
	frameWith(t, c, "go")
	other := leaseOf(t, c)
	req := &DeliverRequest{Key: "k", Name: "r-1 1", ID: "r-1", Text: []byte("<a prompt>")}
	if out := halfClosed(t, c, req); !out.Unsent || !strings.Contains(out.Detail, errClientGone) {
		t.Fatalf("%+v, although another client has the terminal", out)
	}
	other.Close()
	out, err := c.Resolve(t.Context(), ResolveRequest{Name: "r-1 1", ID: "r-1"})
	if err != nil || !out.Unsent {
		t.Errorf("%+v, %v, want that nothing was sent", out, err)
	}
	if late, err := c.Deliver(t.Context(), req); err != nil || !late.Unsent {
		t.Errorf("a late request: %+v, %v", late, err)
	}
	if text, err := c.Text(t.Context(), 0); err != nil || strings.Contains(text, "<a prompt>") {
		t.Errorf("%q, %v", text, err)
	}
}

// errClientGone is the text of the outcome of a delivery that ended with its client.
const errClientGone = "its sender exited before the first byte"

// halfClosed requests a delivery, closes the sending side of the connection, as a client that exits does, and returns the outcome.
func halfClosed(t *testing.T, c *Client, req *DeliverRequest) runtime.Outcome {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: c.dir.Sock(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://shim/deliver", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if err := errors.Join(r.Write(conn), conn.CloseWrite()); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var result deliverResult
	if err := json.NewDecoder(resp.Body).Decode(&result); err != nil {
		t.Fatal(err)
	}
	return result.Outcome
}

// A delivery is for the agent that ran when it was requested. The next agent in the same terminal gets nothing of it.
func TestADeliveryEndsWithItsAgent(t *testing.T) {
	c := start(t, testFleet(t), spec("next", `stty raw -echo; echo go; exec sleep 300`))
	frameWith(t, c, "go")
	ended := make(chan runtime.Outcome, 1)
	go func() {
		out, err := c.Deliver(t.Context(), &DeliverRequest{Name: "r-1 1", ID: "r-1", Text: []byte(strings.Repeat("x", 1<<20))})
		if err != nil {
			t.Log(err)
		}
		ended <- out
	}()
	waitFor(t, "the name", func() bool { _, begun := recorded(c, "r-1 1"); return begun })
	if err := c.Relaunch(t.Context(), []string{"/bin/sh", "-c", "stty raw -echo; echo second; exec cat"}, 0); err != nil {
		t.Fatal(err)
	}
	if out := <-ended; out.State != runtime.OutcomeUnconfirmed {
		t.Errorf("%+v, want it unconfirmed: the first agent may have read a part", out)
	}
	frameWith(t, c, "second")
	if err := c.Send(t.Context(), []byte("<typed>")); err != nil {
		t.Fatal(err)
	}
	frameWith(t, c, "<typed>")
	text, err := c.Text(t.Context(), 0)
	if _, after, ok := strings.Cut(text, "second"); err != nil || !ok || strings.Contains(after, "xx") {
		t.Errorf("%v: the second agent got text of the first: %q", err, text)
	}
}

// A shim makes the file of deliveries again: without it a delivery that has begun would be reported as never begun after the shim
// was killed, and the prompt would be sent again.
func TestTheFileOfDeliveriesIsMadeAgain(t *testing.T) {
	for name, remove := range map[string]func(statedir.Folder) error{
		"file": func(d statedir.Folder) error { return os.Remove(d.Deliveries()) },
		"folder": func(d statedir.Folder) error { // in one step: the shim makes files there at any time
			return os.Rename(string(d), filepath.Join(t.TempDir(), "removed"))
		},
	} {
		s := spec("again "+name, `stty raw -echo; echo go; exec sleep 300`)
		s.WatchInterval = 100 * time.Millisecond
		c := start(t, testFleet(t), s)
		frameWith(t, c, "go")
		ended := make(chan runtime.Outcome, 1)
		go func() {
			out, err := c.Deliver(t.Context(), &DeliverRequest{Name: "r-1 1", ID: "r-1", Text: []byte(strings.Repeat("x", 1<<20))})
			if err != nil {
				t.Error(err)
			}
			ended <- out
		}()
		waitFor(t, "the name", func() bool { _, begun := recorded(c, "r-1 1"); return begun })
		state, err := c.State(t.Context())
		if err == nil {
			err = remove(c.dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the socket of "+name, func() bool { return isRestored(c.dir) })
		waitFor(t, "the record of "+name, func() bool { return !statedir.NotExists(c.dir.Record()) })
		if name == "file" {
			waitFor(t, "the file of deliveries", func() bool { return !statedir.NotExists(c.dir.Deliveries()) })
		}
		if err := errors.Join(proc.Signal(state.Shim, syscall.SIGKILL), proc.WaitGone(t.Context(), state.Shim)); err != nil {
			t.Fatal(err)
		}
		if out := <-ended; out.State != runtime.OutcomeUnconfirmed {
			t.Errorf("%s: %+v, want it unconfirmed: the agent may have got a part", name, out)
		}
	}
}

// The file of another instance says nothing about a delivery: the next shim in the folder has removed the file of the previous one.
func TestTheFileOfDeliveriesOfAnotherInstance(t *testing.T) {
	c := start(t, testFleet(t), spec("other", `stty raw -echo; echo go; exec sleep 300`))
	frameWith(t, c, "go")
	state, err := c.State(t.Context())
	if err == nil {
		err = errors.Join(proc.Signal(state.Shim, syscall.SIGKILL), proc.WaitGone(t.Context(), state.Shim))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := c.recordedOutcome("r-1 1"); out.State != runtime.OutcomeAbsent {
		t.Errorf("%+v, want that nothing was sent", out)
	}
	previous := newClient("other", c.dir, "token of the previous instance")
	if out := previous.recordedOutcome("r-1 1"); out.State != runtime.OutcomeUnconfirmed {
		t.Errorf("%+v, want it unconfirmed for the previous instance", out)
	}
}

// A client whose ctx ends does not wait for a shim that does not answer. After the shim has continued, nothing is sent, or the
// delivery has the outcome that is asked for.
func TestACancelledDeliveryInAShimThatIsStopped(t *testing.T) {
	t.Parallel()
	c := start(t, testFleet(t), spec("unanswered", `stty raw -echo; echo go; exec cat`))
	frameWith(t, c, "go")
	state, err := c.State(t.Context())
	if err == nil {
		err = proc.Signal(state.Shim, syscall.SIGSTOP)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proc.Signal(state.Shim, syscall.SIGCONT) }) // again, if the test has failed
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan runtime.Outcome, 1)
	go func() {
		out, _ := c.Deliver(ctx, &DeliverRequest{Name: "r-1 1", ID: "r-1", Text: []byte("<a prompt>")}) // an error says that it gave up
		ended <- out
	}()
	select {
	case out := <-ended:
		if out.State != runtime.OutcomeUnconfirmed {
			t.Errorf("%+v, want it unconfirmed", out)
		}
	case <-time.After(3 * cancelLimit):
		t.Error("the delivery does not return")
	}
	if err := proc.Signal(state.Shim, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	var out runtime.Outcome
	waitFor(t, "the outcome", func() bool {
		out, err = c.Resolve(t.Context(), ResolveRequest{Name: "r-1 1", ID: "r-1"})
		return err != nil || out.Reason != runtime.RefusedBusy
	})
	if text, textErr := c.Text(t.Context(), 0); err != nil || textErr != nil || out.Unsent && strings.Contains(text, "<a prompt>") {
		t.Errorf("%+v, %v, and the agent got %q, %v", out, err, text, textErr)
	}
}
