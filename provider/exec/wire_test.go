package exec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/provider/exec"
	"gascity/runtime"
)

// The smallest script of the reference is a complete provider: its sessions start, are listed, and have an
// instance token and metadata, also for the next gc process.
func TestSmallestScript(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
start)      cat >/dev/null; : > "$D/$name.up" ;;
stop)       rm -f "$D/$name.up"; exit 0 ;;
is-running) [ -e "$D/$name.up" ] && echo true || echo false ;;
*)          exit 2 ;;
esac`)
	notes := func(c *exec.Config) { c.NotesDir = filepath.Join(pl.dir, "notes") }
	p := pl.open(notes)
	if err := p.Start(t.Context(), "one", runtime.Config{Env: map[string]string{"GC_INSTANCE_TOKEN": "first"}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "one", runtime.Config{}); !errors.Is(err, runtime.ErrSessionExists) {
		t.Errorf("a second Start = %v, want ErrSessionExists", err)
	}
	if names, err := p.ListRunning("o"); !slices.Equal(names, []string{"one"}) || err != nil {
		t.Errorf("ListRunning = %q, %v", names, err)
	}
	if err := p.SetMeta("one", "a key", "a value\n"); err != nil {
		t.Error(err)
	}
	p = pl.open(notes)
	if value, err := p.GetMeta("one", "a key"); value != "a value\n" || err != nil {
		t.Errorf("GetMeta = %q, %v", value, err)
	}
	if obs, err := p.Observe(t.Context(), "one"); obs.InstanceToken != "first" || obs.Session != runtime.Alive || err != nil {
		t.Errorf("Observe = %+v, %v, want it alive with its token", obs, err)
	}
	if err := p.StopInstance(t.Context(), "one", "another"); !errors.Is(err, runtime.ErrStaleInstance) || len(pl.calls("stop")) > 0 {
		t.Errorf("StopInstance = %v, want ErrStaleInstance and no stop", err)
	}
	if err := p.StopInstance(t.Context(), "one", "first"); err != nil || p.IsRunning("one") {
		t.Errorf("StopInstance = %v", err)
	}
	if _, err := p.GetMeta("one", "a key"); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("GetMeta after the stop = %v, want ErrSessionNotFound", err)
	}
	if left, _ := filepath.Glob(filepath.Join(pl.dir, "notes", "*", "*")); len(left) > 0 {
		t.Errorf("the notes %q are left", left)
	}
}

// What exit code 2 means, operation by operation.
func TestExitTwo(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `[ "$op" = is-running ] && { echo true; exit 0; }; echo "unknown: $op" >&2; exit 2`)
	p := pl.open()
	src := filepath.Join(pl.dir, "script")
	unsupported := map[string]error{
		"start":     pl.open().Start(t.Context(), "two", runtime.Config{}), // it succeeds, see below
		"stop":      p.Stop("one"),
		"interrupt": p.Interrupt("one"),
		"nudge":     p.Nudge("one", text("x")),
		"keys":      p.SendKeys("one", "Enter"),
		"peek":      errorOf(p.Peek("one", 1)),
		"copy":      p.CopyTo("one", src, ""),
		"attach":    p.Attach("one"),
		"exec":      func() error { _, _, err := p.Exec(t.Context(), "one", []string{"true"}); return err }(),
		"watch":     errorOf(p.Watch(t.Context())),
		"live":      p.RunLive("one", runtime.Config{SessionLive: []string{"true"}}),
	}
	delete(unsupported, "start")
	for what, err := range unsupported {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, want errors.ErrUnsupported", what, err)
		}
	}
	for what, want := range map[string]error{"nudge": runtime.ErrInputUnsupported, "attach": runtime.ErrAttachUnsupported, "exec": runtime.ErrExecUnsupported} {
		if !errors.Is(unsupported[what], want) {
			t.Errorf("%s: %v, want %v", what, unsupported[what], want)
		}
	}
	harmless := map[string]error{
		"clear":       p.ClearScrollback("one"),
		"remove meta": p.RemoveMeta("one", "key"),
		"get meta":    errorOf(p.GetMeta("one", "key")),
		"activity":    errorOf(p.GetLastActivity("one")),
		"set meta":    p.SetMeta("one", "key", "kept by gc"),
		"list":        errorOf(p.ListRunning("")),
	}
	for what, err := range harmless {
		if err != nil {
			t.Errorf("%s: %v, want nil: nothing is lost", what, err)
		}
	}
	if !p.ProcessAlive("one", []string{"agent"}) {
		t.Errorf("ProcessAlive is false, want what is-running says")
	}
	out, err := p.Deliver(t.Context(), "one", runtime.Delivery{ID: "id", Content: text("x")})
	if out.State != runtime.OutcomeUnsupported || err != nil {
		t.Errorf("Deliver = %+v, %v, want unsupported", out, err)
	}
	pl = newScriptFixture(t, `[ "$op" = is-running ] && { echo false; exit 0; }; exit 2`)
	if err := pl.open().Start(t.Context(), "one", runtime.Config{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Start = %v, want errors.ErrUnsupported", err)
	}
}

func errorOf[X any](_ X, err error) error { return err }

// The output of a nudge is its outcome. Without output the prompt is not delivered.
func TestNudgeOutcome(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		does string
		want runtime.Outcome
		fail bool
	}{
		"nothing":          {"exit 0", runtime.Outcome{State: runtime.OutcomeUnconfirmed}, false},
		"words":            {"echo delivered; exit 0", runtime.Outcome{State: runtime.OutcomeUnconfirmed}, false},
		"submitted":        {`echo '{"state":"submitted","evidence":"echo"}'`, runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "echo"}, false},
		"unconfirmed":      {`echo '{"state":"unconfirmed"}'`, runtime.Outcome{State: runtime.OutcomeUnconfirmed}, false},
		"refused":          {`echo '{"state":"refused","reason":"busy"}'`, runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy}, false},
		"absent":           {`echo '{"state":"absent"}'`, runtime.Outcome{State: runtime.OutcomeAbsent}, false},
		"unknown state":    {`echo '{"state":"delivered"}'`, runtime.Outcome{State: runtime.OutcomeUnconfirmed}, false},
		"reported, failed": {`echo '{"state":"submitted"}'; exit 1`, runtime.Outcome{State: runtime.OutcomeUnconfirmed}, true},
		"fails":            {"echo no such window >&2; exit 1", runtime.Outcome{State: runtime.OutcomeUnconfirmed}, true},
		"not found":        {"echo 'tmux: command not found' >&2; exit 1", runtime.Outcome{State: runtime.OutcomeUnconfirmed}, true},
		"gone":             {"echo 'gc-error: session-not-found' >&2; exit 1", runtime.Outcome{State: runtime.OutcomeAbsent}, false},
		"no input":         {"echo 'gc-error: no-input' >&2; exit 1", runtime.Outcome{State: runtime.OutcomeUnsupported}, false},
		"says refused":     {"echo 'gc-error: refused dialog_up' >&2; exit 1", runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedDialog}, false},
		"exit 2":           {"exit 2", runtime.Outcome{State: runtime.OutcomeUnsupported}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl := newScriptFixture(t, `case "$op" in is-running) echo true ;; nudge) cat >/dev/null; `+tt.does+` ;; *) exit 2 ;; esac`)
			out, err := pl.open().Deliver(t.Context(), "one", runtime.Delivery{Content: text("x")})
			out.Detail = ""
			if diff := cmp.Diff(tt.want, out); diff != "" || (err != nil) != tt.fail {
				t.Errorf("Deliver: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestNudgeWithoutASessionIsAbsent(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, fleet)
	p := pl.open()
	out, err := p.Deliver(t.Context(), "one", runtime.Delivery{Content: text("x")})
	if out.State != runtime.OutcomeAbsent || err != nil || len(pl.calls("nudge")) > 0 {
		t.Errorf("Deliver = %+v, %v after %q, want absent and no nudge", out, err, pl.calls("nudge"))
	}
	if err := p.Nudge("one", text("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("Nudge = %v, want ErrSessionNotFound", err)
	}
}

// The JSON of a start and the calls around it. No argument contains a secret.
func TestStartCalls(t *testing.T) {
	t.Parallel()
	const secret = "sk-canary-0123456789"
	pl := newScriptFixture(t, fleet)
	p := pl.open(func(c *exec.Config) { c.StateDir = filepath.Join(pl.dir, "state") })
	cfg := runtime.Config{
		WorkDir: "/work", Command: "claude", PromptSuffix: "'hello'", Env: map[string]string{"API_KEY": secret, "CI": "", "GC_INSTANCE_TOKEN": "tok-" + secret},
		ProcessNames: []string{"claude", "node"}, Nudge: "say " + secret, PreStart: []string{"mkdir -p x"}, SessionSetup: []string{"a"},
		SessionSetupScript: "/s.sh", SessionLive: []string{"b"}, ReadyPromptPrefix: "> ", ReadyDelayMs: 1,
		PackOverlayDirs: []string{"/p"}, OverlayDir: "/o", CopyFiles: []runtime.CopyEntry{{Src: "/f", RelDst: "g"}},
		FingerprintExtra: map[string]string{"x": "y"}, EmitsPermissionWarning: true,
	}
	if err := p.Start(t.Context(), "one", cfg); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(pl.read("one.start")), &got); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	doc := `{"work_dir": "/work", "command": "claude 'hello'", "unset_env": ["CI"],
	"env": {"CI": "", "API_KEY": "` + secret + `", "GC_DIR": "/work", "GC_INSTANCE_TOKEN": "tok-` + secret + `", "GC_SESSION_NAME": "one"},
	"process_names": ["claude", "node"], "pre_start": ["mkdir -p x"], "session_setup": ["a"], "session_setup_script": "/s.sh", "session_live": ["b"],
	"ready_prompt_prefix": "> ", "ready_delay_ms": 1, "pack_overlay_dirs": ["/p"], "overlay_dir": "/o", "copy_files": [{"src": "/f", "rel_dst": "g"}]}`
	if err := json.Unmarshal([]byte(doc), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the start document (-want +got):\n%s", diff)
	}
	if got := pl.read("one.nudge"); got != cfg.Nudge || len(pl.calls("nudge")) != 2 {
		t.Errorf("the first prompt is %q after %q, want it once", got, pl.calls("nudge"))
	}
	if strings.Contains(pl.read("calls"), secret) {
		t.Errorf("a secret is in an argument:\n%s", pl.read("calls"))
	}
	if info, err := os.Stat(filepath.Join(pl.dir, "state")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state folder: %v, %v", info, err)
	}
}

// A script without nudge gets the first prompt with its start.
func TestFirstPromptIsLeftToScriptWithoutNudge(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in start) cat > "$D/doc"; : > "$D/up" ;; is-running) [ -e "$D/up" ] && echo true || echo false ;; *) exit 2 ;; esac`)
	if err := pl.open().Start(t.Context(), "one", runtime.Config{Command: "c", Nudge: "hello"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(pl.read("doc"), `"nudge":"hello"`) {
		t.Errorf("the start document is %s, want the first prompt in it", pl.read("doc"))
	}
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		does   string
		want   error
		says   string
		undone bool
	}{
		"pre_start":      {does: `echo "pre_start: no space" >&2; exit 1`, says: "no space", undone: true},
		"exists":         {does: `echo "session One Already Exists" >&2; exit 1`, want: runtime.ErrSessionExists},
		"exists by word": {does: `echo "gc-error: session-exists" >&2; exit 1`, want: runtime.ErrSessionExists},
		"image missing":  {does: `echo "image not found" >&2; exit 1`, says: "image not found", undone: true},
		"died by word":   {does: `echo "gc-error: session-died 3" >&2; echo last words >&2; exit 1`, want: runtime.ErrSessionDiedDuringStartup, says: "exited with code 3", undone: true},
		"not running":    {does: `exit 0`, want: runtime.ErrSessionDiedDuringStartup, says: "the script says that the session does not run; it printed:\na last line", undone: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl := newScriptFixture(t, `case "$op" in start) cat >/dev/null; `+tt.does+` ;; is-running) echo false ;; peek) echo a last line ;; stop) ;; *) exit 2 ;; esac`)
			err := pl.open().Start(t.Context(), "one", runtime.Config{Command: "c", ProcessNames: []string{"c"}})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || runtime.IsSessionGone(err) {
				t.Errorf("Start = %v, want %v with %q", err, tt.want, tt.says)
			}
			if undone := len(pl.calls("stop")) > 0; undone != tt.undone {
				t.Errorf("stop was called: %v, want %v", undone, tt.undone)
			}
		})
	}
}

