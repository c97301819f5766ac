package tmux_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/proc"
	"gascity/provider/tmux"
	"gascity/runtime"
)

// person is a person with an attached terminal.
type person struct {
	t   *testing.T
	tty *os.File
}

func (r *testCity) person(name string) *person {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), self, "attach", r.dir, name)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	before := r.attached(name)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 51, Cols: 200})
	if err != nil {
		r.t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, tty); close(gone) }() // the output that the person sees; until the terminal ends
	r.t.Cleanup(func() {
		_ = tty.Close() // no more input
		_ = cmd.Wait()  // the end of the test's context has killed it, and the client with it
		select {
		case <-gone:
		case <-time.After(limit):
			r.t.Errorf("the terminal of %s is not closed %s after the client that was attached by it was killed\n%s", name, limit, r.describeState())
		}
	})
	until(r.t, "somebody is attached", func() bool { return r.attached(name) > before })
	return &person{r.t, tty}
}

// needsKeyHold skips the test if the server cannot hold keys of people, which needs 3.3.
func (r *testCity) needsKeyHold() {
	r.t.Helper()
	if before(r.t, "3.3") {
		r.t.Skip("this tmux cannot keep keys back")
	}
}

func (r *testCity) attached(name string) int {
	obs, err := r.Observe(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return obs.Attached
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(text); err != nil {
		p.t.Error(err)
	}
}

// describeState returns the state of this process and of the server, for failures that are hard to reproduce.
// The most useful part is last, because the beginning may be cut.
func (r *testCity) describeState() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // to memory
	for _, args := range [][]string{
		{"list-clients", "-F", "#{client_pid} control #{client_control_mode} session #{client_session} table #{client_key_table}"},
		{"list-panes", "-a", "-F", "#{session_name} dead #{pane_dead} mode #{pane_mode} hold #{@gc_hold} held #{@gc_held} entered #{@gc_entered} active #{session_activity}"},
	} {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), limit)
		out, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(r.dir, "tmux", "s")}, args...)...).CombinedOutput()
		cancel()
		fmt.Fprintf(&b, "%s: %v\n%s", args[0], err, out)
	}
	all, err := proc.List()
	fmt.Fprintf(&b, "processes of %s: %v\n", r.dir, err)
	for _, info := range all {
		argv, err := proc.Argv(info.PID)
		if line := strings.Join(argv, " "); err == nil && strings.Contains(line, r.dir) {
			fmt.Fprintf(&b, "%d state %v", info.PID, info.State)
			for _, file := range []string{"wchan", "syscall", "stack"} {
				text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", info.PID, file)) // the process may be gone
				fmt.Fprintf(&b, " %s %s", file, strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", " "))
			}
			fmt.Fprintf(&b, ": %.120s\n", line)
		}
	}
	return b.String()
}

// interrupt types a line, key by key, as soon as the terminal shows the text, or over is closed. It returns the
// time of the first key.
func (r *testCity) interrupt(p *person, name, text, line string, over <-chan struct{}) (began time.Time) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for shown := false; !shown; {
		select {
		case <-over:
			shown = true
		case <-look.C:
			screen, err := r.Peek(name, 0)
			shown = err != nil || strings.Contains(screen, text)
		}
	}
	began = time.Now()
	for _, key := range line {
		p.types(string(key))
		<-time.After(2 * time.Millisecond) // the speed of a person
	}
	return began
}

// People type while a text of gc is in the input box. Their keys arrive after its Enter, complete and in order.
func TestKeysWaitForTheEnterOfAPrompt(t *testing.T) {
	t.Parallel()
	const agents, prompts = 5, 9
	r := newTestCity(t, func(cfg *tmux.Config) { cfg.HumanQuiet = time.Millisecond })
	var everyone sync.WaitGroup
	var waited, unknown atomic.Int32
	for i := range agents {
		name := fmt.Sprintf("s%d", i)
		a := r.start(name, "claude", "")
		r.needsKeyHold()
		p := r.person(name)
		everyone.Go(func() {
			seen := ""
			for n := range prompts {
				confirmed, ok := a.between(p, n)
				if !ok {
					return
				}
				if !confirmed {
					unknown.Add(1)
				}
				if held := r.runTmux("display-message", "-p", "-t", "="+name+":", "#{@gc_held}"); held != seen {
					seen = held
					waited.Add(1)
				}
			}
		})
	}
	everyone.Wait()
	t.Logf("%d prompts: keys waited at %d, %d unconfirmed", agents*prompts, waited.Load(), unknown.Load())
	if waited.Load() < prompts {
		t.Error("hardly any key has waited: this proves little")
	}
}

