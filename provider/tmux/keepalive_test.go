package tmux

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
)

// behindCat puts a cat behind the output of tmux's client, so that a test can be a slow reader
// by stopping it. It returns the process of the cat.
func behindCat(t *testing.T, o *clientOptions) (cat func() int) {
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
// slowly, it forgets the lines that wait behind that output until something else is said. It
// does not do so each time.
func TestAPauseHoldsUpNothing(t *testing.T) {
	for name, try := range map[string]func(*testing.T, *slowReader){
		"a reply": func(t *testing.T, s *slowReader) {
			reply := make(chan error, 1)
			go func() {
				out, err := s.client.Output(withDeadline(t), cmd("display-message", "-p", "reply"))
				if err == nil && string(out) != "reply" {
					err = fmt.Errorf("the reply is %q", out)
				}
				reply <- err
			}()
			s.wakes()
			if err := <-reply; err != nil {
				t.Fatal(err)
			}
			waitForEcho(t, s.client, s.events, s.loud)
		},
		"an event": func(t *testing.T, s *slowReader) {
			s.tmux("rename-window", "-t", s.loud, "renamed")
			s.wakes()
			awaitEvent(t, s.events, "the new name", ofKind(eventWindowRenamed))
			waitForEcho(t, s.client, s.events, s.loud)
		},
		"an end": func(t *testing.T, s *slowReader) {
			s.tmux("rename-window", "-t", s.loud, "renamed")
			s.wakes()
			if err := s.client.Close(withDeadline(t)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for n := range 4 {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				t.Parallel()
				s := newSlowReader(t)
				try(t, s)
				if took := time.Since(s.woke); took > clientDeadline/2 {
					t.Errorf("it took %s", took)
				}
			})
		}
	}
}

// slowReader is a client that does not read while output of a pane waits for it.
type slowReader struct {
	t       *testing.T
	options clientOptions
	client  *controlClient
	events  *subscription
	loud    string
	cat     int
	woke    time.Time
}

func newSlowReader(t *testing.T) *slowReader {
	t.Helper()
	s := &slowReader{t: t, options: testOptions(t)}
	behind := s.options
	cat := behindCat(t, &behind)
	s.client = testClient(t, behind)
	if _, err := s.client.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	needsPause(t, s.client)
	s.events = s.client.Subscribe()
	t.Cleanup(s.events.Close)
	s.loud = startPane(t, s.client, "loud", "sh", "-c", "read line; head -c 200000 /dev/zero | tr '\\0' x; exec cat")
	mustOutput(t, s.client, cmd("set-option", "-w", "-t", s.loud, "automatic-rename", "off")) // which would say something else
	s.cat = cat()
	if err := syscall.Kill(s.cat, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.tmux("send-keys", "-t", s.loud, "Enter")
	for last, now := "", "-"; last != now || now == "0"; { // as much waits as the server reads
		<-time.After(100 * time.Millisecond)
		last, now = now, s.tmux("display-message", "-p", "-t", s.loud, "#{history_size}")
	}
	return s
}

// wakes has the client read again, when what waits is older than the pause-after of a client.
func (s *slowReader) wakes() {
	s.t.Helper()
	<-time.After(1500 * time.Millisecond)
	s.woke = time.Now()
	if err := syscall.Kill(s.cat, syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
}

// tmux runs a command in a process of its own.
func (s *slowReader) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(withDeadline(s.t), s.options.Binary, append([]string{"-S", s.options.Socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A server is reminded after something was said, and then left alone. On a slow machine it may
// be reminded more than once.
func TestASilentServerIsLeftAlone(t *testing.T) {
	o := testOptions(t)
	client := testClient(t, o)
	if _, err := client.Start(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	needsPause(t, client)
	reminders := func() int {
		out, err := exec.CommandContext(withDeadline(t), o.Binary, "-S", o.Socket, "show-messages").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(out), "command: display-message -p ''") + strings.Count(string(out), `command: display-message -p ""`)
	}
	for range 2 {
		before := reminders()
		mustOutput(t, client, cmd("display-message", "-p", "something"))
		last, since := before, time.Now()
		for ctx := withDeadline(t); last == before || time.Since(since) < 2*time.Second; {
			<-time.After(50 * time.Millisecond)
			if n := reminders(); n != last {
				last, since = n, time.Now()
			}
			if ctx.Err() != nil {
				t.Fatalf("%d reminders, and no end", last-before)
			}
		}
		if last-before > 5 {
			t.Errorf("%d reminders after one command", last-before)
		}
	}
}
