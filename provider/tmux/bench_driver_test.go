package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

// benchCity is a driver with sessions that do nothing.
type benchCity struct {
	*Provider
	binary, socket string
	names          []string
}

func openBenchCity(b *testing.B, sessions int) *benchCity {
	b.Helper()
	binary := benchProgram(b)
	dir, err := os.MkdirTemp("/tmp", "tcity") //nolint:usetesting // short: it holds a socket
	if err != nil {
		b.Fatal(err)
	}
	c := &benchCity{binary: binary, socket: filepath.Join(dir, "tmux", "s")}
	c.Provider, err = Open(Config{
		Dir: filepath.Join(dir, "tmux"), LogDir: filepath.Join(dir, "log"), WorkDir: dir, Binary: binary,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, name := range c.names {
			if err := c.Stop(name); err != nil {
				b.Error(err)
			}
		}
		if err := errors.Join(c.TeardownServer(), c.Close()); err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(dir) // a temporary folder
	})
	const screen = "i=0; while [ $i -lt 45 ]; do echo line $i of the screen of an agent; i=$((i+1)); done; stty raw -echo; exec cat >/dev/null"
	for n := range sessions {
		name := fmt.Sprint("s", n)
		if err := c.Start(b.Context(), name, runtime.Config{Command: screen, WorkDir: dir}); err != nil {
			b.Fatal(err)
		}
		c.names = append(c.names, name)
	}
	select {
	case <-time.After(settling):
	case <-b.Context().Done():
	}
	for _, name := range c.names { // whatever is read once was read
		if !c.IsRunning(name) {
			b.Fatalf("%s does not run", name)
		}
	}
	return c
}

// settling is how long a city gets to see all that it has started.
const settling = 2 * time.Second

// benchProgram returns the tmux that is measured.
func benchProgram(b *testing.B) string {
	b.Helper()
	if path := os.Getenv("GC_TEST_TMUX"); path != "" {
		return path
	}
	path, err := exec.LookPath("tmux")
	if err != nil {
		b.Skip("tmux is not installed")
	}
	return path
}

// typedKeys are the key events of a text.
var typedKeys = strings.Split("go on with the tests", "")

var typedKiB = strings.Split(string(benchText[:1023])+"x", "")

// driverAct is an operation of the contract, and the words of the one process that asks the server for
// as much: under the same conditions, and for the same fields.
type driverAct struct {
	name  string
	do    func(c *benchCity, name string) error
	stdin []byte
	args  func(name string) []string
	// apart are the same as a driver does it that runs a process for each command of tmux; nil:
	// args is one command.
	apart func(name string) []tmuxProcess
}

// tmuxProcess is one process of tmux.
type tmuxProcess struct {
	stdin []byte
	args  []string
}

// askedFirst returns the process that such a driver has before those that type or write: it reads whose
// the pane is and whether its program lives. Without if-shell it is as near to a fence as it gets:
// what happens between the two is not seen. What only reads has none.
func askedFirst(name string, then ...tmuxProcess) []tmuxProcess {
	question := tmuxProcess{args: []string{"display-message", "-p", "-t", "=" + name + ":", "#{@gc_instance} #{pane_dead}"}}
	return append([]tmuxProcess{question}, then...)
}