// between delivers prompt n while the person types a line, and reports whether both were accepted in order. Keys
// wait at most holdSeconds. If the agent does not show the accepted prompt by then, the keys of the person
// follow, and nothing can prove it any more. Only then the prompt may be unconfirmed.
func (a *agent) between(p *person, n int) (confirmed, ok bool) {
	prompt, line := fmt.Sprintf("prompt %d of ours, é漢", n), fmt.Sprintf("person %d at their own line", n)
	over, typing := make(chan struct{}), make(chan time.Time, 1)
	go func() { typing <- a.interrupt(p, a.name, prompt, line+"\r", over) }()
	began := time.Now()
	out := a.insist(runtime.Delivery{ID: prompt, Content: runtime.TextContent(prompt), Confirm: limit})
	took := time.Since(began)
	close(over)
	typed := <-typing
	got := a.wait(ledger.Prompt, 2*n+2)
	if at := 2 * n; len(got) != at+2 || got[at].Text != prompt || got[at+1].Text != line {
		a.t.Errorf("%s took %+v for %q and %q", a.name, got[at:], prompt, line)
		return false, false
	}
	confirmed = out.State == runtime.OutcomeSubmitted
	if waited := got[2*n+1].Time.Sub(typed); !confirmed && (out.State != runtime.OutcomeUnconfirmed || waited < 2*time.Second) {
		a.t.Errorf("%s: %q is %+v after %v, the keys waited for %v\n%s", a.name, prompt, out, took, waited, a.describeState())
		return confirmed, false
	}
	return confirmed, true
}

// insist delivers until the prompt is not refused. A delivery that hangs is ended and prints its stack.
func (a *agent) insist(d runtime.Delivery) runtime.Outcome {
	ctx, cancel := context.WithTimeout(a.t.Context(), 8*limit)
	defer cancel()
	defer time.AfterFunc(7*limit, func() { a.t.Errorf("%s: %q does not end\n%s", a.name, d.ID, a.describeState()) }).Stop()
	for end := time.Now().Add(4 * limit); ; {
		out, err := a.Deliver(ctx, a.name, d)
		if err != nil || out.State == runtime.OutcomeRefused && time.Now().After(end) {
			screen, _ := a.Peek(a.name, 12) // empty if it fails
			a.t.Errorf("%s: %+v, %v; keys: %s\n%s", a.name, out, err, a.runTmux("display-message", "-p", "-t", "="+a.name+":", "#{@gc_hold} #{@gc_held} #{gc_beat}"), screen)
			return out
		}
		if out.State != runtime.OutcomeRefused {
			return out
		}
		<-time.After(20 * time.Millisecond)
	}
}

// keyLog starts a program that records each byte that it reads, and returns what it has read so far.
func (r *testCity) keyLog(name string) func() string {
	r.t.Helper()
	file := filepath.Join(r.dir, name+".keys")
	r.shell(name, `stty raw -echo; printf '\033[?2004h'; exec cat > `+file, nil)
	return func() string {
		p, err := os.ReadFile(file)
		if err != nil {
			return ""
		}
		return string(p)
	}
}

// acquireKeyHold holds a session's keys as a deliverer does.
func (r *testCity) acquireKeyHold(name, id string) {
	r.t.Helper()
	r.runTmux("wait-for", "-L", id, ";", "set-option", "-p", "-t", "="+name+":", "@gc_hold", id)
}

func (r *testCity) releaseKeyHold(name, id string) {
	r.t.Helper()
	r.runTmux("wait-for", "-U", id, ";", "set-option", "-p", "-u", "-t", "="+name+":", "@gc_hold")
}

// Keys that a person types while keys are held arrive afterwards unchanged.
func TestHeldKeysArriveUnchanged(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	read := r.keyLog("s")
	r.needsKeyHold()
	p := r.person("s")
	all := []string{"plain text; 'quoted' #{pane_id}\r", "é漢🙂", "\x1b[A\x1b[B", "\x1bOP\x1b[15~", "\x1bx", "\x01\x03\x7f\t", "~$HOME"}
	if before(t, "3.4") { // since then pasted text is not looked up in key tables
		all = append(all, "\x1b[200~pasted\ntext;\x02d\x1b[201~", "and typed")
	}
	for i, keys := range all {
		id := fmt.Sprintf("hold-%d", i)
		r.acquireKeyHold("s", id)
		before := read()
		p.types(keys)
		until(t, "a key waits", func() bool { return r.runTmux("display-message", "-p", "-t", "=s:", "#{@gc_held}") == id })
		r.runTmux("send-keys", "-t", "=s:", "-l", "[ours]")
		until(t, "ours is there", func() bool { return read() == before+"[ours]" })
		r.releaseKeyHold("s", id)
		until(t, fmt.Sprintf("%q arrives behind %q", keys, read()), func() bool { return read() == before+"[ours]"+keys })
	}
}

