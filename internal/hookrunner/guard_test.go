package hookrunner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/agentcli"
)

// city is what answers the hooks of a test.
type city struct {
	t      *testing.T
	socket string
	serve  http.HandlerFunc
}

func newCity(t *testing.T, serve http.HandlerFunc) *city {
	t.Helper()
	dir, err := os.MkdirTemp("", "gc-hook-") //nolint:usetesting // a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	c := &city{t: t, socket: filepath.Join(dir, "s"), serve: serve}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", c.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: serve}
	go s.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { s.Close() })
	return c
}

func decision(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
}

const tool = `{"session_id":"s","hook_event_name":"EVENT","tool_name":"Bash","tool_input":{"command":"touch RAN"},"tool_use_id":"t1"}`

type result struct {
	status         int
	stdout, stderr string
	took           time.Duration
}

// call runs the command of a hook like an agent CLI.
func call(t *testing.T, command string, env []string, stdin io.Reader) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	cmd.Stdin = stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(began)}
}

func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command returns the command of a hook with another deadline.
func command(t *testing.T, cli agentcli.Hooks, event string, within string) string {
	t.Helper()
	e, ok := cli.Event(event)
	if !ok {
		t.Fatalf("%s has no %s", cli.Name, event)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, agentcli.HookGuardFile), agentcli.HookGuardScript(), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(cli.Command(program(t), dir, e), "--within "+e.Within().String(), "--within "+within, 1)
}

// guards returns the agent CLIs with their events that decide about a tool.
func guards(t *testing.T) map[string]agentcli.Hooks {
	t.Helper()
	out := map[string]agentcli.Hooks{}
	for _, name := range agentcli.HookNames() {
		cli, _ := agentcli.LookupHooks(name)
		for _, e := range cli.Events {
			if e.Means == agentcli.HookGuard {
				out[name+" "+e.Name] = cli
			}
		}
	}
	if len(out) != 3 {
		t.Fatalf("%d agent CLIs have a guard, want 3", len(out))
	}
	return out
}

