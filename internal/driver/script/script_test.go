package script_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/internal/driver/script"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// A start document reads back as what it was made of, except what does not travel.
func TestStartRoundTrip(t *testing.T) {
	t.Parallel()
	on := true
	whole := runtime.Config{
		WorkDir: "/w", Command: "c", Lifecycle: runtime.LifecycleOneShot, Env: map[string]string{"A": "b", "C": ""}, MCPServers: []runtime.MCPServerConfig{{Name: "m"}},
		StartupEnvelope: json.RawMessage(`{"a":1}`), ReadyPromptPrefix: "> ", ReadyDelayMs: 3, ProcessNames: []string{"p"}, EmitsPermissionWarning: true,
		AcceptStartupDialogs: &on, MouseOn: true, Nudge: "n", PreStart: []string{"a"}, SessionSetup: []string{"b"}, SessionSetupScript: "/s", SessionLive: []string{"l"},
		ProviderName: "f", ProviderOverlayName: "g", InstallAgentHooks: []string{"h"}, PackOverlayDirs: []string{"/p"}, OverlayDir: "/o",
		CopyFiles: []runtime.CopyEntry{{Src: "/f", RelDst: "d"}},
	}
	local := map[string]bool{"Upstream": true, "FingerprintExtra": true, "PromptSuffix": true, "PromptFlag": true}
	for i := range reflect.TypeFor[runtime.Config]().NumField() {
		field := reflect.TypeFor[runtime.Config]().Field(i).Name
		if reflect.ValueOf(whole).Field(i).IsZero() != local[field] {
			t.Errorf("the field %s is new: does it travel?", field)
		}
	}
	data, err := json.Marshal(script.NewStart(whole).WithSequence(whole))
	if err != nil {
		t.Fatal(err)
	}
	var doc script.Start
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, doc.Config()); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
	if data, err := json.Marshal(script.NewStart(runtime.Config{})); string(data) != "{}" || err != nil {
		t.Errorf("an empty start is %s, %v, want {}", data, err)
	}
}

func TestFailureKeepsItsSentinel(t *testing.T) {
	t.Parallel()
	for _, sentinel := range []error{
		runtime.ErrSessionNotFound, runtime.ErrSessionExists, runtime.ErrSessionInitializing, runtime.ErrStaleInstance,
		runtime.ErrRuntimeUnavailable, runtime.ErrAttachUnsupported, runtime.ErrInputUnsupported, runtime.ErrInvalidName,
	} {
		text, got := script.ParseFailure(script.Failure(fmt.Errorf("cannot: %w", sentinel)))
		if !errors.Is(got, sentinel) || !strings.Contains(text, "cannot") || strings.Contains(text, "gc-error") {
			t.Errorf("%v becomes %v, %q", sentinel, got, text)
		}
	}
	text, got := script.ParseFailure(script.Failure(&runtime.StartupDeath{Exit: runtime.Exit{Code: 7}, Output: "last words"}))
	var death *runtime.StartupDeath
	if !errors.As(got, &death) || death.Exit.Code != 7 || death.Output != "last words" || text != "last words" {
		t.Errorf("a death becomes %v, %q", got, text)
	}
	for _, foreign := range []string{"tmux: command not found", "session not found", "gc-error:", "gc-error: something", " gc-error: session-not-found", "no gc-error: session-not-found"} {
		if _, got := script.ParseFailure(foreign); got != nil {
			t.Errorf("%q becomes %v, want no sentinel", foreign, got)
		}
	}
}

// The wire of every operation that is served is in the table of operations, and the
// reverse, except what a Go provider cannot have.
func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	for _, op := range script.Operations() {
		if op.Name == script.OpProvision || op.Name == script.OpAttach || op.Name == script.OpWatch || op.Name == script.OpScreen {
			continue // a Go provider looks itself, in deliver
		}
		code, _, stderr := serve(t, fake.New(), "", op.Name, "none", "key", "value")
		if code == script.ExitMissing {
			t.Errorf("%s: exit code 2: %s", op.Name, stderr)
		}
	}
	for _, args := range [][]string{{}, {"no-such-operation", "none"}, {script.OpProvision, "none"}} {
		if code, _, _ := serve(t, fake.New(), "", args...); code != script.ExitMissing {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
	}
}

// The reference lists each operation, capability and word.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "providers", "exec.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range script.Operations() {
		for _, word := range []string{op.Name, string(op.Needs)} {
			if !strings.Contains(string(page), "`"+word) {
				t.Errorf("docs/reference/providers/exec.md does not know %q", word)
			}
		}
	}
	for field := range reflect.TypeFor[script.Start]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), `"`+name+`"`) {
			t.Errorf("docs/reference/providers/exec.md does not know the field %q", name)
		}
	}
}