// The keys of each of several people at one session keep their order.
func TestKeysOfSeveralPeopleWait(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	read := r.keyLog("s")
	r.needsKeyHold()
	one, two := r.person("s"), r.person("s")
	r.acquireKeyHold("s", "hold")
	for i := range 20 {
		one.types(string(rune('a' + i)))
		two.types(string(rune('A' + i)))
	}
	until(t, "a key waits", func() bool { return r.runTmux("display-message", "-p", "-t", "=s:", "#{@gc_held}") == "hold" })
	r.releaseKeyHold("s", "hold")
	until(t, "all have arrived", func() bool { return len(read()) == 40 })
	lower := strings.Map(func(c rune) rune {
		if c < 'a' {
			return -1
		}
		return c
	}, read())
	upper := strings.Map(func(c rune) rune {
		if c >= 'a' {
			return -1
		}
		return c
	}, read())
	if lower != "abcdefghijklmnopqrst" || upper != "ABCDEFGHIJKLMNOPQRST" {
		t.Errorf("they arrived as %q", read())
	}
}

// A process that holds keys and is killed blocks neither a person nor the next delivery.
func TestHeldKeysAreReleasedWithoutTheDeliverer(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	read := r.keyLog("s")
	r.needsKeyHold()
	p := r.person("s")
	r.acquireKeyHold("s", "of-the-dead")
	began := time.Now()
	p.types("hello")
	until(t, "they arrive", func() bool { return read() == "hello" })
	if took := time.Since(began); took < time.Second {
		t.Errorf("they were not kept back: %s", took)
	}
	p.types(" again")
	until(t, "the next ones arrive", func() bool { return read() == "hello again" })
	if left := r.runTmux("display-message", "-p", "-t", "=s:", "#{@gc_hold}"); left != "" {
		t.Errorf("%q still stands", left)
	}
}

// The prefix key always works: a person detaches while keys are held.
func TestPersonDetachesWhileKeysAreHeld(t *testing.T) {
	t.Parallel()
	r, d := newTestCity(t), newTestTerminal(t)
	read := r.keyLog("s")
	r.needsKeyHold()
	seat := d.attach(100, 30, r.dir, "s")
	until(t, "somebody is attached", func() bool { return r.IsAttached("s") })
	r.acquireKeyHold("s", "hold")
	d.leave(seat)
	again := d.attach(100, 30, r.dir, "s")
	until(t, "somebody is attached", func() bool { return r.IsAttached("s") })
	d.keys(again, `C-\`)
	d.shows(again, "left 0")
	if got := read(); got != "" {
		t.Errorf("the program has got %q", got)
	}
	last := d.attach(100, 30, r.dir, "s")
	until(t, "somebody is attached", func() bool { return r.IsAttached("s") })
	d.keys(last, "C-b", "C-b", "x") // the prefix itself
	until(t, "they arrive", func() bool { return read() == "\x02x" })
}

// A deliverer is killed while it holds the keys of a person. No key is lost, and all arrive when the limit of
// the hold has passed.
func TestKilledDelivererBlocksNoPerson(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, p := r.start("s", "claude", ""), r.person("s")
	r.needsKeyHold()
	file := filepath.Join(r.dir, "text")
	if err := os.WriteFile(file, []byte("of the killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	for held := false; !held; { // it is refused right after the person has attached
		cmd := exec.CommandContext(t.Context(), self, "deliver", r.dir, "s", "killed", file)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait() }() // killed, or refused
		for over := false; !over && !held; {
			select {
			case <-ended:
				over = true
			default:
				held = r.runTmux("display-message", "-p", "-t", "=s:", "#{@gc_hold}") != ""
			}
		}
		_ = cmd.Process.Kill() // it may have exited
		<-ended
	}
	p.types("a line")
	until(t, "they are there", func() bool {
		text, err := r.Peek("s", 0)
		return err == nil && strings.Contains(text, "a line")
	})
	until(t, "nothing is kept back", func() bool { return r.runTmux("display-message", "-p", "-t", "=s:", "#{@gc_hold}") == "" })
	p.types(" of mine\r")
	until(t, "the agent takes the line", func() bool { // after the prompt, or joined to an interrupted text
		prompts := ledger.Prompts(all(t, a.file))
		return len(prompts) > 0 && strings.HasSuffix(prompts[len(prompts)-1].Text, "a line of mine")
	})
}
