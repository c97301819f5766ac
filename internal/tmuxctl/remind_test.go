package tmuxctl_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/tmuxctl"
)

// behindCat puts a cat behind the output of tmux's client, so that a test can be a slow reader
// by stopping it. It returns the process of the cat.
func behindCat(t *testing.T, o *tmuxctl.Options) (cat func() int) {
	t.Helper()
	dir := filepath.Dir(o.Socket)
	file, script := filepath.Join(dir, "cat"), filepath.Join(dir, "tmux")
	write := exec.Command("/bin/sh", "-c", `cat >"$1" && chmod 700 "$1"`, "sh", script) // what we write cannot be run while another test forks
	write.Stdin = strings.NewReader("#!/bin/sh\n[ \"$1\" = -V ] && exec " + o.Binary + " -V\n" + o.Binary + " \"$@\" | sh -c 'echo $$ >" + file + "; exec cat'\n")
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	o.Binary = script
	return func() int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
}

// When a server pauses the last pane that has output waiting, because a client reads too
// slowly, it forgets the lines that wait behind that output until something else is said.
// It does not do so each time.
func TestRepliesBehindAPauseArrive(t *testing.T) {
	for n := range 6 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			replyBehindAPause(t)
		})
	}
}

func replyBehindAPause(t *testing.T) {
	t.Helper()
	o := options(t)
	real := o.Binary
	cat := behindCat(t, &o)
	client := newClient(t, o)
	if _, err := client.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	needsPause(t, client)
	events := client.Subscribe(tmuxctl.OutputData)
	defer events.Close()
	loud := pane(t, client, "loud", "sh", "-c", "read line; head -c 200000 /dev/zero | tr '\\0' x; exec cat")
	output(t, client, tmuxctl.Cmd("set-option", "-w", "-t", loud, "automatic-rename", "off")) // which would say something else
	if err := syscall.Kill(cat(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(limit(t), real, "-S", o.Socket, "send-keys", "-t", loud, "Enter").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for last, now := "", "-"; last != now || now == "0"; { // as much waits as the server reads
		<-time.After(100 * time.Millisecond)
		out, err := exec.CommandContext(limit(t), real, "-S", o.Socket, "display-message", "-p", "-t", loud, "#{history_size}").Output()
		if err != nil {
			t.Fatal(err)
		}
		last, now = now, strings.TrimSpace(string(out))
	}
	reply := make(chan error, 1)
	go func() {
		out, err := client.Output(limit(t), tmuxctl.Cmd("display-message", "-p", "reply"))
		if err == nil && string(out) != "reply" {
			err = fmt.Errorf("the reply is %q", out)
		}
		reply <- err
	}()
	<-time.After(1500 * time.Millisecond) // what waits is older than the pause-after of a client
	if err := syscall.Kill(cat(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := <-reply; err != nil {
		t.Fatalf("after %s: %v", time.Since(began), err)
	}
	t.Logf("the reply took %s", time.Since(began))
	hearAgain(t, client, events, loud)
}

// A server is reminded once after something was said, and then left alone.
func TestASilentServerIsLeftAlone(t *testing.T) {
	o := options(t)
	client := newClient(t, o)
	if _, err := client.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	needsPause(t, client)
	reminders := func() int {
		out, err := exec.CommandContext(limit(t), o.Binary, "-S", o.Socket, "show-messages").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(out), "command: display-message -p ''") + strings.Count(string(out), `command: display-message -p ""`)
	}
	for turn := range 3 {
		output(t, client, tmuxctl.Cmd("display-message", "-p", "something"))
		for ctx := limit(t); reminders() <= turn; {
			if ctx.Err() != nil {
				t.Fatalf("%d reminders", reminders())
			}
			<-time.After(20 * time.Millisecond)
		}
		<-time.After(1500 * time.Millisecond)
		if n := reminders(); n != turn+1 {
			t.Fatalf("%d reminders after %d commands", n, turn+1)
		}
	}
}