// One session, from its start to its end, over the plain operations of version 0.
func TestServeLifecycle(t *testing.T) {
	t.Parallel()
	p := fake.New()
	steps := []struct {
		stdin string
		args  []string
		code  int
		want  string // the whole of standard output, or its beginning with *
	}{
		{"", []string{"is-running", "one"}, 0, "false\n"},
		{`{"command": "c", "unknown": 1}`, []string{"start", "one"}, 0, ""},
		{`{}`, []string{"start", "one"}, 1, ""},
		{`{`, []string{"start", "two"}, 1, ""},
		{"", []string{"is-running", "one"}, 0, "true\n"},
		{"", []string{"list-running", "o"}, 0, "one\n"},
		{"", []string{"list-running", ""}, 0, "one\n"},
		{"v\n", []string{"set-meta", "one", "k"}, 0, ""},
		{"", []string{"get-meta", "one", "k"}, 0, "v\n\n"},
		{"", []string{"remove-meta", "one", "k"}, 0, ""},
		{"", []string{"get-meta", "one", "k"}, 0, ""},
		{"hello", []string{"nudge", "one"}, 0, `*{"state":"submitted"`},
		{"hello", []string{"nudge", "two"}, 0, `{"state":"absent"}` + "\n"},
		{"", []string{"peek", "one", "x"}, 1, ""},
		{"", []string{"observe", "one"}, 0, `*{"name":"one","instance":"`},
		{"another", []string{"stop-instance", "one"}, 1, ""},
		{"", []string{"stop", "one"}, 0, ""},
		{"", []string{"stop", "one"}, 0, ""},
		{"", []string{"interrupt", "one"}, 0, ""},
		{"", []string{"observe", "one"}, 0, `*{"name":"one","session":"dead","agent":"dead"`},
	}
	for _, s := range steps {
		code, out, stderr := serve(t, p, s.stdin, s.args...)
		beginning, cut := strings.CutPrefix(s.want, "*")
		if code != s.code || out != s.want && (!cut || !strings.HasPrefix(out, beginning)) {
			t.Errorf("%q = %d %q (%s), want %d %q", s.args, code, out, stderr, s.code, s.want)
		}
	}
}

// retiring counts how often its server was to end.
type retiring struct {
	runtime.Provider
	times int
}

func (r *retiring) RetireServer() error { r.times++; return nil }

// What sessions share ends with the last one: the provider is asked after each stop.
func TestServedStopRetiresTheServer(t *testing.T) {
	t.Parallel()
	p := &retiring{Provider: fake.New()}
	for _, step := range [][]string{{`{"command":"c"}`, "start", "one"}, {"", "stop", "one"}} {
		if code, _, stderr := serve(t, p, step[0], step[1:]...); code != 0 {
			t.Fatalf("%q: %d %s", step, code, stderr)
		}
	}
	if p.times != 1 {
		t.Errorf("the server was to end %d times, want once, after the stop", p.times)
	}
}

func serve(t *testing.T, p runtime.Provider, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	code = script.Serve(ctx, p, script.Call{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// An input of another length than was announced is another one: nothing is done with it.
func TestServeCutInput(t *testing.T) {
	t.Parallel()
	p := fake.New()
	if code, _, stderr := serve(t, p, `{}`, "start", "one"); code != 0 {
		t.Fatal(stderr)
	}
	if err := p.SetMeta("one", "k", "old"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args        []string
		stdin, size string
		says        string
	}{
		{[]string{"start", "two"}, `{}`, "3", "cut off"},
		{[]string{"start", "two"}, ``, "20", "cut off"},
		{[]string{"nudge", "one"}, "hel", "5", "gc-error: refused not_ready"},
		{[]string{"nudge", "one"}, "hello and more", "5", "gc-error: refused not_ready"},
		{[]string{"deliver", "one"}, `{"content":[]}`, "999", "gc-error: refused not_ready"},
		{[]string{"set-meta", "one", "k"}, "ne", "3", "cut off"},
		{[]string{"process-alive", "one"}, "a\n", "4", "cut off"},
		{[]string{"stop-instance", "one"}, "token", "6", "cut off"},
	} {
		var out, errs bytes.Buffer
		call := script.Call{Args: c.args, Stdin: strings.NewReader(c.stdin), Size: c.size, Stdout: &out, Stderr: &errs}
		if code := script.Serve(t.Context(), p, call); code != script.ExitFailed || out.Len() > 0 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%q of %q as %s bytes = %d %q %q, want a failure that says %q", c.args, c.stdin, c.size, code, out.String(), errs.String(), c.says)
		}
	}
	if value, err := p.GetMeta("one", "k"); value != "old" || err != nil || p.IsRunning("two") || !p.IsRunning("one") {
		t.Errorf("something was done: the value is %q (%v), two runs: %v, one: %v", value, err, p.IsRunning("two"), p.IsRunning("one"))
	}
	var out bytes.Buffer
	if code := script.Serve(t.Context(), p, script.Call{Args: []string{"set-meta", "one", "k"}, Stdin: strings.NewReader("new"), Size: "3", Stdout: &out, Stderr: &out}); code != 0 {
		t.Errorf("a whole input = %d %s", code, out.String())
	}
}

// A watch ends with its reader, whose end is that of the input: without events no write shows
// it.
func TestServedWatchEndsWithItsReader(t *testing.T) {
	t.Parallel()
	life, end := io.Pipe()
	lines, out := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- script.Serve(t.Context(), fake.New(), script.Call{Args: []string{"watch"}, Stdin: life, Stdout: out, Stderr: out})
	}()
	if line, err := bufio.NewReader(lines).ReadString('\n'); err != nil || !strings.Contains(line, "resync") {
		t.Fatalf("the watch begins with %q, %v", line, err)
	}
	select {
	case code := <-ended:
		t.Fatalf("the watch ended with %d while somebody reads", code)
	case <-time.After(50 * time.Millisecond):
	}
	end.Close()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the watch goes on without a reader")
	}
}

func TestObservationRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z0-9]{0,8}`)
		want := runtime.Observation{
			Session: runtime.Liveness(rapid.IntRange(0, 2).Draw(t, "session")), Agent: runtime.Liveness(rapid.IntRange(0, 2).Draw(t, "agent")),
			InstanceToken: word.Draw(t, "token"), Handle: word.Draw(t, "handle"), PID: rapid.IntRange(0, 1<<20).Draw(t, "pid"),
			Attached: rapid.IntRange(-1, 3).Draw(t, "attached"), Title: word.Draw(t, "title"), At: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), 0).UTC(),
		}
		data, err := json.Marshal(script.NewObservation("one", want))
		if err != nil {
			t.Fatal(err)
		}
		var doc script.Observation
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, doc.Seen()); diff != "" || doc.Name != "one" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// Whatever a script prints, reading it ends, and proves nothing that is not there.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"state":"submitted"}`, `{"version":0,"capabilities":["watch"]}`, `{"kind":"exited","session":"one"}`, `[1]`, "{\"state\":\"\xff\"}",
		"gc-error: session-died 7\nx", "gc-error: refused busy", `{"session":"alive"}`, "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, ok := script.ParseOutcome(data); ok {
			if out.State == runtime.OutcomeSubmitted && !bytes.Contains(data, []byte("ubmitted")) && !bytes.Contains(data, []byte(`\u`)) {
				t.Errorf("%q is submitted", data)
			}
			if out.Reason != "" && out.State != runtime.OutcomeRefused {
				t.Errorf("%q has a reason", data)
			}
		}
		if h, err := script.ParseHandshake(data); err == nil && (h.Version < 0 || h.Version > script.Version) {
			t.Errorf("%q has version %d", data, h.Version)
		}
		if e, ok, err := script.ParseEvent(data); ok && (err != nil || e.Kind != runtime.EventResync && runtime.ValidateName(e.Session) != nil) {
			t.Errorf("%q is the event %+v", data, e)
		}
		if _, err := script.ParseFailure(string(data)); err != nil && !bytes.Contains(data, []byte("gc-error: ")) {
			t.Errorf("%q is %v", data, err)
		}
	})
}

// A delivery document reads back as what it was made of, except what is only for workers and for shims.
func TestDeliveryRoundTrip(t *testing.T) {
	t.Parallel()
	want := runtime.Delivery{
		ID: "p-1", Instance: "one", Content: runtime.TextContent("/status \u200b"), Confirm: 3 * time.Second, AllowChanges: true, Literal: true,
	}
	local := map[string]bool{"Attempt": true, "Priority": true, "Source": true, "Metadata": true}
	for i := range reflect.TypeFor[runtime.Delivery]().NumField() {
		field := reflect.TypeFor[runtime.Delivery]().Field(i).Name
		if reflect.ValueOf(want).Field(i).IsZero() != local[field] {
			t.Errorf("decide whether %s travels", field)
		}
	}
	text, err := json.Marshal(script.NewDelivery(want))
	if err != nil {
		t.Fatal(err)
	}
	var got script.Delivery
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Delivery()); diff != "" {
		t.Error(diff)
	}
}
