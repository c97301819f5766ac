package driver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// fakeBackend writes down what was asked of it, fails on request, and has a terminal
// that shows a prompt.
type fakeBackend struct {
	mu       sync.Mutex
	log      []string
	fail     map[string]error
	onCall   func(what string)
	spec     StartSpec
	live     bool
	exists   bool
	hidden   bool // the terminal does not show the exit
	screen   string
	dies     bool // exits as soon as it exists
	prompts  []string
	refusals []runtime.RefusalReason // what Deliver answers first
}

var errBackend = errors.New("box is broken")

func (b *fakeBackend) call(what string) error {
	b.mu.Lock()
	b.log = append(b.log, what)
	err, hook := b.fail[what], b.onCall
	b.mu.Unlock()
	if hook != nil {
		hook(what)
	}
	return err
}

func (b *fakeBackend) Claim(context.Context) error {
	if err := b.call("claim"); err != nil {
		return err
	}
	b.exists = true
	return nil
}

func (b *fakeBackend) Create(_ context.Context, spec StartSpec) error {
	b.spec = spec
	if err := b.call("create"); err != nil {
		return err
	}
	b.live = true
	return nil
}

func (b *fakeBackend) Terminal() screen.Terminal { return (*fakeTerminal)(b) }

func (b *fakeBackend) Life(ctx context.Context, wait time.Duration) (AgentLife, error) {
	if err := b.call("life"); err != nil {
		return AgentLife{}, err
	}
	if b.dies {
		return AgentLife{Exit: runtime.Exit{Code: 3}, Output: "cannot go on"}, nil
	}
	if err := ctx.Err(); err != nil {
		return AgentLife{}, err // not the cause: many drivers know no better
	}
	select {
	case <-time.After(wait):
		return AgentLife{Alive: true}, nil
	case <-ctx.Done():
		return AgentLife{}, ctx.Err()
	}
}

func (b *fakeBackend) Destroy(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.live, b.exists = false, false
	return b.call("destroy")
}

func (b *fakeBackend) deliver(ctx context.Context, text string) (runtime.Outcome, error) {
	if err := b.call("deliver"); err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	if len(b.refusals) > 0 {
		reason := b.refusals[0]
		b.refusals = b.refusals[1:]
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason}, ctx.Err()
	}
	b.prompts = append(b.prompts, text)
	return runtime.Outcome{State: runtime.OutcomeSubmitted}, nil
}

// fakeTerminal is a box's terminal. Its screen stands still.
type fakeTerminal fakeBackend

func (t *fakeTerminal) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	f := screen.Frame{Seq: 1, Rows: strings.Split(t.screen, "\n"), Modes: vt.Modes{BracketedPaste: true}, Exited: t.dies && !t.hidden}
	if err := (*fakeBackend)(t).call("frame"); err != nil {
		return f, err
	}
	if after < f.Seq || f.Exited {
		return f, nil
	}
	<-ctx.Done()
	return screen.Frame{}, ctx.Err()
}

func (t *fakeTerminal) Send(context.Context, []byte) error { return nil }

// startFixture is a box, a sequence over it and a working directory.
type startFixture struct {
	*fakeBackend
	StartSequence
	cfg   runtime.Config
	dir   string
	warns []error
}

func newStartFixture(t *testing.T) *startFixture {
	t.Helper()
	dir := t.TempDir()
	w := &startFixture{fakeBackend: &fakeBackend{fail: map[string]error{}, screen: "> "}, dir: dir}
	trace := filepath.Join(dir, "trace")
	echo := func(what string) string { return "printf '" + what + " ' >> " + trace }
	w.cfg = runtime.Config{
		WorkDir: filepath.Join(dir, "work"), Command: "agent", ReadyPromptPrefix: "> ", Nudge: "go",
		PreStart:           []string{echo("pre"), "mkdir -p " + filepath.Join(dir, "work")},
		SessionSetup:       []string{echo("setup1"), echo("setup2")},
		SessionSetupScript: echo("script"),
		SessionLive:        []string{echo("live")},
	}
	w.StartSequence = StartSequence{
		Backend: w.fakeBackend, Profiles: agentcli.Builtin(), Environ: []string{"PATH=/usr/bin:/bin", "CI=1", "GONE=1"},
		PrivateDir: filepath.Join(dir, "private"), Deliver: w.deliver,
		Stage: func(ctx context.Context, _ runtime.Config) error {
			return errors.Join(w.call("stage"), w.runTrace(ctx, "stage "))
		},
		Warn: func(err error) { w.warns = append(w.warns, err) },
	}
	return w
}

