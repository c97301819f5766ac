// Package scripts_test runs the session scripts of contrib against GNU screen and tmux, with a
// stand-in for docker that runs the commands on this machine.
package scripts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
)

// folder has the scripts.
const folder = "../../../contrib/session-scripts"

// waitLimit is how long a test waits for what ought to happen, also on a busy machine.
const waitLimit = 60 * time.Second

// script is one of the scripts with its own directory and environment.
type script struct {
	t    *testing.T
	path string
	dir  string   // the world
	env  []string // whole
}

// result is the result of a call of a script.
type result struct {
	stdout, stderr string
	code           int
}

var scripts = []string{"gc-session-screen", "gc-session-docker"}

// forEachScript runs the test for each script, at the same time.
func forEachScript(t *testing.T, test func(t *testing.T, s *script)) {
	t.Helper()
	for _, name := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, name))
		})
	}
}

// open makes the directory of a script, and stops its sessions after the test.
func open(t *testing.T, name string) *script {
	t.Helper()
	needs(t, map[string]string{"gc-session-screen": "screen", "gc-session-docker": "tmux"}[name])
	dir, err := os.MkdirTemp("", "gcs") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("the world stays: %v", err)
		}
	})
	stub := must(filepath.Abs("testdata/stub"))
	s := &script{t: t, path: must(filepath.Abs(filepath.Join(folder, name))), dir: dir, env: []string{
		"PATH=" + stub + ":" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "TMPDIR=" + dir, "STUB=" + dir,
		"GC_EXEC_STATE_DIR=" + filepath.Join(dir, "state"), "GC_DOCKER_IMAGE=agents:1",
	}}
	t.Cleanup(func() {
		for session := range strings.FieldsSeq(s.call("", "list-running", "").stdout) {
			s.call("", "stop", session)
		}
	})
	return s
}

// needs skips the test where a tool is missing; scripts/tests makes that a failure
// where the tool is required.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range append([]string{"jq"}, tools...) {
		if _, err := osexec.LookPath(tool); err != nil {
			if _, err := os.Stat(filepath.Join("/usr/sbin", tool)); err != nil {
				t.Skip(tool + " is not installed")
			}
		}
	}
}

func must[X any](x X, err error) X {
	if err != nil {
		panic(err)
	}
	return x
}

// call runs one operation as gc does: no shell, no terminal.
func (s *script) call(stdin string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 2*waitLimit)
	defer cancel()
	cmd := osexec.CommandContext(ctx, s.path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	cmd.Env, cmd.Dir, cmd.WaitDelay = s.env, s.dir, time.Second
	err := cmd.Run()
	var exit *osexec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, osexec.ErrWaitDelay) {
		s.t.Fatalf("%s %q: %v", filepath.Base(s.path), args, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// do returns a call that must succeed, and its output.
func (s *script) do(stdin string, args ...string) string {
	s.t.Helper()
	r := s.call(stdin, args...)
	if r.code != 0 {
		s.t.Fatalf("%s %q exits %d and says %q, want 0", filepath.Base(s.path), args, r.code, r.stderr)
	}
	return r.stdout
}

// fails makes a call that must exit with 1 and print the error word of the protocol, if there is one.
func (s *script) fails(word, stdin string, args ...string) {
	s.t.Helper()
	r := s.call(stdin, args...)
	if r.code != 1 || r.stderr == "" || word != "" && !strings.Contains("\n"+r.stderr, "\ngc-error: "+word+"\n") {
		s.t.Errorf("%s %q exits %d and says %q, want 1 and %q", filepath.Base(s.path), args, r.code, r.stderr, word)
	}
}

// wantOutput makes a call that must print this.
func (s *script) wantOutput(want, stdin string, args ...string) {
	s.t.Helper()
	if got := s.do(stdin, args...); got != want {
		s.t.Errorf("%s %q prints %q, want %q", filepath.Base(s.path), args, got, want)
	}
}

// agent is a fake agent that a script has started.
type agent struct {
	*script
	name, ledger, work string
}

// document is the JSON of a start.
type document map[string]any

// start starts a fake agent with these flags; edit changes its document.
func (s *script) start(name, flags string, edit func(document)) agent {
	s.t.Helper()
	a := agent{s, name, filepath.Join(s.dir, name+".ledger"), filepath.Join(s.dir, name+".work")}
	if err := os.MkdirAll(a.work, 0o700); err != nil {
		s.t.Fatal(err)
	}
	doc := document{
		"command":  fmt.Sprintf("exec '%s' --ledger '%s' %s", build.Build(s.t), a.ledger, flags),
		"work_dir": a.work, "ready_prompt_prefix": "❯", "env": map[string]string{"GC_INSTANCE_TOKEN": "token of " + name},
	}
	if edit != nil {
		edit(doc)
	}
	s.do(string(must(json.Marshal(doc))), "start", name)
	return a
}

// await waits until the ledger has n records of a kind, and returns them.
func (a agent) await(kind string, n int) []ledger.Record {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), waitLimit)
	defer cancel()
	records, err := ledgertest.Wait(ctx, a.ledger, ledgertest.Has(kind, n))
	if err != nil {
		a.t.Fatalf("%s: no %d records of kind %s: %v", a.name, n, kind, err)
	}
	return ledger.Of(records, kind)
}

// prompts sends each text and expects that the agent consumes exactly these.
func (a agent) prompts(texts ...string) {
	a.t.Helper()
	for i, text := range texts {
		if out := a.do(text, "nudge", a.name); !strings.Contains(out, `"state":"submitted"`) {
			a.t.Errorf("nudge of %d bytes prints %q, want it submitted", len(text), out)
		}
		a.await(ledger.Prompt, i+1)
	}
	got := a.await(ledger.Prompt, len(texts))
	if !slices.EqualFunc(got, texts, ledger.Record.Is) {
		for i, r := range got {
			a.t.Errorf("prompt %d has %d bytes with sum %.8s: %.60q", i, r.Bytes, r.SHA256, r.Text)
		}
		a.t.Errorf("the agent consumed %d prompts, want the %d that were sent, byte for byte", len(got), len(texts))
	}
}

// until waits for something.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s", what)
		case <-tick.C:
		}
	}
}
