package runtimetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/elsewhere"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/fakeagent/build"
)

// TestMain is the other process of TestStartElsewhere.
func TestMain(m *testing.M) {
	elsewhere.Main(func(dir string) runtime.Provider {
		p := fake.New()
		switch filepath.Base(dir) {
		case "taken":
			p.Fail("Start", "", runtime.ErrSessionExists)
		case "broken":
			p.Fail("Start", "", errors.New("no disk"))
		}
		return p
	})
	os.Exit(m.Run())
}

func TestStartElsewhere(t *testing.T) {
	dir := t.TempDir()
	start := func(kind, name string) error {
		return elsewhere.Start(t.Context(), filepath.Join(dir, kind), name, runtime.Config{WorkDir: dir})
	}
	if err := start("free", "a"); err != nil {
		t.Errorf("a good start elsewhere = %v, want nil", err)
	}
	if err := start("taken", "a"); !errors.Is(err, runtime.ErrSessionExists) {
		t.Errorf("a duplicate elsewhere = %v, want ErrSessionExists", err)
	}
	if err := start("free", "not a name"); !errors.Is(err, runtime.ErrInvalidName) {
		t.Errorf("an invalid name elsewhere = %v, want ErrInvalidName", err)
	}
	if err := start("broken", "a"); err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("a failure elsewhere = %v, want its text", err)
	}
}