// TestNothingRunsWhenTheGuardFails checks, for every way in which a decision can fail, that the
// exit status is 2, which blocks the tool in every agent CLI, and that standard output has nothing
// that could be taken for an answer.
func TestNothingRunsWhenTheGuardFails(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	cut := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"allowed":true`)
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, `{"allowed":true}`)
		}
	}
	type fault struct {
		what  string
		serve http.HandlerFunc
		env   func(env []string) []string
		stdin string
		line  func(command string) string
		want  string // in the reason
	}
	drop := func(name string) func([]string) []string {
		return func(env []string) []string {
			return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		}
	}
	instead := func(path string) func(string) string {
		return func(c string) string { return strings.Replace(c, program(t), path, 1) }
	}
	faults := []fault{
		{what: "the city denies", serve: decision(`{"allowed":false,"reason":"no pushing","rule":"r1"}`), want: "no pushing (rule r1)"},
		{what: "the city is dead", env: func(env []string) []string { return append(env, "GC_WORKER_SOCKET="+gone) }, want: "no such file"},
		{what: "the city hangs", serve: hang, want: "deadline"},
		{what: "the city cuts the line", serve: cut, want: "does not answer"},
		{what: "the city breaks off", serve: half, want: "is incomplete"},
		{what: "the city talks garbage", serve: decision("<html>"), want: "cannot read"},
		{what: "the city says nothing", serve: decision(""), want: "cannot read"},
		{what: "the city says null", serve: decision("null"), want: "does not allow"},
		{what: "the city sends another word", serve: decision(`{"allowed":true,"effect":"maybe"}`), want: "does not allow"},
		{what: "the city fails", serve: status(500), want: "500"},
		{what: "the city redirects", serve: status(302), want: "302"},
		{what: "the token is wrong", serve: decision(`{"allowed":true}`), env: func(env []string) []string { return append(env, "GC_WORKER_TOKEN=other") }, want: "nauthorized"},
		{what: "there is no token", env: drop("GC_WORKER_TOKEN"), want: "not all set"},
		{what: "there is no run", env: drop("GC_RUN_ID"), want: "not all set"},
		{what: "the environment is empty", env: func([]string) []string { return []string{asHook + "=1"} }, want: "not all set"},
		{what: "it prints nothing", stdin: "-", want: "cannot parse the input"},
		{what: "it prints garbage", stdin: "{]", want: "cannot parse the input"},
		{what: "it prints another event", stdin: strings.Replace(tool, "EVENT", "Other", 1), want: "Other"},
		{what: "it names no tool", stdin: `{}`, want: "which tool"},
		{what: "the event is unknown", line: func(c string) string { return strings.Replace(c, " || ", "x || ", 1) }, want: "does not know the event"},
		{what: "the agent CLI is unknown", line: func(c string) string { return strings.Replace(c, "--for ", "--for x", 1) }, want: "does not know the hooks"},
		{what: "a word too many", line: func(c string) string { return strings.Replace(c, " || ", " more || ", 1) }, want: "unexpected"},
		{what: "the program is gone", line: instead("/gone/gc"), want: "/gone/gc"},
	}
	for what, does := range map[string]string{
		"ends with 1": "exit 1", "ends with 2": "exit 2", "ends with 3": "exit 3", "ends with 127": "exit 127", "is killed": "kill -9 $$", "says nothing": "exit 0", "says garbage": "echo '<html>'", "hangs": "exec sleep 60",
		"talks to another": `echo '{"decision":"allow"}'`, "allows in its own words": `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`,
	} {
		path := filepath.Join(t.TempDir(), "gc")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil { //nolint:gosec // it is to run
			t.Fatal(err)
		}
		faults = append(faults, fault{what: "another program " + what, line: func(c string) string { return strings.Replace(instead(path)(c), "guard.sh' 80", "guard.sh' 1", 1) }})
	}
	for name, cli := range guards(t) {
		event := strings.Fields(name)[1]
		for _, f := range faults {
			t.Run(name+"/"+f.what, func(t *testing.T) {
				t.Parallel()
				serve := f.serve
				if serve == nil {
					serve = decision(`{"allowed":true}`)
				}
				env := []string{asHook + "=1", "GC_WORKER_SOCKET=" + newCity(t, serve).socket, "GC_WORKER_TOKEN=secret", "GC_RUN_ID=run"}
				if f.env != nil {
					env = f.env(env)
				}
				stdin := strings.Replace(tool, "EVENT", event, 1)
				if f.stdin != "" {
					stdin = strings.TrimPrefix(f.stdin, "-")
				}
				line := command(t, cli, event, "1s")
				if f.line != nil {
					line = f.line(line)
				}
				got := call(t, line, env, strings.NewReader(stdin))
				if got.status != agentcli.HookBlocked || got.stdout != "" || got.stderr == "" || !strings.Contains(got.stderr, f.want) {
					t.Errorf("status %d, stdout %q, stderr %q; want 2, nothing, a reason with %q", got.status, got.stdout, got.stderr, f.want)
				}
				if f.serve != nil && strings.Contains(got.stderr, "not authorized") {
					t.Errorf("the agent receives more than the hook's own reason: %q", got.stderr)
				}
				if got.took > 30*time.Second {
					t.Errorf("it took %v", got.took)
				}
			})
		}
	}
}

// TestAKilledHookBlocks checks that a hook that is killed by a signal blocks the tool.
func TestAKilledHookBlocks(t *testing.T) {
	t.Parallel()
	cli, _ := agentcli.LookupHooks("claude")
	here := filepath.Join(t.TempDir(), "here")
	done := make(chan result, 1)
	go func() {
		line := "(while ! [ -s " + here + " ]; do :; done; kill -9 $(cat " + here + ")) & " + command(t, cli, "PreToolUse", "20s")
		done <- call(t, line, []string{asHook + "=1", "GC_TEST_STAND_STILL=" + here}, strings.NewReader(tool))
	}()
	select {
	case got := <-done:
		if got.status != agentcli.HookBlocked {
			t.Errorf("status %d (%s), want 2", got.status, got.stderr)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
}

// TestAnInputWithoutEndBlocks checks that the tool is blocked if the agent CLI does not close the
// input of the hook.
func TestAnInputWithoutEndBlocks(t *testing.T) {
	t.Parallel()
	cli, _ := agentcli.LookupHooks("gemini")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	got := call(t, command(t, cli, "BeforeTool", "300ms"), []string{asHook + "=1"}, r)
	if got.status != agentcli.HookBlocked || !strings.Contains(got.stderr, "did not finish") {
		t.Errorf("status %d, stderr %q", got.status, got.stderr)
	}
}

// TestAnswerHasTheFormOfItsAgentCLI checks that the answer that allows a tool has the form of its
// agent CLI and no other.
func TestAnswerHasTheFormOfItsAgentCLI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cli, event, answer, want string }{
		{"claude", "PreToolUse", `{"allowed":true}`, ``},
		{"codex", "PreToolUse", `{"allowed":true}`, ``},
		{"gemini", "BeforeTool", `{"allowed":true}`, ``},
		{"gemini", "BeforeTool", `{"allowed":true,"interaction":"q1"}`, ``},
		{"claude", "PreToolUse", `{"allowed":true,"interaction":"q1","reason":"yes"}`, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"yes"}}`},
		{"claude", "PermissionRequest", `{"allowed":true}`, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`},
		{"codex", "PermissionRequest", `{"allowed":false,"reason":"no"}`, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`},
	} {
		cli, _ := agentcli.LookupHooks(c.cli)
		env := []string{asHook + "=1", "GC_WORKER_SOCKET=" + newCity(t, decision(c.answer)).socket, "GC_WORKER_TOKEN=secret", "GC_RUN_ID=run"}
		got := call(t, command(t, cli, c.event, "20s"), env, strings.NewReader(strings.Replace(tool, "EVENT", c.event, 1)))
		if got.status != 0 || got.stdout != c.want {
			t.Errorf("%s %s: status %d, stdout %q, stderr %q, want %q", c.cli, c.event, got.status, got.stdout, got.stderr, c.want)
		}
		if c.want != "" && !json.Valid([]byte(got.stdout)) {
			t.Errorf("%s %s: no JSON: %q", c.cli, c.event, got.stdout)
		}
	}
}