func (w *startFixture) runTrace(_ context.Context, what string) error {
	f, err := os.OpenFile(filepath.Join(w.dir, "trace"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(what)
	return errors.Join(err, f.Close())
}

func (w *startFixture) trace() string {
	data, _ := os.ReadFile(filepath.Join(w.dir, "trace")) // nothing ran: nothing to read
	return strings.TrimSpace(string(data))
}

// calls returns the box's calls without looks at its terminal.
func (w *startFixture) calls() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(w.log), func(s string) bool { return s == "frame" }), " ")
}

func TestStartOrder(t *testing.T) {
	w := newStartFixture(t)
	if err := w.Start(t.Context(), "worker", w.cfg); err != nil {
		t.Fatal(err)
	}
	if got, want := w.calls(), "claim stage create life deliver"; got != want {
		t.Errorf("box saw %q, want %q", got, want)
	}
	if got, want := w.trace(), "pre stage setup1 setup2 script live"; got != want {
		t.Errorf("ran %q, want %q", got, want)
	}
	if !slices.Equal(w.prompts, []string{"go"}) || len(w.warns) > 0 || !w.live {
		t.Errorf("prompts %q, warnings %v, live %v", w.prompts, w.warns, w.live)
	}
}

func TestStartWithoutHintsAndOneShot(t *testing.T) {
	for name, cfg := range map[string]runtime.Config{
		"no hints": {Command: "agent"},
		"one shot": {Command: "agent", Lifecycle: runtime.LifecycleOneShot, ReadyPromptPrefix: "$ ", Nudge: "go", SessionSetup: []string{"false"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStartFixture(t)
			w.dies = true // is no failure here
			if err := w.Start(t.Context(), "worker", cfg); err != nil {
				t.Fatal(err)
			}
			if got := w.calls(); got != "claim stage create" || len(w.warns) > 0 {
				t.Errorf("box saw %q, warnings %v", got, w.warns)
			}
		})
	}
}

// TestFailureLeavesNothing breaks each step in turn.
func TestFailureLeavesNothing(t *testing.T) {
	long := "'" + strings.Repeat("x", 4<<10) + "'"
	tests := map[string]struct {
		breaks func(*startFixture)
		step   string
		want   func(error) bool
	}{
		"name":      {func(*startFixture) {}, "validate", is(runtime.ErrInvalidName)},
		"folder":    {func(w *startFixture) { w.cfg.WorkDir = "work" }, "validate", nil},
		"claim":     {func(w *startFixture) { w.fail["claim"] = runtime.ErrSessionExists }, "claim", is(runtime.ErrSessionExists)},
		"pre_start": {func(w *startFixture) { w.cfg.PreStart = append(w.cfg.PreStart, "echo broken >&2; exit 3") }, "pre_start", printed("broken")},
		"work_dir":  {func(w *startFixture) { w.cfg.PreStart = nil }, "work_dir", is(os.ErrNotExist)},
		"a file":    {func(w *startFixture) { w.cfg.PreStart = []string{"touch " + w.cfg.WorkDir} }, "work_dir", nil},
		"stage":     {func(w *startFixture) { w.fail["stage"] = errBackend }, "stage", is(errBackend)},
		"create":    {func(w *startFixture) { w.fail["create"] = errBackend }, "create", is(errBackend)},
		"ready":     {func(w *startFixture) { w.fail["frame"] = errBackend }, "ready", is(errBackend)},
		"death":     {func(w *startFixture) { w.dies = true }, "ready", is(runtime.ErrSessionDiedDuringStartup)},
		"alive":     {func(w *startFixture) { w.hidden, w.dies = true, true }, "alive", is(runtime.ErrSessionDiedDuringStartup)},
		"life":      {func(w *startFixture) { w.fail["life"] = errBackend }, "alive", is(errBackend)},
		"prompt":    {func(w *startFixture) { w.fail["deliver"] = errBackend }, "prompt", is(errBackend)},
		"content":   {func(w *startFixture) { w.refusals = []runtime.RefusalReason{runtime.RefusedContent} }, "prompt", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newStartFixture(t)
			w.cfg.PromptSuffix = long
			test.breaks(w)
			session := "worker"
			if name == "name" {
				session = "a/b"
			}
			err := w.Start(t.Context(), session, w.cfg)
			step, ok := errors.AsType[*StartStepError](err)
			if !ok || step.Step != test.step || test.want != nil && !test.want(err) {
				t.Errorf("error %v, want one of step %s", err, test.step)
			}
			w.nothingLeft(t)
		})
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func printed(text string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*CommandError](err)
		return ok && strings.Contains(e.Output, text) && strings.Contains(e.Error(), text)
	}
}