func TestCasesAreWellFormed(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+\.[a-z-]+$`)
	seen, facets, last := map[string]bool{}, map[string]bool{}, ""
	for _, c := range runtimetest.Cases() {
		if !id.MatchString(c.ID) || seen[c.ID] {
			t.Errorf("the id %q is no new word.word", c.ID)
		}
		seen[c.ID] = true
		if !strings.HasSuffix(c.Sentence, ".") || strings.ContainsAny(c.Sentence, "\n|") || c.Run == nil {
			t.Errorf("%s has no sentence or no proof", c.ID)
		}
		facet, _, _ := strings.Cut(c.ID, ".")
		if facet != last && facets[facet] {
			t.Errorf("the cases of %q are not together", facet)
		}
		facets[facet], last = true, facet
	}
}

func TestCheckTellsPassedFromSkippedAndNotApplicable(t *testing.T) {
	h := fake.Harness(func(p *fake.Provider) runtime.Provider { return facets{p} })
	h.Elsewhere, h.Patience = nil, time.Minute
	h.Skip = map[string]string{"peek.scrollback": "it has none"}
	results, err := runtimetest.Check(t.Context(), h, 8)
	if err != nil || len(results) != len(runtimetest.Cases()) {
		t.Fatalf("Check = %d results, %v, want one for each case", len(results), err)
	}
	for _, r := range results {
		want := runtimetest.Passed
		switch {
		case r.ID == "peek.scrollback":
			want = runtimetest.Skipped
		case r.ID == "start.duplicate-processes" || slices.ContainsFunc(runtimetest.Cases(), func(c runtimetest.Case) bool {
			return c.ID == r.ID && slices.ContainsFunc(c.Needs, isExtension)
		}):
			want = runtimetest.NotApplicable
		}
		if r.Status != want {
			t.Errorf("%s %s, want %s: %v", r.ID, r.Status, want, r.Detail)
		}
		if want != runtimetest.Passed && len(r.Detail) != 1 {
			t.Errorf("%s gives no reason", r.ID)
		}
	}
}

// facets hides every extension of the fake.
type facets struct{ runtime.Provider }

func isExtension(need runtimetest.Need) bool { _, other := needTexts[need]; return !other }

func TestUnsupportedIsNotApplicable(t *testing.T) {
	h := mutantHarness(func(m *modifiedFake) {
		m.exec = func(context.Context, string, []string) ([]byte, int, error) {
			return nil, 0, runtime.ErrExecUnsupported
		}
	})
	if r := find(t, "exec.runs").Check(t.Context(), h); r.Status != runtimetest.NotApplicable {
		t.Errorf("an extension that answers unsupported %s, want not applicable", r.Status)
	}
}

func find(t *testing.T, id string) runtimetest.Case {
	t.Helper()
	cases := runtimetest.Cases()
	i := slices.IndexFunc(cases, func(c runtimetest.Case) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("there is no case %s", id)
	}
	return cases[i]
}

func TestHarnessMistakesAreErrors(t *testing.T) {
	good := fake.Harness(nil)
	for name, change := range map[string]func(h *runtimetest.Harness){
		"unknown skip":          func(h *runtimetest.Harness) { h.Skip = map[string]string{"no.such-case": "reason"} },
		"skip without a reason": func(h *runtimetest.Harness) { h.Skip = map[string]string{"stop.twice": ""} },
		"no New":                func(h *runtimetest.Harness) { h.New = nil },
		"no Agent":              func(h *runtimetest.Harness) { h.Agent = nil },
	} {
		h := good
		change(&h)
		if _, err := runtimetest.Check(t.Context(), h, 1); err == nil {
			t.Errorf("a harness with %s passes", name)
		}
	}
}

func TestCheckSurvivesPanicsAndFatals(t *testing.T) {
	for name, run := range map[string]func(runtimetest.T, *runtimetest.World){
		"fatal": func(t runtimetest.T, _ *runtimetest.World) { t.Fatalf("the end") },
		"panic": func(runtimetest.T, *runtimetest.World) { panic("the end") },
		"error": func(t runtimetest.T, _ *runtimetest.World) { t.Errorf("the end") },
	} {
		r := runtimetest.Case{ID: "x.y", Sentence: "z.", Run: run}.Check(t.Context(), fake.Harness(nil))
		if r.Status != runtimetest.Failed || !strings.Contains(strings.Join(r.Detail, "\n"), "the end") {
			t.Errorf("%s: %s %q, want a failure with its text", name, r.Status, r.Detail)
		}
	}
}

func TestCheckEndsThoughAProviderHangs(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	h := mutantHarness(func(m *modifiedFake) {
		m.peek = func(string, int) (string, error) {
			<-release
			return "", nil
		}
	})
	h.Patience = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if r := find(t, "peek.missing").Check(ctx, h); r.Status != runtimetest.Failed || !strings.Contains(strings.Join(r.Detail, " "), "hangs") {
		t.Errorf("a case whose provider hangs %s: %q", r.Status, r.Detail)
	}
}

func TestCheckReportsWhatIsLeft(t *testing.T) {
	var dir string
	h := mutantHarness(func(m *modifiedFake) { m.stop = func(string) error { return nil } })
	r := runtimetest.Case{ID: "x.y", Sentence: "z.", Run: func(t runtimetest.T, w *runtimetest.World) {
		dir = t.TempDir()
		w.Start("a", runtimetest.Behaviour{})
	}}.Check(t.Context(), h)
	if r.Status != runtimetest.Failed || !strings.Contains(strings.Join(r.Detail, "\n"), "still runs") {
		t.Errorf("a case that leaves a process %s: %q", r.Status, r.Detail)
	}
	if _, err := os.Stat(dir); err == nil || dir == "" {
		t.Errorf("the folder %q is left", dir)
	}
}

// A long case outlives its agents' numbers: who has got one of them since is somebody else.
func TestWhatOthersRunIsNotSwept(t *testing.T) {
	if _, err := os.Stat("/proc/uptime"); err != nil {
		t.Skip("when a process began is unknown here")
	}
	for name, tt := range map[string]struct {
		ago  time.Duration
		want runtimetest.Status
	}{"an agent's": {0, runtimetest.Failed}, "another's": {time.Hour, runtimetest.Passed}} {
		other := exec.CommandContext(t.Context(), "sleep", "1000")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- other.Wait() }()
		h := fake.Harness(nil)
		h.Place = runtimetest.Local{}
		h.Agent = func(t runtimetest.T, dir string, _ runtimetest.Behaviour) runtimetest.Agent {
			agent := runtimetest.Agent{Ledger: filepath.Join(dir, "ledger")}
			line := fmt.Sprintf("{\"kind\":\"start\",\"run\":%d,\"time\":%q}\n", other.Process.Pid, time.Now().Add(-tt.ago).Format(time.RFC3339Nano))
			if err := os.WriteFile(agent.Ledger, []byte(line), 0o600); err != nil {
				t.Fatalf("%v", err)
			}
			return agent
		}
		r := runtimetest.Case{ID: "x.y", Sentence: "z.", Run: func(_ runtimetest.T, w *runtimetest.World) { w.Agent(runtimetest.Behaviour{}) }}.Check(t.Context(), h)
		if r.Status != tt.want {
			t.Errorf("%s process: %s %q, want it %s", name, r.Status, r.Detail, tt.want)
			_ = other.Process.Kill() // it may have exited
		}
		if tt.want == runtimetest.Passed {
			if err := other.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("%s process was ended: %v", name, err)
			}
			if err := other.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
		if err := <-ended; err == nil {
			t.Errorf("%s process ended by itself", name)
		}
	}
}

func TestParseLedger(t *testing.T) {
	entries, err := runtimetest.ParseLedger([]byte(`{"kind":"start","run":7}` + "\n" + `{"kind":"prompt","bytes":2,"sha256":"` +
		`8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"}` + "\n" + `{"kind":"unfin`))
	if err != nil || len(entries) != 2 || entries[0].Run != 7 || !entries[1].Is("hi") || entries[1].Is("ho") {
		t.Errorf("ParseLedger = %+v, %v, want a start and the prompt hi", entries, err)
	}
	if _, err := runtimetest.ParseLedger([]byte("nonsense\n")); err == nil {
		t.Error("nonsense is a ledger")
	}
}

