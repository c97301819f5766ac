package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
)

// renews is a helper that trades the refresh token of a login for the next one, which the login
// service accepts once, and for an access token. It stops at each step that is in the file pause
// until the file go exists, and records whether another one runs at the same time. Like some helpers, it prints
// the tokens before it saves them.
const renews = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
step() {
	[ "$(cat pause)" = "$1" ] || return 0
	echo $$ > at.tmp && mv at.tmp at
	while [ ! -e go ]; do sleep 0.02; done
}
mkdir busy 2>/dev/null || echo "$$" >> twice
token=$(cat login)
step asked
if [ "$token" != "$(cat server)" ]; then
	echo "$token" >> refused
	rmdir busy
	echo "invalid_grant: log in again" >&2
	exit 1
fi
n=$(($(cat grants) + 1))
echo "$n" > grants
echo "refresh-$n" > server
echo "the login service has answered" >&2
step granted
printf '{"value": "access-%s", "expires_at": "%s"}\n' "$n" "$(cat expires)"
echo "refresh-$n" > login.tmp && mv login.tmp login
step kept
rmdir busy
`

// login is a shared login.
type login struct {
	t   *testing.T
	dir string
}

func newLogin(t *testing.T) *login {
	t.Helper()
	l := &login{t, t.TempDir()}
	l.write("helper", renews)
	if err := os.Chmod(filepath.Join(l.dir, "helper"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	for name, text := range map[string]string{"login": "refresh-0\n", "server": "refresh-0\n", "grants": "0\n", "pause": "\n"} {
		l.write(name, text)
	}
	l.setValidity(time.Hour)
	return l
}

func (l *login) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		l.t.Fatal(err)
	}
}

func (l *login) read(name string) string {
	text, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (l *login) drop(name string) {
	if err := os.Remove(filepath.Join(l.dir, name)); err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
}

// setValidity sets how long tokens are valid that are granted from now on.
func (l *login) setValidity(life time.Duration) {
	l.write("expires", time.Now().Add(life).UTC().Format(time.RFC3339))
}

// pauses has the next helper stop at a step; it returns when one does.
func (l *login) pauses(step string) { l.write("pause", step+"\n") }

// paused waits for a helper that has stopped, and returns its process.
func (l *login) paused() int {
	l.t.Helper()
	l.until("a helper stops", func() bool { return l.read("at") != "" })
	pid, err := strconv.Atoi(l.read("at"))
	if err != nil {
		l.t.Fatal(err)
	}
	l.drop("at")
	return pid
}

// release continues the stopped helper. No other helper stops.
func (l *login) release() {
	l.pauses("")
	l.write("go", "")
}

func (l *login) until(what string, is func() bool) {
	l.t.Helper()
	end := time.After(waitLimit)
	for !is() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-end:
			l.t.Fatalf("never: %s; grants %s, refused %q", what, l.read("grants"), l.read("refused"))
		}
	}
}

// checkIntact checks that the login is still valid, and that no two renewals ran at the same time.
func (l *login) checkIntact() {
	l.t.Helper()
	if refused, twice := l.read("refused"), l.read("twice"); refused != "" || twice != "" {
		l.t.Errorf("the login service has refused %q; at the same time renewed %q", refused, twice)
	}
}

// sharing makes a city with an agent that uses the login. Its controllers share the directory of the login with
// those of other cities.
func (l *login) sharing() *city {
	l.t.Helper()
	c := newCityOf(l.t, fmt.Sprintf("[credentials.team]\ncommand = %q\nvariable = \"TEAM_TOKEN\"\n", filepath.Join(l.dir, "helper")), []member{
		{name: "a", flags: "--worker", ready: "fakeagent ready", toml: "session = \"subprocess\"\ncredentials = [\"team\"]"},
	})
	c.env = []string{"XDG_RUNTIME_DIR=" + l.dir}
	return c
}

// events returns the events of the login.
func (l *login) events(c *city) []string {
	l.t.Helper()
	page, err := c.client.PastEvents(l.t.Context(), 0)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, e := range page.Events {
		if kind, ok := strings.CutPrefix(e.Kind, "credential."); ok {
			out = append(out, kind)
		}
	}
	return out
}

// TestRenewalContinuesWithoutItsController: a helper continues when its controller is killed or stopped, at
// any step. The next controller waits for it, and the login stays valid.
func TestRenewalContinuesWithoutItsController(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"asked", "granted", "kept"} {
		for _, order := range []string{"killed", "ended"} {
			t.Run(step+"/"+order, func(t *testing.T) {
				t.Parallel()
				l := newLogin(t)
				c := l.sharing()
				l.pauses(step)
				c.start()
				l.paused()
				if order == "killed" {
					c.kill()
				} else {
					send(t, c.cmd.Process.Pid, syscall.SIGTERM)
					if err := <-c.ended; err != nil {
						t.Errorf("the controller ended with %v", err)
					}
				}
				l.pauses("")
				c.start() // it needs the login at once, and a helper is at work
				l.release()
				c.await("running", running)
				if err := c.promptAndWait("a", "hello"); err != nil {
					t.Error(err)
				}
				l.checkIntact()
				if n := l.read("grants"); n != "2" {
					t.Errorf("%s grants, want one for each controller", n)
				}
				c.stop()
			})
		}
	}
}

// TestKilledHelper: a kill before the response of the login service, or after the response was saved, is a
// normal failure. Between the two the login is lost, and only a new login repairs that. It is reported once, the
// agent continues, and its prompts wait.
func TestKilledHelper(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"asked", "granted", "kept"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			l := newLogin(t)
			c := l.sharing()
			l.setValidity(8 * time.Second)
			c.start()
			before := c.await("running", running)
			l.pauses(step)
			pid := l.paused() // it is renewed after half of its time
			l.setValidity(time.Hour)
			l.pauses("")
			send(t, pid, syscall.SIGKILL)
			l.drop("busy")
			want := "good failing good"
			if step == "granted" {
				want = "good failing expired good"
				l.until("the end is reported", func() bool { return strings.Join(l.events(c), " ") == "good failing expired" })
				r, err := c.client.Nudge(t.Context(), "a", client.NudgeRequest{Text: "It waits"})
				if err != nil {
					t.Fatal(err)
				}
				if r, err = c.client.Receipt(t.Context(), r.ID, ""); err != nil || r.State != client.ReceiptQueued && r.State != client.ReceiptAccepted {
					t.Errorf("without a login a prompt is %+v, %v", r, err)
				}
				l.drop("refused")
				l.write("login", l.read("server")+"\n") // a person logs in again
			}
			l.until("it is good again", func() bool { return strings.Join(l.events(c), " ") == want })
			if err := c.promptAndWait("a", "hello"); err != nil {
				t.Error(err)
			}
			l.checkIntact()
			if after := c.await("running", running); pids(after)["a"] != pids(before)["a"] {
				t.Error("the agent was started again")
			}
			c.stop()
		})
	}
}

// TestLoginExpiresWithoutAController: the login expires while no controller runs and the agent is busy.
// It is renewed once, and the agent continues.
func TestLoginExpiresWithoutAController(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	c := l.sharing()
	const life = 3 * time.Second
	l.setValidity(life)
	ends := time.Now().Add(life)
	c.start()
	before := c.await("running", running)
	c.kill()
	l.until("it has ended", func() bool { return time.Now().After(ends.Add(time.Second)) })
	had, _ := strconv.Atoi(l.read("grants")) // it is a number, or the test fails below
	l.setValidity(6 * time.Second)
	c.start()
	done := make(chan error, 1)
	go func() { done <- c.promptAndWait("a", "[[slow:8]] a long turn") }()
	l.until("it is renewed twice", func() bool { n, _ := strconv.Atoi(l.read("grants")); return n >= had+2 }) // as above
	l.setValidity(time.Hour)
	if err := <-done; err != nil {
		t.Errorf("the turn in which the login was renewed: %v", err)
	}
	l.checkIntact()
	if after := c.await("running", running); pids(after)["a"] != pids(before)["a"] {
		t.Error("the agent was started again")
	}
	c.stop()
}

// TestCitiesShareALogin: controllers of several cities, some of them killed while they renew,
// never renew at the same time.
func TestCitiesShareALogin(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	cities := []*city{l.sharing(), l.sharing(), l.sharing()}
	l.pauses("granted")
	cities[0].start()
	l.paused()
	l.pauses("")
	cities[1].start()
	cities[0].kill()
	cities[2].start()
	cities[0].start()
	l.release()
	for _, c := range cities {
		c.await("running", running)
	}
	l.checkIntact()
	if n := l.read("grants"); n != "4" {
		t.Errorf("%s grants, want 4", n)
	}
	for _, c := range cities {
		c.stop()
	}
}
