package dashboard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"gascity/internal/terminal/vt"
)

// cols and rows are the size of all terminals.
const cols, rows = 100, 30

// patience is longer than any step takes.
const patience = 30 * time.Second

// terminal is a program on a pseudo terminal, and the person in front of it.
type terminal struct {
	t         *testing.T
	cmd       *exec.Cmd
	tty       *os.File
	began     time.Time
	pressed   int       // number of keys
	pressedAt time.Time // the last one

	mu      sync.Mutex
	screen  *vt.Screen
	at      time.Time // of the last output
	changed chan struct{}
	ended   chan struct{}
}

// openTerminal starts a program on a terminal.
func openTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	w := &terminal{t: t, cmd: cmd, changed: make(chan struct{}), ended: make(chan struct{})}
	replies := make(chan []byte, 256)
	w.screen = vt.New(cols, rows, &vt.Options{Reply: func(p []byte) { replies <- slices.Clone(p) }, Scrollback: -1})
	w.began = time.Now()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: cols})
	if err != nil {
		t.Fatal(err)
	}
	w.tty = tty
	go w.read()
	go func() { // answers what the program asks its terminal
		for {
			select {
			case p := <-replies:
				_, _ = tty.Write(p) // the program may have ended
			case <-w.ended:
				return
			}
		}
	}()
	return w
}

// read draws the output until the program or the terminal ends.
func (w *terminal) read() {
	defer close(w.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.tty.Read(buf)
		w.mu.Lock()
		if n > 0 {
			w.screen.Write(buf[:n])
			w.at = time.Now()
		}
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// close hangs up, as a terminal does whose window is closed. A program that remains is killed with its process group.
func (w *terminal) close() {
	w.t.Helper()
	exited := make(chan struct{})
	go func() {
		_ = w.cmd.Wait() // its exit status says that it was hung up
		close(exited)
	}()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		_ = syscall.Kill(-w.cmd.Process.Pid, signal) // it may have ended
		select {
		case <-exited:
		case <-time.After(5 * time.Second):
		}
	}
	<-exited
	<-w.ended
	_ = w.tty.Close() // it was read to its end
}

// until waits until the screen is as wanted. It returns the time of the output that made it so.
func (w *terminal) until(what string, wanted func(screen string) bool) time.Time {
	w.t.Helper()
	limit := time.After(patience)
	for {
		w.mu.Lock()
		screen, at, changed := strings.Join(w.screen.Rows(), "\n"), w.at, w.changed
		w.mu.Unlock()
		if wanted(screen) {
			return at
		}
		select {
		case <-changed:
			continue
		case <-w.ended:
		case <-limit:
		}
		w.t.Fatalf("%v does not show %s; it shows:\n%s", w.cmd.Args, what, screen)
	}
}

// shows waits until the screen has a text.
func (w *terminal) shows(text string) time.Time {
	w.t.Helper()
	return w.until(strconv.Quote(text), func(screen string) bool { return strings.Contains(screen, text) })
}

// text returns the screen once it has not changed for a while, or after ten times as long.
func (w *terminal) text(quiet time.Duration) string {
	limit := time.After(10 * quiet)
	for {
		w.mu.Lock()
		screen, changed := strings.Join(w.screen.Rows(), "\n"), w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-w.ended:
			return screen
		case <-limit:
			return screen
		case <-time.After(quiet):
			return screen
		}
	}
}

// press presses keys one after the other, named as tmux names them. A key with Ctrl is one key. tmux takes keys for pasted text that
// come within a millisecond.
func (w *terminal) press(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		pause(20 * time.Millisecond)
		w.mu.Lock()
		b, err := vt.Key(key, w.screen.Modes())
		w.mu.Unlock()
		if err == nil {
			_, err = w.tty.Write(b)
		}
		if err != nil {
			w.t.Fatalf("cannot press %s: %v", key, err)
		}
		w.pressed, w.pressedAt = w.pressed+1, time.Now()
	}
}

var agentName = regexp.MustCompile(`agent-\d\d\b`)

// listed returns the number of agents that a screen names.
func listed(screen string) int {
	names := map[string]bool{}
	for _, name := range agentName.FindAllString(screen, -1) {
		names[name] = true
	}
	return len(names)
}

// processorTime returns the processor time of processes and of their children that have ended.
func processorTime(t *testing.T, pids []int) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("cannot read the processor time of process %d: %v", pid, err)
		}
		for _, thread := range threads {
			var ran int64
			if text, err := os.ReadFile(thread); err == nil { // else the thread has just ended
				if _, err := fmt.Sscan(string(text), &ran); err != nil {
					t.Fatal(err)
				}
			}
			sum += time.Duration(ran)
		}
		fields := statOf(pid)
		if len(fields) < 15 {
			t.Fatalf("process %d has ended", pid)
		}
		for _, field := range fields[13:15] { // of the children, in ticks of 10 ms
			ticks, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return sum
}

// statOf returns the fields of /proc/PID/stat behind the name of the program: the state is the first.
func statOf(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
}

// parentOf returns the parent of a process, 0 if the process has ended.
func parentOf(pid int) int {
	fields := statOf(pid)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // a number
	return parent
}

// family returns a process and its descendants without the agents.
func family(pid int) []int {
	children := map[int][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is valid
	for _, file := range files {
		name, _ := os.ReadFile(file) // empty if the process has ended
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if parent := parentOf(child); parent > 0 && !strings.HasPrefix(string(name), "fakeagent") {
			children[parent] = append(children[parent], child)
		}
	}
	found := []int{pid}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}