var driverActs = []driverAct{
	{name: "is-running", do: func(c *benchCity, name string) error {
		if !c.IsRunning(name) {
			return fmt.Errorf("%s does not run", name)
		}
		return nil
	}, args: func(name string) []string {
		return []string{"display-message", "-p", "-t", "=" + name + ":", "#{@gc_instance} #{pane_id} #{pane_dead}"}
	}},
	{name: "list", do: func(c *benchCity, _ string) error {
		names, err := c.ListRunning("")
		if err == nil && len(names) != len(c.names) {
			err = fmt.Errorf("%d sessions run of %d", len(names), len(c.names))
		}
		return err
	}, args: func(string) []string { return []string{"list-sessions", "-F", "#{session_name}"} }},
	{name: "peek", do: func(c *benchCity, name string) error {
		text, err := c.Peek(name, 20)
		if err == nil && !strings.HasSuffix(text, "line 44 of the screen of an agent") {
			err = fmt.Errorf("the screen is %q", text)
		}
		return err
	}, args: func(name string) []string {
		target := "=" + name + ":"
		return []string{"display-message", "-p", "-t", target, "#{@gc_instance} #{pane_id}", ";", "capture-pane", "-p", "-S", "-20", "-t", target}
	}, apart: func(name string) []tmuxProcess {
		return []tmuxProcess{{args: []string{"capture-pane", "-p", "-S", "-20", "-t", "=" + name + ":"}}}
	}},
	{name: "send-keys", do: func(c *benchCity, name string) error { return c.SendKeys(name, typedKeys...) }, args: func(name string) []string {
		return fencedWords(name, "send-keys -t ="+name+": -l -- '"+strings.Join(typedKeys, "")+"'", "display-message -p gone")
	}, apart: func(name string) []tmuxProcess {
		return askedFirst(name, tmuxProcess{args: []string{"send-keys", "-t", "=" + name + ":", "-l", "--", strings.Join(typedKeys, "")}})
	}},
	{name: "send-1KiB", do: func(c *benchCity, name string) error { return c.SendKeys(name, typedKiB...) }, stdin: benchText, args: func(name string) []string {
		paste := fencedWords(name, "paste-buffer -p -d -b p -t ="+name+":", "delete-buffer -b p ; display-message -p gone")
		return append([]string{"load-buffer", "-b", "p", "-", ";"}, paste...)
	}, apart: func(name string) []tmuxProcess {
		return askedFirst(name, tmuxProcess{stdin: benchText, args: []string{"load-buffer", "-b", "p", "-"}},
			tmuxProcess{args: []string{"paste-buffer", "-p", "-d", "-b", "p", "-t", "=" + name + ":"}})
	}},
	{name: "set-meta", do: func(c *benchCity, name string) error { return c.SetMeta(name, "key", "value") }, args: func(name string) []string {
		return fencedWords(name, "set-option -t ="+name+": @meta_key value", "display-message -p gone")
	}, apart: func(name string) []tmuxProcess {
		return askedFirst(name, tmuxProcess{args: []string{"set-option", "-t", "=" + name + ":", "@meta_key", "value"}})
	}},
	{name: "get-meta", do: func(c *benchCity, name string) error {
		value, err := c.GetMeta(name, "key")
		if err == nil && value != "value" {
			err = fmt.Errorf("the value is %q", value)
		}
		return err
	}, args: func(name string) []string {
		return fencedWords(name, "show-options -qv -t ="+name+": @meta_key", "display-message -p gone")
	}, apart: func(name string) []tmuxProcess {
		return []tmuxProcess{{args: []string{"show-options", "-qv", "-t", "=" + name + ":", "@meta_key"}}}
	}},
	{name: "observe", do: func(c *benchCity, name string) error {
		_, err := c.Observe(context.Background(), name) //nolint:forbidigo // the benchmark bounds it
		return err
	}, args: func(name string) []string {
		return []string{"display-message", "-p", "-t", "=" + name + ":", stateFields}
	}},
}

// fencedWords returns the words that carry out a command if the pane is somebody's and its program lives.
func fencedWords(name, command, otherwise string) []string {
	return []string{"if-shell", "-F", "-t", "=" + name + ":", "#{&&:#{@gc_instance},#{==:#{pane_dead},0}}", command, otherwise}
}

// BenchmarkDriver reports the same as BenchmarkOperation for the operations of the contract: with
// the session's record, its instance's fence and whatever else the driver keeps. The ratio is to
// one process that does the same; ratio-apart is to a process for each command, which is that
// many processes.
func BenchmarkDriver(b *testing.B) {
	for _, sessions := range []int{1, 50, 200} {
		b.Run(fmt.Sprint("sessions=", sessions), func(b *testing.B) {
			c := openBenchCity(b, sessions)
			for _, a := range driverActs {
				b.Run(a.name, func(b *testing.B) { c.measure(b, a) })
			}
		})
	}
}

// BenchmarkIdleCity is what the server and this process spend in a second on a city of 200
// sessions that do nothing.
func BenchmarkIdleCity(b *testing.B) {
	c := openBenchCity(b, 200)
	out, err := exec.CommandContext(b.Context(), c.binary, "-S", c.socket, "display-message", "-p", "#{pid}").Output()
	if err != nil {
		b.Fatal(err)
	}
	server, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		b.Fatal(err)
	}
	measureRest(b, server)
}

// between is how many of ours are timed between two processes.
const between = 5

func (c *benchCity) measure(b *testing.B, a driverAct) {
	var ours, theirs, apart []time.Duration
	processes := 1
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		name := c.names[n%len(c.names)]
		begin := time.Now()
		if err := a.do(c, name); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(begin))
		if n%between > 0 {
			continue
		}
		b.StopTimer()
		one := []tmuxProcess{{a.stdin, a.args(name)}}
		theirs = append(theirs, c.run(b, one))
		if a.apart != nil {
			one = a.apart(name)
		}
		apart, processes = append(apart, c.run(b, one)), len(one)
		b.StartTimer()
	}
	reportMedians(b, ours, theirs)
	b.ReportMetric(float64(processes), "processes")
	b.ReportMetric(float64(median(apart))/float64(median(ours)), "ratio-apart")
}

// run runs the processes one after the other, and returns how long that took.
func (c *benchCity) run(b *testing.B, all []tmuxProcess) time.Duration {
	b.Helper()
	begin := time.Now()
	for _, p := range all {
		(&benchServer{binary: c.binary, socket: c.socket}).process(b.Context(), b, p.stdin, p.args...)
	}
	return time.Since(begin)
}
