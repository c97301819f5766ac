package tmux

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// flood starts panes that print without end and returns their sessions.
func flood(t testing.TB, client *controlClient, panes int) []string {
	t.Helper()
	var sessions []string
	for i := range panes {
		sessions = append(sessions, fmt.Sprint("flood", i))
		mustOutput(t, client, cmd("new-session", "-d", "-s", sessions[i], "yes", "0123456789012345678901234567890123456789"))
	}
	return sessions
}

func needsPause(t testing.TB, client *controlClient) {
	t.Helper()
	if _, features, _ := client.Server(); !features.Pause {
		t.Skip("this tmux cannot pause panes: a flood that is read holds up its replies")
	}
}

// roundTrip returns the median time of a command about another pane, and of a process of tmux
// that asks the same, taken in turn.
func roundTrip(t testing.TB, client *controlClient, o clientOptions, turns int) (ours, process time.Duration) {
	t.Helper()
	var all [2][]time.Duration
	for range turns {
		begin := time.Now()
		mustOutput(t, client, cmd("display-message", "-p", "-t", "=quiet:", "#{pane_pid}"))
		all[0] = append(all[0], time.Since(begin))
		begin = time.Now()
		if err := exec.CommandContext(withDeadline(t), o.Binary, "-S", o.Socket, "display-message", "-p", "-t", "=quiet:", "#{pane_pid}").Run(); err != nil {
			t.Fatal(err)
		}
		all[1] = append(all[1], time.Since(begin))
	}
	slices.Sort(all[0])
	slices.Sort(all[1])
	return all[0][turns/2], all[1][turns/2]
}

// A server of tmux is one thread: what it takes to parse a flood, everybody pays. Hearing the flood must not
// add to it, and an operation must stay cheaper than a process of tmux that does the same.
func TestAFloodDoesNotHoldUpReplies(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	if _, err := client.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	needsPause(t, client)
	quiet := startPane(t, client, "quiet", "cat")
	idle, _ := roundTrip(t, client, o, 20)
	sessions := flood(t, client, 20)
	unheard, _ := roundTrip(t, client, o, 20)
	events := client.Subscribe()
	defer events.Close()
	for _, session := range sessions {
		mustOutput(t, client, cmd("link-window", "-d", "-s", "="+session+":", "-t", "="+hub+":"))
	}
	heard, process := roundTrip(t, client, o, 20)
	t.Logf("round trip: idle %v, flood without a reader %v, flood with a reader %v, a process during it %v", idle, unheard, heard, process)
	if heard > 5*unheard+time.Millisecond {
		t.Errorf("a reply takes %v during a flood that is read, %v when it is not", heard, unheard)
	}
	if heard > process {
		t.Errorf("a reply takes %v, a process of tmux %v", heard, process)
	}

	gap := waitForEcho(t, client, events, quiet)
	if !gap {
		awaitEvent(t, events, "a gap in the flood", func(e controlEvent) bool { return e.Gap })
	}
}

// waitForEcho types into a pane that echoes until the echo is read: what it prints while it is
// paused is a gap. It reports whether there was one.
func waitForEcho(t testing.TB, client *controlClient, events *subscription, pane string) (gap bool) {
	t.Helper()
	ctx := withDeadline(t)
	for {
		mustOutput(t, client, cmd("send-keys", "-t", pane, "-l", "--", "needle"))
		soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		for {
			event, err := events.Next(soon)
			if ctx.Err() != nil {
				t.Fatalf("%s is not read any more", pane)
			}
			if err != nil {
				break
			}
			if len(event.Data) > 256<<10 {
				t.Errorf("one event holds %d bytes", len(event.Data))
			}
			gap = gap || event.Gap
			if event.Pane == pane && bytes.Contains(event.Data, []byte("needle")) {
				cancel()
				return gap
			}
		}
		cancel()
	}
}

func TestPausedPanesAreHeardAgain(t *testing.T) {
	client := startedClient(t)
	needsPause(t, client)
	events := client.Subscribe()
	defer events.Close()
	const flood = 3_000_000
	id := startPane(t, client, "x", "sh", "-c", fmt.Sprintf("read line; head -c %d /dev/zero | tr '\\0' x; exec cat", flood))
	mustOutput(t, client, cmd("send-keys", "-t", id, "Enter"))
	_, features, _ := client.Server()
	began, heard, gap := time.Now(), 0, false
	awaitEvent(t, events, "a gap, or all of it", func(e controlEvent) bool {
		if e.Pane == id {
			heard += len(e.Data)
		}
		gap = gap || e.Pane == id && e.Gap || e.Kind == eventResync && !features.Pause
		return gap || heard >= flood
	})
	if took := time.Since(began); !gap && took < 2*time.Second { // more than 1 MiB/s is paused
		t.Errorf("%d bytes were read in %s, and nothing was paused", heard, took)
	}
	waitForEcho(t, client, events, id)
}

func TestAReaderThatSleepsHoldsUpNobody(t *testing.T) {
	client := startedClient(t)
	asleep := client.Subscribe()
	defer asleep.Close()
	for i := range 5000 {
		if i%1000 == 0 {
			mustOutput(t, client, cmd("display-message", "-p", "x"))
		}
		if _, err := client.Do(withDeadline(t), cmd("rename-window", "-t", "="+hub+":", fmt.Sprint("n", i))); err != nil {
			t.Fatal(err)
		}
	}
	events := 0
	for ; ; events++ {
		event, err := asleep.Next(withDeadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if event.Kind == eventWindowRenamed && strings.HasSuffix(event.Text, " n4999") {
			break
		}
		if events == 0 && event.Kind != eventResync {
			t.Errorf("the first event after too many is %v, want a Resync", event)
		}
	}
	if events > 4096 {
		t.Errorf("%d events waited", events)
	}
}
