package tmux

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

func TestEventsOfSessions(t *testing.T) {
	client := startedClient(t)
	events := client.Subscribe()
	defer events.Close()
	id := startPane(t, client, "x", "cat")
	awaitEvent(t, events, "the new session", ofKind(eventSessionsChanged))
	window := mustOutput(t, client, cmd("display-message", "-p", "-t", id, "#{window_id}"))
	mustOutput(t, client, cmd("rename-window", "-t", window, "a  b"))
	awaitEvent(t, events, "the new name", func(e controlEvent) bool {
		return e.Kind == eventWindowRenamed && e.Text == window+" a  b"
	})
	mustOutput(t, client, cmd("send-keys", "-t", id, "-l", "--", "héllo\\;"))
	var got string
	awaitEvent(t, events, "the echo", func(e controlEvent) bool {
		if e.Kind == eventOutput && e.Pane == id {
			got += string(e.Data)
		}
		return strings.Contains(got, "héllo\\;")
	})
	mustOutput(t, client, cmd("copy-mode", "-t", id))
	awaitEvent(t, events, "the mode", func(e controlEvent) bool { return e.Kind == eventPaneMode && e.Text == id })
	mustOutput(t, client, cmd("rename-session", "-t", "=x", "y"))
	awaitEvent(t, events, "the session's name", func(e controlEvent) bool {
		return e.Kind == eventSessionRenamed && strings.HasSuffix(e.Text, " y")
	})
	mustOutput(t, client, cmd("kill-session", "-t", "=y"))
	mustOutput(t, client, cmd("kill-window", "-t", window))
	awaitEvent(t, events, "the end of the window", func(e controlEvent) bool { return e.Kind == eventWindowClose && e.Text == window })
}

func TestIfChecksAndActsAtOnce(t *testing.T) {
	client := startedClient(t)
	id := startPane(t, client, "x", "cat")
	mustOutput(t, client, cmd("set-option", "-p", "-t", id, "@token", "abc"))
	say := func(text string) tmuxCommand { return cmd("display-message", "-p", text) }
	check := ifFormat(id, "#{==:#{@token},abc}", sequence(say("one;"), say("two")), say("other"))
	if got := mustOutput(t, client, check); got != "one;\ntwo" {
		t.Errorf("the condition holds: got %q", got)
	}
	if got := mustOutput(t, client, ifFormat(id, "#{==:#{@token},abd}", say("then"), say("other"))); got != "other" {
		t.Errorf("the condition does not hold: got %q", got)
	}
	if got := mustOutput(t, client, ifFormat("%999", "#{pane_id}", say("then"), say("other"))); got != "other" {
		t.Errorf("no such pane: got %q", got)
	}
	if got := mustOutput(t, client, ifFormat(id, "1", tmuxCommand{}, say("other"))); got != "" {
		t.Errorf("nothing to do: got %q", got)
	}
	_, err := client.Do(withDeadline(t), ifFormat(id, "1", sequence(say("a"), cmd("has-session", "-t", "=none"), say("b")), tmuxCommand{}))
	if !errors.Is(err, errNotFound) {
		t.Errorf("a command in it fails: got %v", err)
	}
}

func TestRefusalsAreTyped(t *testing.T) {
	client := startedClient(t)
	startPane(t, client, "x", "cat")
	for _, test := range []struct {
		command tmuxCommand
		want    error
	}{
		{cmd("has-session", "-t", "=y"), errNotFound},
		{cmd("list-panes", "-t", "%99"), errNotFound},
		{cmd("select-window", "-t", "@99"), errNotFound},
		{cmd("capture-pane", "-p", "-t", "=y:"), errNotFound},
		{cmd("show-buffer", "-b", "none"), errNotFound},
		{cmd("paste-buffer", "-b", "none"), errNotFound},
		{cmd("show-environment", "-t", "=x", "NONE"), errNotFound},
		{cmd("detach-client", "-t", "none"), errNotFound},
		{cmd("new-session", "-d", "-s", "x"), errExists},
		{cmd("rename-session", "-t", "="+hub, "x"), errExists},
	} {
		_, err := client.Do(withDeadline(t), test.command)
		var refused *commandError
		if !errors.Is(err, test.want) || !errors.As(err, &refused) {
			line, _ := test.command.Line()
			t.Errorf("%s: got %v, want %v", line, err, test.want)
		}
	}
}

func TestACallThatIsGivenUpLeavesTheOthersTheirReplies(t *testing.T) {
	client := startedClient(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 100 {
		if _, err := client.Do(ended, cmd("display-message", "-p", "lost")); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := mustOutput(t, client, cmd("display-message", "-p", fmt.Sprint(i))); got != fmt.Sprint(i) {
			t.Fatalf("got the reply %q, want %d", got, i)
		}
	}
}

func TestWhatAPaneShowsIsNeverTheProtocol(t *testing.T) {
	client := startedClient(t)
	events := client.Subscribe()
	defer events.Close()
	// The numbers of the next replies are easy to guess; the pane shows the ends of a thousand of them.
	script := `n=$(date +%s); i=0; while [ $i -lt 400 ]; do for s in 0 1; do echo "%end $((n+s)) $((i+200)) 1"; done; i=$((i+1)); done; echo %exit; echo ready; read x`
	script = "read line; " + script
	id := startPane(t, client, "x", "sh", "-c", script)
	mustOutput(t, client, cmd("send-keys", "-t", id, "Enter"))
	var seen string
	awaitEvent(t, events, "the pane", func(e controlEvent) bool {
		seen += string(e.Data)
		return e.Pane == id && strings.Contains(seen, "ready")
	})
	shown := mustOutput(t, client, cmd("capture-pane", "-p", "-S", "-", "-t", id))
	if lines := strings.Count(shown, "%end "); lines != 800 || !strings.Contains(shown, "%exit\nready") {
		t.Errorf("%d of 800 lines came", lines)
	}
	if got := mustOutput(t, client, cmd("display-message", "-p", "next")); got != "next" {
		t.Errorf("the next reply is %q", got)
	}
}

// What a process of tmux has done is counted when the next reply has come.
func TestChangesAreCountedBeforeTheReply(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	if _, err := client.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(withDeadline(t), o.Binary, append([]string{"-S", o.Socket}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	ask := func() uint64 {
		t.Helper()
		mustOutput(t, client, cmd("display-message", "-p", "x"))
		return client.Changes()
	}
	tmux("new-session", "-d", "-s", "x", "exec cat", ";", "link-window", "-d", "-s", "=x:", "-t", "="+hub+":")
	for _, words := range [][]string{
		{"new-session", "-d", "-s", "y", "exec cat"},
		{"rename-window", "-t", "=x:", "other"},
		{"new-window", "-d", "-t", "=y:", "exec cat"},
		{"kill-session", "-t", "=y"},
		{"unlink-window", "-t", "=x:"},
		{"kill-window", "-t", "=" + hub + ":other"},
	} {
		before := ask()
		if again := ask(); again != before {
			t.Errorf("before %q: nothing was done, and the count went from %d to %d", words, before, again)
		}
		tmux(words...)
		if ask() == before {
			t.Errorf("%q is not counted", words)
		}
	}
}
