package tmux

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The benchmarks of this file measure what an operation on a tmux session costs over the lasting control client, beside a
// process of tmux that does the same, in turn in one run.
//
//	go test -run '^$' -bench . -benchtime 200x ./provider/tmux

// processes is how many processes of tmux are timed for each operation.
const processes = 20

// benchServer is a server with sessions that do nothing, and our client of it.
type benchServer struct {
	client *controlClient
	binary string
	socket string
	// pane and session are the one that is asked about.
	pane, session string
}

func openBenchServer(b *testing.B, sessions int) *benchServer {
	b.Helper()
	binary := benchProgram(b)
	dir, err := os.MkdirTemp("/tmp", "tbench") //nolint:usetesting // short: it holds a socket
	if err != nil {
		b.Fatal(err)
	}
	w := &benchServer{binary: binary, socket: filepath.Join(dir, "s"), session: "s" + strconv.Itoa(sessions-1)}
	w.client, err = newControlClient(clientOptions{
		Socket: w.socket, Binary: binary, Path: os.Getenv("PATH"), Config: "/dev/null", Logger: slog.New(slog.DiscardHandler), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "TERM=xterm"},
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.client.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), 10*time.Second)
		defer cancel()
		if err := w.client.Close(ctx); err != nil {
			b.Error(err)
		}
		w.process(ctx, b, nil, "kill-server")
		_ = os.RemoveAll(dir) // a temporary folder
	})
	for i := range sessions {
		name := fmt.Sprint("s", i)
		pane, err := w.client.Output(b.Context(), sequence(
			cmd("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "200", "-y", "50", "-s", name, "sh", "-c", "i=0; while [ $i -lt 45 ]; do echo line $i of the screen of an agent; i=$((i+1)); done; stty raw -echo; exec cat >/dev/null"),
			cmd("link-window", "-d", "-s", "="+name+":", "-t", "="+hub+":")))
		if err != nil {
			b.Fatal(err)
		}
		w.pane = string(pane)
	}
	return w
}

// process runs tmux once, as a driver without a lasting client does.
func (w *benchServer) process(ctx context.Context, b *testing.B, stdin []byte, args ...string) {
	b.Helper()
	command := exec.CommandContext(ctx, w.binary, append([]string{"-S", w.socket}, args...)...)
	command.Stdin = bytes.NewReader(stdin)
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v: %s", args, err, out)
	}
}

// benchOperation is one thing a driver does, both ways.
type benchOperation struct {
	name string
	ours func(ctx context.Context, w *benchServer) error
	// stdin and args are those of the one process.
	stdin []byte
	args  func(w *benchServer) []string
}

const panesFormat = "#{session_name} #{pane_id} #{pane_dead} #{pane_pid} #{session_attached} #{window_activity}"

var benchText = []byte(strings.Repeat("a prompt of one line; ", 47)[:1023] + "\n")

var benchOperations = []benchOperation{
	oneCommand("nothing", func(*benchServer) []string { return []string{"display-message", "-p", "."} }), // the floor
	oneCommand("is-running", func(w *benchServer) []string {
		return []string{"display-message", "-p", "-t", "=" + w.session + ":", "#{pane_dead} #{pane_pid}"}
	}),
	oneCommand("list", func(*benchServer) []string { return []string{"list-sessions", "-F", "#{session_name}"} }),
	oneCommand("list-panes", func(*benchServer) []string { return []string{"list-panes", "-a", "-F", panesFormat} }),
	oneCommand("peek", func(w *benchServer) []string { return []string{"capture-pane", "-p", "-t", w.pane} }),
	oneCommand("set-meta", func(w *benchServer) []string {
		return []string{"set-option", "-t", "=" + w.session + ":", "@meta_key", "value"}
	}),
	oneCommand("get-meta", func(w *benchServer) []string {
		return []string{"show-options", "-qv", "-t", "=" + w.session + ":", "@meta_key"}
	}),
	oneCommand("send-keys", func(w *benchServer) []string {
		return []string{"send-keys", "-t", w.pane, "-l", "--", string(benchText)}
	}),
	{
		name: "send-text", stdin: benchText,
		ours: func(ctx context.Context, w *benchServer) error {
			_, err := w.client.WithBuffer(ctx, benchText, func(buffer string) tmuxCommand {
				return cmd("paste-buffer", "-p", "-d", "-b", buffer, "-t", w.pane)
			})
			return err
		},
		args: func(w *benchServer) []string {
			return []string{"load-buffer", "-b", "p", "-", ";", "paste-buffer", "-p", "-d", "-b", "p", "-t", w.pane}
		},
	},
}