// A stop that exits with 0 and does nothing is an error.
func TestStopIsVerified(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in is-running) echo true ;; stop) ;; *) exit 2 ;; esac`)
	if err := pl.open().Stop("one"); err == nil || runtime.IsSessionGone(err) {
		t.Errorf("Stop = %v, want an error: it still runs", err)
	}
}

// Two hundred observations at about the same time need one call of the script, and so do those right after.
// A session that is not listed is queried.
func TestManyObservationsAreOneListing(t *testing.T) {
	t.Parallel()
	const many = 200
	pl := newScriptFixture(t, fleet)
	p := pl.open(func(c *exec.Config) { c.Fresh = time.Hour })
	for i := range many {
		for _, file := range []string{".up", ".meta.GC_INSTANCE_TOKEN"} {
			if err := os.WriteFile(filepath.Join(pl.dir, fmt.Sprintf("s%d%s", i, file)), []byte("token"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	look := func() {
		var wait sync.WaitGroup
		for i := range many {
			wait.Go(func() {
				if obs, err := p.Observe(t.Context(), "s"+strconv.Itoa(i)); obs.Session != runtime.Alive || obs.InstanceToken != "token" || err != nil {
					t.Errorf("Observe = %+v, %v", obs, err)
				}
			})
		}
		wait.Wait()
	}
	look() // reads the tokens, once
	pl.write("calls", "")
	look()
	if got := pl.read("calls"); got != "" {
		t.Errorf("another look at %d sessions calls\n%s", many, got)
	}
	if err := p.Stop("s0"); err != nil {
		t.Fatal(err)
	}
	pl.write("calls", "")
	if obs, err := p.Observe(t.Context(), "s0"); obs.Session != runtime.Dead || err != nil {
		t.Errorf("Observe of what was stopped = %+v, %v, want dead", obs, err)
	}
	if got := pl.read("calls"); got != "list-running \nis-running s0\n" {
		t.Errorf("a look after a change calls %q", got)
	}
}

// Many calls run a limited number of processes.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
peek) mkdir "$D/p.$$"; set -- "$D"/p.*; echo $# >> "$D/counts"; sleep 0.05; rmdir "$D/p.$$"; echo x ;;
*) exit 2 ;; esac`)
	p := pl.open()
	var wait sync.WaitGroup
	for n := range 100 {
		wait.Go(func() {
			if _, err := p.Peek("s"+strconv.Itoa(n%25), 1); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	most := 0
	for word := range strings.FieldsSeq(pl.read("counts")) {
		n, _ := strconv.Atoi(word)
		most = max(most, n)
	}
	if most > 16 || most < 2 {
		t.Errorf("at most %d scripts ran at a time, want 2 to 16", most)
	}
}

// Peeks of one session are sequential, because a script may support only one at a time.
func TestPeeksOfOneSessionAreSequential(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
peek) mkdir "$D/at.$name" || exit 1; sleep 0.02; rmdir "$D/at.$name"; echo x ;;
*) exit 2 ;; esac`)
	p := pl.open()
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			if _, err := p.Peek("one", 1); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// The watch of a script that exits and prints invalid lines.
func TestWatch(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
protocol) echo '{"capabilities": ["watch"]}' ;;
watch) echo $$ >> "$D/pids"
  echo '{"kind":"resync"}'; echo nonsense; echo '{"kind":"moved","session":"one"}'
  echo '{"kind":"exited","session":"one","exit":{"code":3}}'
  [ "$(wc -l < "$D/pids")" -ge 2 ] && exec sleep 300
  echo bye >&2; exit 1 ;;
*) exit 2 ;; esac`)
	events, err := pl.open().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []runtime.EventKind
	for e := range events {
		got = append(got, e.Kind)
		if e.Kind == runtime.EventExited && (e.Session != "one" || e.Exit == nil || e.Exit.Code != 3 || e.Time.IsZero()) {
			t.Errorf("the event is %+v", e)
		}
		if len(got) == 4 {
			break
		}
	}
	want := []runtime.EventKind{runtime.EventResync, runtime.EventExited, runtime.EventResync, runtime.EventExited}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// A consumer that has lost events gets a resync, even if the script prints nothing more.
