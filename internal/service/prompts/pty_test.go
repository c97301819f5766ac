package prompts_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/fakeagent/ledger"
	"gascity/internal/service/prompts"
	"gascity/provider/pty"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
	"gascity/test/servicetest"
	"gascity/test/shimtest"
	"gascity/test/storetest"
	"gascity/test/tier"
)

// The test binary is also the shim and the controller process that is killed.
func TestMain(m *testing.M) {
	shimtest.Main()
	if len(os.Args) >= 4 && os.Args[1] == "engine" {
		if err := engineMain(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ptyCity is a city of real sessions in embedded terminals. It reads a session after each event, as the
// controller does.
type ptyCity struct {
	*pty.Provider
	dir    string
	engine *prompts.Engine

	mu     sync.Mutex
	views  map[string]session.Snapshot
	senses map[string]*session.EvidenceSet
}

// newPTYCity opens the sessions below dir.
func newPTYCity(dir string, store prompt.Store) (*ptyCity, error) {
	p, err := pty.Open(pty.Config{
		Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
		Shim: shimtest.Command(),
	})
	if err != nil {
		return nil, err
	}
	h := &ptyCity{Provider: p, dir: dir, views: map[string]session.Snapshot{}, senses: map[string]*session.EvidenceSet{}}
	h.engine = prompts.New(servicetest.PromptOptions(store, h, storetest.NewEvents(10_000, 0, time.Now)))
	return h, nil
}

// run observes the sessions and delivers prompts until ctx ends.
func (h *ptyCity) run(ctx context.Context) error {
	events, err := h.Watch(ctx)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		for e := range events {
			for _, name := range h.affected(e) {
				h.read(ctx, name)
			}
		}
	})
	return h.engine.Run(ctx)
}

// affected returns the sessions that an event is about: all sessions, if events were lost.
func (h *ptyCity) affected(e runtime.Event) []string {
	if e.Session != "" {
		return []string{e.Session}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.views))
}

func openPTYCity(t *testing.T, dir string) *ptyCity {
	t.Helper()
	h, err := newPTYCity(dir, &storetest.Receipts{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.close(t)
	})
	return h
}

