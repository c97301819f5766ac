package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gascity/client"
	"gascity/runtime/runtimetest/fake"
	"gascity/worker"
)

// scriptsAtOnce is the number of scripts that run at the same time. Most of the time they wait for limits of the
// product.
const scriptsAtOnce = "6"

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", scriptsAtOnce) // a flag of the caller is parsed later and has precedence
	testscript.Main(m, map[string]func(){"gc": func() {
		version = "1.0"
		if status, called := hook(os.Args[1:]); called {
			os.Exit(status)
		}
		os.Exit(run(os.Args[0], newScriptDaemon()))
	}, fake.Program: func() {}})
}

// TestScripts runs the command line as a user does. Each script has a city in
// $WORK/city, which is stopped afterwards.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			city := filepath.Join(env.WorkDir, "city")
			env.Cd = city
			env.Setenv("CITY", city)
			sample, err := filepath.Abs(filepath.Join("..", "..", "examples", "worker", "python", "worker.py"))
			if err != nil {
				return err
			}
			env.Setenv("SAMPLE", sample)
			sockets, err := os.MkdirTemp("/tmp", "gcs-") //nolint:usetesting // the paths of sockets are short
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(sockets) }) // no process uses it any more
			env.Setenv("XDG_STATE_HOME", sockets)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each command exits a second later
			env.Defer(func() { endController(t, city) })
			return moveFiles(env.WorkDir, city)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":  exitStatus,
			"await":   await,
			"json":    validJSON,
			"object":  jsonObjects,
			"capture": capture,
			"report":  reportUsage,
			// transcript AGENT FILE: FILE becomes the transcript of the agent's conversation.
			"transcript": writeTranscript,

			"startpage": startPage,
		},
	})
}

// moveFiles makes the city of the files that come with the script.
func moveFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func endController(t *testing.T, city string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := &client.Client{Root: city}
	defer c.Close()
	census, err := c.StopCity(ctx)
	if err == nil && !census.Clean { // an agent of the script does not stop
		_, err = c.StopController(ctx)
	}
	if err != nil && !errors.Is(err, client.ErrNoController) {
		t.Errorf("cannot stop the city %s: %v", city, err)
	}
}

// exitStatus is "status WANT COMMAND [ARG...]": the command must exit with that status.
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status WANT COMMAND [ARG...]")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[interface {
			error
			ExitCode() int
		}](err)
		if !ok {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = string(rune('0' + exit.ExitCode()))
	}
	if got != args[0] {
		ts.Fatalf("%v: exit status is %s, want %s", args[1:], got, args[0])
	}
}

// await is "await COMMAND [ARG...]": the command is repeated until it succeeds.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: await COMMAND [ARG...]")
	}
	deadline := time.After(20 * time.Second)
	for {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%v never succeeded: %v", args, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// validJSON is "json stdout|FILE": it must be one JSON document.
func validJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json FILE")
	}
	if !json.Valid([]byte(ts.ReadFile(args[0]))) {
		ts.Fatalf("%s is no JSON document: %s", args[0], ts.ReadFile(args[0]))
	}
}

// jsonObjects is "object stdout|stderr|FILE [MEMBER]": it must contain only JSON objects. With a member each
// object must have it.
func jsonObjects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: object FILE [MEMBER]")
	}
	text := ts.ReadFile(args[0])
	doc := json.NewDecoder(strings.NewReader(text))
	n := 0
	for ; doc.More(); n++ {
		var object map[string]json.RawMessage
		if err := doc.Decode(&object); err != nil {
			ts.Fatalf("%s holds something that is no JSON object: %v: %s", args[0], err, text)
		}
		if len(args) > 1 && object[args[1]] == nil {
			ts.Fatalf("an object of %s has no %q: %s", args[0], args[1], text)
		}
	}
	if n == 0 {
		ts.Fatalf("%s holds no JSON object: %q", args[0], text)
	}
}

// capture is "capture VAR REGEXP [stdout|stderr|FILE]": the variable becomes what the group in the
// expression matches.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: capture VAR REGEXP [stdout|stderr|FILE]")
	}
	text := ts.ReadFile(append(args, "stdout")[2])
	found := regexp.MustCompile(args[1]).FindStringSubmatch(text)
	if len(found) != 2 {
		ts.Fatalf("%q is not found once in %s", args[1], text)
	}
	ts.Setenv(args[0], found[1])
}

// reportUsage is "report FILE TOKENS": the agent whose environment is in the file reports a response
// of the model with so many input and output tokens.
func reportUsage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: report FILE TOKENS")
	}
	tokens, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ts.Check(report(ctx, ts.ReadFile(args[0]), tokens))
}

// report reports usage as the agent whose environment, separated by NUL, is given.
func report(ctx context.Context, environ string, tokens int64) error {
	env := map[string]string{}
	for pair := range strings.SplitSeq(environ, "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	w := &worker.Client{Socket: env["GC_WORKER_SOCKET"], RunID: env["GC_RUN_ID"], Token: env["GC_WORKER_TOKEN"]}
	defer w.Close()
	_, err := w.Telemetry(ctx, worker.TelemetryEvent{
		Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: "m1", Usage: &worker.Usage{InputTokens: &tokens, OutputTokens: &tokens},
	})
	return err
}