// TestProgramSpeaksTheFakeAgentsLanguage runs the real fake agent on pipes: its
// flags and its ledger are what the suite believes.
func TestProgramSpeaksTheFakeAgentsLanguage(t *testing.T) {
	program := runtimetest.Program{Path: build.Build(t), Flags: []string{"--plain", "--max-life", "20s"}}
	agent := program.Agent(t, t.TempDir(), runtimetest.Behaviour{
		Say: []string{"it's", "two"}, Turn: time.Millisecond, IgnoreTerm: true, PrintEnv: true, SlowStart: time.Millisecond,
		SpawnSetsid: true, SpawnDaemon: true, Rename: "2.1.29", IgnoreFirstEnter: true,
	})
	out := runOnPipes(t, agent, "hello\n")
	if !strings.HasPrefix(out, "it's\ntwo\n") {
		t.Errorf("the agent said %q, want it's and two first", out)
	}
	entries := readLedger(t, agent)
	for _, kind := range []string{runtimetest.LedgerStart, runtimetest.LedgerReady, runtimetest.LedgerSpawn, runtimetest.LedgerPrompt, runtimetest.LedgerExit} {
		if !slices.ContainsFunc(entries, func(e runtimetest.Entry) bool { return e.Kind == kind }) {
			t.Errorf("the ledger has no %q: %+v", kind, entries)
		}
	}
	if !slices.ContainsFunc(entries, func(e runtimetest.Entry) bool { return e.Is("hello") }) {
		t.Errorf("the prompt is not in the ledger: %+v", entries)
	}
	if env, err := os.ReadFile(agent.Env); err != nil || !strings.Contains("\x00"+string(env), "\x00PATH=") {
		t.Errorf("the environment is %q, %v", env, err)
	}
	for _, e := range entries {
		for _, pid := range e.PIDs {
			if !(runtimetest.Local{}).Alive(pid) {
				t.Errorf("process %d of the ledger does not run", pid)
			}
			if err := (runtimetest.Local{}).Kill(pid); err != nil {
				t.Errorf("cannot kill helper %d: %v", pid, err)
			}
		}
	}
}

// runOnPipes runs the agent until it has read all of input and returns what it
// printed. The output goes to a file, since the agent's helpers hold it open.
func runOnPipes(t *testing.T, agent runtimetest.Agent, input string) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", agent.Config.Command)
	cmd.Stdin, cmd.Stdout, cmd.Dir = strings.NewReader(input), out, t.TempDir()
	runErr := cmd.Run()
	text, err := os.ReadFile(out.Name())
	if err != nil || runErr != nil {
		t.Fatalf("the agent: %v, %v\n%s", runErr, err, text)
	}
	return string(text)
}

func readLedger(t *testing.T, agent runtimetest.Agent) []runtimetest.Entry {
	t.Helper()
	data, err := os.ReadFile(agent.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := runtimetest.ParseLedger(data)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