// close stops every session and removes the files.
func (h *ptyCity) close(t *testing.T) {
	for name := range h.views {
		if err := h.Stop(name); err != nil {
			t.Error(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Error(err)
	}
}

func shortDir(t *testing.T) string {
	t.Helper()
	tier.Process(t)
	dir, err := os.MkdirTemp("", "gcd") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// begin starts a fake agent with the flags, and returns its ledger.
func (h *ptyCity) begin(t *testing.T, name string, flags ...string) string {
	t.Helper()
	path := filepath.Join(h.dir, name+".ledger")
	words := append([]string{build.Build(t), "--ledger", path}, flags...)
	cfg := runtime.Config{Command: "exec " + strings.Join(words, " "), ReadyPromptPrefix: "❯", ProviderName: "claude", WorkDir: h.dir}
	if err := h.Start(t.Context(), name, cfg); err != nil {
		t.Fatal(err)
	}
	h.read(t.Context(), name)
	return path
}

// read observes a session.
func (h *ptyCity) read(ctx context.Context, name string) {
	obs, err := runtime.Observe(ctx, h.Provider, name)
	v := session.Snapshot{Agent: name, Session: name, Provider: h.Provider, Desired: "running", State: client.StateRunning}
	switch {
	case err != nil:
		v.Unknown = err.Error()
	case obs.Session == runtime.Dead || obs.Agent == runtime.Dead:
		v.State = client.StateStopped
	default:
		v.Running, v.Ready, v.Token = true, true, obs.InstanceToken
		v.Instance = session.PublicInstance(obs.InstanceToken)
	}
	reading, err := runtime.Sense(ctx, h.Provider, name)
	h.mu.Lock()
	if err == nil {
		s := h.senses[name]
		if s == nil {
			s = &session.EvidenceSet{}
			h.senses[name] = s
		}
		s.Fold(reading)
		v.Activity, _, _ = session.Fuse(s, reading.At, session.Rules{})
		v.Pending, v.ReadAt = reading.Pending, reading.At
	}
	h.views[name] = v
	h.mu.Unlock()
	h.engine.SessionChanged(name)
}

func (h *ptyCity) Snapshot(name string) (session.Snapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.views[name]
	if !ok {
		return v, fmt.Errorf("%w: %s", client.ErrNotFound, name)
	}
	return v, nil
}

func (h *ptyCity) Sense(name string) { h.read(context.Background(), name) } //nolint:forbidigo // the method has no ctx

func (h *ptyCity) WakeFor(context.Context, string, string) error { return client.ErrUnsupported }

// corpus returns texts that terminals have cut, dropped or interpreted as keys.
func corpus() map[string]string {
	texts := map[string]string{
		"semicolon": ";", "ends with semicolon": "a;", "option": "-x", "bang": "!ls", "slash": "/clear", "paste end": "a\x1b[201~b", "nul": "a\x00b",
		"cr": "a\rb", "crlf": "a\r\nb", "emoji": "👩‍👩‍👧‍👦 é 漢字 🇪🇺", "backslash": `ends with \`, "lines": "one\ntwo\n\nfour\n", "tab": "a\tb",
		"escape": "a\x1bb", "interrupt": "a\x03b", "quotes": "'\"`$HOME`", "bell": "a\ab", "blank": " leading and trailing ", "c1": "a\u009bb",
	}
	for _, n := range []int{1, 511, 512, 513, 1010, 1011, 1012, 1013, 1014, 1015, 1016, 4095, 4096, 4097, 9994, 9995, 16300, 16383, 16384, 16385, 16400, 64 << 10, 1 << 20} {
		texts[fmt.Sprint(n, " bytes")] = sized(n)
	}
	return texts
}

// sized returns a text of n bytes without repetitions.
func sized(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "word%d ", i)
		if i%12 == 11 {
			b.WriteByte('\n')
		}
	}
	return b.String()[:n-1] + "."
}

// Each text arrives unchanged, apart from the prefix that prevents a command, or is refused.
func TestCorpusArrivesOrIsRefused(t *testing.T) {
	t.Parallel()
	h := openPTYCity(t, shortDir(t))
	texts := corpus()
	screen := agentcli.Builtin().Resolve("claude", "").Screen
	ledgers := []string{h.begin(t, "one", "--think", "1ms"), h.begin(t, "two", "--think", "1ms"), h.begin(t, "three", "--think", "1ms")}
	names := []string{"one", "two", "three"}
	type sending struct{ what, name, id string }
	var all []sending
	for what, text := range texts {
		name := names[len(all)%len(names)]
		got, err := h.engine.Nudge(t.Context(), name, client.NudgeRequest{Text: text, AllowChanges: true})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		all = append(all, sending{what, name, got.ID})
	}
	arrived := map[string]int{}
	for _, s := range all {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got, err := h.engine.Receipt(ctx, s.id, client.ReceiptConsumed)
		cancel()
		if err != nil {
			t.Errorf("%s: %v; %+v", s.what, err, got)
		}
		odd := strings.ContainsAny(texts[s.what], "\x00\x1b\x03\a\r") || strings.Contains(texts[s.what], "\u009b")
		state := got.State
		if s.what == "slash" && state == client.ReceiptSubmitted {
			state = client.ReceiptConsumed // accepted, and its turn of 1 ms was not observed: it may have been a command of the agent CLI
		}
		switch state {
		case client.ReceiptConsumed:
			line, _ := screen.Prompt(texts[s.what]) // a text that the agent CLI would run as a command is sent as a prompt
			arrived[ledger.Sum(line)]++
		case client.ReceiptDead:
			if !odd {
				t.Errorf("%s was refused: %s", s.what, got.Reason)
			}
		default:
			t.Errorf("%s is %s (%s, %s)", s.what, got.State, got.Reason, got.Evidence)
		}
	}
	for _, path := range ledgers {
		records, err := ledger.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ledger.Prompts(records) {
			if arrived[r.SHA256]--; arrived[r.SHA256] < 0 {
				t.Errorf("the agent took %d bytes that were never sent, or twice: %.60q", r.Bytes, r.Text)
			}
		}
	}
	if len(arrived) < 30 {
		t.Errorf("only %d texts arrived", len(arrived))
	}
	for sum, n := range arrived {
		if n != 0 {
			t.Errorf("a consumed prompt (%s) is missing in the ledgers", sum)
		}
	}
}