// oneCommand returns an operation that is the same one command both ways.
func oneCommand(name string, args func(w *benchServer) []string) benchOperation {
	return benchOperation{name: name, args: args, ours: func(ctx context.Context, w *benchServer) error {
		words := args(w)
		_, err := w.client.Do(ctx, cmd(words[0], words[1:]...))
		return err
	}}
}

// BenchmarkOperation reports the medians in microseconds and how many of ours fit into one process.
func BenchmarkOperation(b *testing.B) {
	for _, sessions := range []int{1, 50, 200} {
		b.Run(fmt.Sprint("sessions=", sessions), func(b *testing.B) {
			w := openBenchServer(b, sessions)
			for _, op := range benchOperations {
				b.Run(op.name, func(b *testing.B) { measureOperation(b, w, op) })
			}
		})
	}
}

func measureOperation(b *testing.B, w *benchServer, op benchOperation) {
	var ours, theirs []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		if err := op.ours(b.Context(), w); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(begin))
	}
	for range processes {
		begin := time.Now()
		w.process(b.Context(), b, op.stdin, op.args(w)...)
		theirs = append(theirs, time.Since(begin))
	}
	reportMedians(b, ours, theirs)
}

func reportMedians(b *testing.B, ours, theirs []time.Duration) {
	b.Helper()
	one, other := median(ours), median(theirs)
	b.ReportMetric(float64(one.Microseconds()), "µs/ours")
	b.ReportMetric(float64(other.Microseconds()), "µs/process")
	b.ReportMetric(float64(other)/float64(one), "ratio")
	b.ReportMetric(float64(theirs[len(theirs)/10])/float64(ours[len(ours)/10]), "ratio-undisturbed")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkPipelined is the cost of one command of fifty that are sent at once.
func BenchmarkPipelined(b *testing.B) {
	w := openBenchServer(b, 50)
	commands := make([]tmuxCommand, 50)
	for i := range commands {
		commands[i] = cmd("display-message", "-p", "-t", fmt.Sprint("=s", i, ":"), "#{pane_dead} #{pane_pid}")
	}
	for b.Loop() {
		var all sync.WaitGroup
		for _, command := range commands {
			all.Go(func() {
				if _, err := w.client.Do(b.Context(), command); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(commands)), "µs/command")
}

// BenchmarkIdle is what a connected client with 200 idle sessions keeps on the heap, and what the server
// and this process spend on them in a second.
func BenchmarkIdle(b *testing.B) {
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	w := openBenchServer(b, 200)
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	server, _, _ := w.client.Server()
	measureRest(b, server.PID)
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1024, "KiB/client")
}

// resting is how long it is measured what nothing costs.
const resting = 10 * time.Second

// measureRest reports what a server and this process spend in a second while nothing is asked.
func measureRest(b *testing.B, server int) {
	b.Helper()
	theirs, ours := ticks(b, server), ticks(b, os.Getpid())
	select {
	case <-time.After(resting):
	case <-b.Context().Done():
	}
	for b.Loop() {
		continue // the rest was measured once
	}
	b.ReportMetric(float64(ticks(b, server)-theirs)*10/resting.Seconds(), "ms/s-server")
	b.ReportMetric(float64(ticks(b, os.Getpid())-ours)*10/resting.Seconds(), "ms/s-ours")
}

// ticks returns the processor time of a process in hundredths of a second.
func ticks(b *testing.B, pid int) int {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("processor time is read from /proc")
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		b.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		b.Fatal(err)
	}
	return user + system
}