func (w *startFixture) nothingLeft(t *testing.T) {
	t.Helper()
	if w.live || w.exists {
		t.Errorf("a session is left: live %v, claimed %v", w.live, w.exists)
	}
	if slices.Contains(w.log, "create") && w.calls()[len(w.calls())-7:] != "destroy" {
		t.Errorf("calls %q do not end with destroy", w.calls())
	}
	left, _ := filepath.Glob(filepath.Join(w.dir, "private", "*"))
	if len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// TestCancelLeavesNothing ends ctx at each point of the start.
func TestCancelLeavesNothing(t *testing.T) {
	cause := errors.New("the caller has changed its mind")
	for _, at := range []string{"claim", "stage", "create", "frame", "life", "deliver", "pre", "setup"} {
		t.Run(at, func(t *testing.T) {
			w := newStartFixture(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			switch at {
			case "pre":
				w.cfg.PreStart = append(w.cfg.PreStart, "sleep 30")
				time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
			case "setup":
				w.cfg.SessionSetup = []string{"sleep 30"}
				time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
			case "frame":
				w.screen = "not yet" // waits for its prompt
				time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
			default:
				w.onCall = func(what string) {
					if what == at {
						cancel(cause)
					}
				}
			}
			began := time.Now()
			err := w.Start(ctx, "worker", w.cfg)
			if !errors.Is(err, cause) {
				t.Errorf("error %v, want the cause", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			w.nothingLeft(t)
		})
	}
}

func TestSoftStepsWarn(t *testing.T) {
	w := newStartFixture(t)
	w.cfg.SessionSetup = []string{"echo bad; exit 1", "touch " + filepath.Join(w.dir, "second")}
	w.cfg.SessionLive = []string{"exit 2"}
	if err := w.Start(t.Context(), "worker", w.cfg); err != nil {
		t.Fatal(err)
	}
	if len(w.warns) != 2 || !strings.Contains(w.warns[0].Error(), "bad") {
		t.Errorf("warnings %v, want one of each step", w.warns)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "second")); err != nil {
		t.Errorf("a failed set-up command kept the next from running: %v", err)
	}
	if err := w.Live(t.Context(), "worker", w.cfg); err == nil {
		t.Error("Live reports no failure")
	}
}

func TestPromptWaitsForARefusalToPass(t *testing.T) {
	w := newStartFixture(t)
	w.refusals = []runtime.RefusalReason{runtime.RefusedUnready, runtime.RefusedTyping}
	if err := w.Start(t.Context(), "worker", w.cfg); err != nil || !slices.Equal(w.prompts, []string{"go"}) {
		t.Errorf("%v, prompts %q", err, w.prompts)
	}
}

func TestUndeliveredPromptIsAWarning(t *testing.T) {
	w := newStartFixture(t)
	w.Deliver = func(context.Context, string) (runtime.Outcome, error) {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "no sign"}, nil
	}
	if err := w.Start(t.Context(), "worker", w.cfg); err != nil || len(w.warns) != 1 {
		t.Fatalf("%v, warnings %v", err, w.warns)
	}
	if e, ok := errors.AsType[*UndeliveredError](w.warns[0]); !ok || e.Text != "go" {
		t.Errorf("warning %v", w.warns[0])
	}
}

func TestRelaunchKeepsTheBox(t *testing.T) {
	w := newStartFixture(t)
	w.exists = true
	w.fail["life"] = errBackend
	if err := w.Relaunch(t.Context(), "worker", w.cfg); !errors.Is(err, errBackend) {
		t.Error(err)
	}
	if got := w.calls(); got != "create life" || !w.exists {
		t.Errorf("box saw %q, exists %v", got, w.exists)
	}
}
