package tmuxserver_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"gascity/internal/tmuxserver"
)

func TestEventsOfSessions(t *testing.T) {
	client := started(t)
	events := client.Subscribe()
	defer events.Close()
	id := pane(t, client, "x", "cat")
	await(t, events, "the new session", ofKind(tmuxserver.SessionsChanged))
	window := output(t, client, tmuxserver.Cmd("display-message", "-p", "-t", id, "#{window_id}"))
	output(t, client, tmuxserver.Cmd("rename-window", "-t", window, "a  b"))
	await(t, events, "the new name", func(e tmuxserver.Event) bool {
		return e.Kind == tmuxserver.WindowRenamed && e.Text == window+" a  b"
	})
	output(t, client, tmuxserver.Cmd("send-keys", "-t", id, "-l", "--", "héllo\\;"))
	var got string
	await(t, events, "the echo", func(e tmuxserver.Event) bool {
		if e.Kind == tmuxserver.Output && e.Pane == id {
			got += string(e.Data)
		}
		return strings.Contains(got, "héllo\\;")
	})
	output(t, client, tmuxserver.Cmd("copy-mode", "-t", id))
	await(t, events, "the mode", func(e tmuxserver.Event) bool { return e.Kind == tmuxserver.PaneMode && e.Text == id })
	output(t, client, tmuxserver.Cmd("rename-session", "-t", "=x", "y"))
	await(t, events, "the session's name", func(e tmuxserver.Event) bool {
		return e.Kind == tmuxserver.SessionRenamed && strings.HasSuffix(e.Text, " y")
	})
	output(t, client, tmuxserver.Cmd("kill-session", "-t", "=y"))
	output(t, client, tmuxserver.Cmd("kill-window", "-t", window))
	await(t, events, "the end of the window", func(e tmuxserver.Event) bool { return e.Kind == tmuxserver.WindowClose && e.Text == window })
}

func TestIfChecksAndActsAtOnce(t *testing.T) {
	client := started(t)
	id := pane(t, client, "x", "cat")
	output(t, client, tmuxserver.Cmd("set-option", "-p", "-t", id, "@token", "abc"))
	say := func(text string) tmuxserver.Command { return tmuxserver.Cmd("display-message", "-p", text) }
	check := tmuxserver.If(id, "#{==:#{@token},abc}", tmuxserver.Sequence(say("one;"), say("two")), say("other"))
	if got := output(t, client, check); got != "one;\ntwo" {
		t.Errorf("the condition holds: got %q", got)
	}
	if got := output(t, client, tmuxserver.If(id, "#{==:#{@token},abd}", say("then"), say("other"))); got != "other" {
		t.Errorf("the condition does not hold: got %q", got)
	}
	if got := output(t, client, tmuxserver.If("%999", "#{pane_id}", say("then"), say("other"))); got != "other" {
		t.Errorf("no such pane: got %q", got)
	}
	if got := output(t, client, tmuxserver.If(id, "1", tmuxserver.Command{}, say("other"))); got != "" {
		t.Errorf("nothing to do: got %q", got)
	}
	_, err := client.Do(limit(t), tmuxserver.If(id, "1", tmuxserver.Sequence(say("a"), tmuxserver.Cmd("has-session", "-t", "=none"), say("b")), tmuxserver.Command{}))
	if !errors.Is(err, tmuxserver.ErrNotFound) {
		t.Errorf("a command in it fails: got %v", err)
	}
}

func TestRefusalsAreTyped(t *testing.T) {
	client := started(t)
	pane(t, client, "x", "cat")
	for _, test := range []struct {
		command tmuxserver.Command
		want    error
	}{
		{tmuxserver.Cmd("has-session", "-t", "=y"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("list-panes", "-t", "%99"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("select-window", "-t", "@99"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("capture-pane", "-p", "-t", "=y:"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("show-buffer", "-b", "none"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("paste-buffer", "-b", "none"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("show-environment", "-t", "=x", "NONE"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("detach-client", "-t", "none"), tmuxserver.ErrNotFound},
		{tmuxserver.Cmd("new-session", "-d", "-s", "x"), tmuxserver.ErrExists},
		{tmuxserver.Cmd("rename-session", "-t", "="+tmuxserver.Hub, "x"), tmuxserver.ErrExists},
	} {
		_, err := client.Do(limit(t), test.command)
		var refused *tmuxserver.CommandError
		if !errors.Is(err, test.want) || !errors.As(err, &refused) {
			line, _ := test.command.Line()
			t.Errorf("%s: got %v, want %v", line, err, test.want)
		}
	}
}

func TestACallThatIsGivenUpLeavesTheOthersTheirReplies(t *testing.T) {
	client := started(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 100 {
		if _, err := client.Do(ended, tmuxserver.Cmd("display-message", "-p", "lost")); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := output(t, client, tmuxserver.Cmd("display-message", "-p", fmt.Sprint(i))); got != fmt.Sprint(i) {
			t.Fatalf("got the reply %q, want %d", got, i)
		}
	}
}

func TestWhatAPaneShowsIsNeverTheProtocol(t *testing.T) {
	client := started(t)
	events := client.Subscribe()
	defer events.Close()
	// The numbers of the next replies are easy to guess; the pane shows the ends of a thousand of them.
	script := `n=$(date +%s); i=0; while [ $i -lt 400 ]; do for s in 0 1; do echo "%end $((n+s)) $((i+200)) 1"; done; i=$((i+1)); done; echo %exit; echo ready; read x`
	script = "read line; " + script
	id := pane(t, client, "x", "sh", "-c", script)
	output(t, client, tmuxserver.Cmd("send-keys", "-t", id, "Enter"))
	var seen string
	await(t, events, "the pane", func(e tmuxserver.Event) bool {
		seen += string(e.Data)
		return e.Pane == id && strings.Contains(seen, "ready")
	})
	shown := output(t, client, tmuxserver.Cmd("capture-pane", "-p", "-S", "-", "-t", id))
	if lines := strings.Count(shown, "%end "); lines != 800 || !strings.Contains(shown, "%exit\nready") {
		t.Errorf("%d of 800 lines came", lines)
	}
	if got := output(t, client, tmuxserver.Cmd("display-message", "-p", "next")); got != "next" {
		t.Errorf("the next reply is %q", got)
	}
}

// What a process of tmux has done is counted when the next reply has come.
func TestChangesAreCountedBeforeTheReply(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	if _, err := client.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(limit(t), o.Binary, append([]string{"-S", o.Socket}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	ask := func() uint64 {
		t.Helper()
		output(t, client, tmuxserver.Cmd("display-message", "-p", "x"))
		return client.Changes()
	}
	tmux("new-session", "-d", "-s", "x", "exec cat", ";", "link-window", "-d", "-s", "=x:", "-t", "="+tmuxserver.Hub+":")
	for _, words := range [][]string{
		{"new-session", "-d", "-s", "y", "exec cat"},
		{"rename-window", "-t", "=x:", "other"},
		{"new-window", "-d", "-t", "=y:", "exec cat"},
		{"kill-session", "-t", "=y"},
		{"unlink-window", "-t", "=x:"},
		{"kill-window", "-t", "=" + tmuxserver.Hub + ":other"},
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