func TestWatchSendsAResyncAfterALoss(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
protocol) echo '{"capabilities": ["watch"]}' ;;
watch) echo '{"kind":"resync"}'; seq 5000 | sed 's/.*/{"kind":"output","session":"one"}/'; : > "$D/printed"; exec sleep 300 ;;
*) exit 2 ;; esac`)
	events, err := pl.open().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limit := time.After(20 * time.Second)
	for printed := false; !printed; {
		select {
		case <-time.After(10 * time.Millisecond):
			_, err := os.Stat(filepath.Join(pl.dir, "printed"))
			printed = err == nil
		case <-limit:
			t.Fatal("the script did not print its events")
		}
	}
	for resyncs := 0; resyncs < 2; {
		select {
		case e := <-events:
			if e.Kind == runtime.EventResync {
				resyncs++
			}
		case <-limit:
			t.Fatal("events were lost, and there was no resync")
		}
	}
}

// A script can detect an input that is incomplete because its sender was killed.
func TestScriptKnowsTheLengthOfItsInput(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, "[ \"$op\" != nudge ] || printf %s \"$GC_EXEC_STDIN_BYTES\" > \"$D/length\"\n"+fleet)
	p := pl.open()
	if err := p.Start(t.Context(), "one", runtime.Config{Command: "c"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Nudge("one", text("twelve bytes")); err != nil {
		t.Fatal(err)
	}
	if got := pl.read("length"); got != "12" {
		t.Errorf("the script received a length of %q bytes, want 12", got)
	}
}

// A stop succeeds only if an observation shows that the session is gone. Exit status 0 of a script that ignores
// errors proves nothing.
func TestStopThatCannotBeVerified(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, "if [ -e \"$D/away\" ]; then case \"$op\" in stop) exit 0 ;; is-running) echo no route >&2; exit 1 ;; esac; fi\n"+fleet)
	p := pl.open()
	if err := p.Start(t.Context(), "one", runtime.Config{Command: "c"}); err != nil {
		t.Fatal(err)
	}
	pl.write("away", "")
	if err := p.Stop("one"); !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("Stop = %v, want ErrRuntimeUnavailable", err)
	}
	if err := os.Remove(filepath.Join(pl.dir, "away")); err != nil {
		t.Fatal(err)
	}
	if err := p.StopInstance(t.Context(), "one", "another"); !errors.Is(err, runtime.ErrStaleInstance) {
		t.Errorf("StopInstance = %v: the session's instance was forgotten", err)
	}
	if err := p.Stop("one"); err != nil || p.IsRunning("one") {
		t.Errorf("Stop = %v", err)
	}
}
