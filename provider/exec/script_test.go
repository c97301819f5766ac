package exec_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/provider/exec"
	"gascity/runtime"
)

// scriptFixture is the folder of one script of a test.
type scriptFixture struct {
	t   *testing.T
	dir string
}

// prelude is the beginning of each script of these tests: it records its calls.
const prelude = `#!/bin/sh
op="$1" name="$2"
D=${0%/*}
printf '%s\n' "$*" >> "$D/calls"
`

// fleet is the rest of a script that has one file for each session.
const fleet = `case "$op" in
start) cat > "$D/$name.start"; : > "$D/$name.up" ;;
stop) rm -f "$D/$name.up" "$D/$name".meta.* ;;
is-running) [ -e "$D/$name.up" ] && echo true || echo false ;;
list-running) cd "$D"; for f in "$name"*.up; do [ -e "$f" ] && echo "${f%.up}"; done; exit 0 ;;
set-meta) cat > "$D/$name.meta.$3" ;;
get-meta) [ -e "$D/$name.meta.$3" ] && cat "$D/$name.meta.$3"; exit 0 ;;
remove-meta) rm -f "$D/$name.meta.$3" ;;
nudge) cat > "$D/$name.nudge" ;;
interrupt) : ;;
peek) echo ready; echo "> " ;;
*) exit 2 ;;
esac
`

// newScriptFixture makes a directory with a script that ends with body.
func newScriptFixture(t *testing.T, body string) *scriptFixture {
	t.Helper()
	pl := &scriptFixture{t: t, dir: t.TempDir()}
	pl.write("script", prelude+body)
	return pl
}

// write writes a program. No other test may fork at that time: its child would have the file open for writing,
// and the file could not be executed.
func (pl *scriptFixture) write(name, text string) {
	pl.t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(filepath.Join(pl.dir, name), []byte(text), 0o700); err != nil {
		pl.t.Fatal(err)
	}
}

func (pl *scriptFixture) config() exec.Config {
	return exec.Config{Script: "./script", Dir: pl.dir, Env: baseEnv("HOME=" + pl.dir)}
}

// open opens the driver, with its configuration changed by edits.
func (pl *scriptFixture) open(edits ...func(*exec.Config)) *exec.Provider {
	pl.t.Helper()
	cfg := pl.config()
	for _, edit := range edits {
		edit(&cfg)
	}
	p, err := exec.Open(cfg)
	if err != nil {
		pl.t.Fatalf("Open: %v", err)
	}
	return p
}

// limit bounds each operation.
func limit(d time.Duration) func(*exec.Config) { return func(c *exec.Config) { c.Limit = d } }

// calls returns the recorded calls of an operation: its arguments.
func (pl *scriptFixture) calls(op string) []string {
	pl.t.Helper()
	var found []string
	for line := range strings.Lines(pl.read("calls")) {
		line = strings.TrimSuffix(line, "\n")
		if first, rest, _ := strings.Cut(line, " "); first == op {
			found = append(found, rest)
		}
	}
	return found
}

// read returns a file of the directory, empty if there is none.
func (pl *scriptFixture) read(name string) string {
	pl.t.Helper()
	data, err := os.ReadFile(filepath.Join(pl.dir, name))
	if err != nil && !os.IsNotExist(err) {
		pl.t.Fatal(err)
	}
	return string(data)
}

// start starts a session that the script only records.
func (pl *scriptFixture) start(p runtime.Provider, name string) {
	pl.t.Helper()
	if err := p.Start(pl.t.Context(), name, runtime.Config{Command: "agent"}); err != nil {
		pl.t.Fatalf("Start: %v", err)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// waitExited waits until the processes whose numbers the file lists have ended.
func (pl *scriptFixture) waitExited(file string, count int) {
	pl.t.Helper()
	pids := pl.pids(file, count)
	until(pl.t, "the end of the script's processes", func() bool {
		return !slices.ContainsFunc(pids, alive)
	})
}

// pids waits for that many process numbers in a file.
func (pl *scriptFixture) pids(file string, count int) []int {
	pl.t.Helper()
	var pids []int
	until(pl.t, "process numbers in "+file, func() bool {
		pids = pids[:0]
		for word := range strings.FieldsSeq(pl.read(file)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) >= count
	})
	return pids
}

// alive reports whether the process runs; a zombie does not.
func alive(pid int) bool { return local.Alive(pid) }

var text = runtime.TextContent
