package pty_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/internal/statedir"
	"gascity/provider/pty"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
)

// ledgerSession is a session of the fake agent with its ledger.
type ledgerSession struct {
	*pty.Provider
	name, file string
}

func begin(t testing.TB, flags string, change ...func(*pty.Config)) *ledgerSession {
	t.Helper()
	return beginAs(t, "claude", flags, change...)
}

// beginAs starts a session with the rules of the agent CLI.
func beginAs(t testing.TB, provider, flags string, change ...func(*pty.Config)) *ledgerSession {
	t.Helper()
	return beginCommand(t, func(file string) runtime.Config {
		command := fmt.Sprintf("%s --ledger %s --max-life 3m %s", build.Build(t), file, flags)
		return runtime.Config{Command: command, ProviderName: provider, ReadyPromptPrefix: "❯ "}
	}, change...)
}

// beginCommand starts a session whose command writes a ledger to a file.
func beginCommand(t testing.TB, command func(file string) runtime.Config, change ...func(*pty.Config)) *ledgerSession {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcpt") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	cfg := config(dir)
	for _, c := range change {
		c(&cfg)
	}
	p, err := pty.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a := &ledgerSession{p, "s", filepath.Join(dir, "ledger")}
	t.Cleanup(func() {
		if err := errors.Join(p.Stop(a.name), p.Close()); err != nil {
			t.Error(err)
		}
	})
	start := command(a.file)
	start.WorkDir = dir
	if err := p.Start(t.Context(), a.name, start); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *ledgerSession) prompt(t *testing.T, text string) {
	t.Helper()
	out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent(text)})
	if err != nil || out.State != runtime.OutcomeSubmitted {
		t.Fatalf("%+v, %v", out, err)
	}
}

// sense reads until ok is true.
func (a *ledgerSession) sense(t testing.TB, what string, ok func(runtime.Reading) bool) runtime.Reading {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		r, err := runtime.Sense(t.Context(), a.Provider, a.name)
		if err != nil {
			t.Fatal(err)
		}
		if ok(r) {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %+v, pending %+v", what, r.Evidence, r.Pending)
		}
	}
}

func of(r runtime.Reading, source runtime.Source) runtime.Evidence {
	for _, e := range r.Evidence {
		if e.Source == source {
			return e
		}
	}
	return runtime.Evidence{}
}

func (a *ledgerSession) wait(t testing.TB, kind string, n int) []ledger.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	records, err := ledgertest.Wait(ctx, a.file, ledgertest.Has(kind, n))
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Of(records, kind)
}

func TestSenseFollowsATurn(t *testing.T) {
	t.Parallel()
	a := begin(t, "--osc7501 --osc9 --osc133")
	says := func(status, progress, mark, screen runtime.Activity) func(runtime.Reading) bool {
		return func(r runtime.Reading) bool {
			return of(r, runtime.SourceStatus).Activity == status && of(r, runtime.SourceProgress).Activity == progress &&
				of(r, runtime.SourceMark).Activity == mark && of(r, runtime.SourceScreen).Activity == screen
		}
	}
	idle := a.sense(t, "idle", says(runtime.ActivityIdle, "", runtime.ActivityReady, runtime.ActivityIdle))
	if e := of(idle, runtime.SourceProcess); e.Activity != runtime.ActivityUnknown || e.Detail == "" || e.Since.IsZero() {
		t.Errorf("process: %+v, want that it lives", e)
	}
	if idle.Instance == "" || idle.Pending != nil {
		t.Errorf("instance %q, pending %+v", idle.Instance, idle.Pending)
	}
	a.prompt(t, "[[busy:700ms]]")
	busy := a.sense(t, "busy", says(runtime.ActivityBusy, runtime.ActivityBusy, runtime.ActivityBusy, runtime.ActivityBusy))
	again := a.sense(t, "busy again", func(runtime.Reading) bool { return true })
	for _, source := range []runtime.Source{runtime.SourceStatus, runtime.SourceScreen} {
		if e := of(busy, source); e.Since.IsZero() || e.Since.Before(of(idle, source).Since) || of(again, source).Activity == e.Activity && !of(again, source).Since.Equal(e.Since) {
			t.Errorf("%s: busy since %s and then %s, idle since %s", source, e.Since, of(again, source).Since, of(idle, source).Since)
		}
	}
	a.wait(t, ledger.Answered, 1)
	a.sense(t, "idle again", says(runtime.ActivityIdle, "", runtime.ActivityReady, runtime.ActivityIdle))
}

// An exited agent has no reading, and the next one does not get its signals.
func TestSenseAfterTheExit(t *testing.T) {
	t.Parallel()
	a := begin(t, "--osc7501")
	before := a.sense(t, "idle", func(r runtime.Reading) bool { return of(r, runtime.SourceStatus).Activity == runtime.ActivityIdle })
	err := runtime.Relaunch(t.Context(), a.Provider, a.name, runtime.Config{
		Command: build.Build(t) + " --hang --ledger " + a.file, WorkDir: filepath.Dir(a.file), ProviderName: "claude",
	})
	if err != nil {
		t.Fatal(err)
	}
	a.wait(t, ledger.Start, 2)
	after := a.sense(t, "unknown", func(runtime.Reading) bool { return true })
	if e := of(after, runtime.SourceScreen); e.Activity != runtime.ActivityUnknown || of(after, runtime.SourceStatus).Activity != "" {
		t.Errorf("%+v of an agent that has drawn nothing (before: %+v)", after.Evidence, before.Evidence)
	}
	if err := a.Stop(a.name); err != nil {
		t.Fatal(err)
	}
	if _, err := runtime.Sense(t.Context(), a.Provider, a.name); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("%v, want ErrSessionNotFound", err)
	}
}

// TestExitIsKnownWhileTheShimExits: between the moment when a shim closes its socket and its own exit, the agent's exit is
// known, and a start waits for that shim.
func TestExitIsKnownWhileTheShimExits(t *testing.T) {
	t.Parallel()
	start := func(string) runtime.Config { return runtime.Config{Command: "exit 7"} }
	a := beginCommand(t, start)
	dir := statedir.For(filepath.Join(filepath.Dir(a.file), "s"), a.name)
	for deadline := time.Now().Add(20 * time.Second); statedir.NotExists(dir.ExitRecord()); pause(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the exit was not recorded")
		}
	}
	var record shim.Record
	if err := statedir.ReadJSON(dir.Record(), &record); err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(record.Shim, syscall.SIGSTOP); err != nil { // it stays in this state for the test
		t.Fatal(err)
	}
	if err := os.Remove(dir.Sock()); err != nil {
		t.Fatal(err)
	}
	next, err := pty.Open(config(filepath.Dir(a.file))) // has no connection to the shim, as a new controller
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	seen, err := runtime.Observe(t.Context(), next, a.name)
	if err != nil || seen.Agent != runtime.Dead || seen.Exit == nil || seen.Exit.Code != 7 || seen.InstanceToken == "" {
		t.Errorf("it is observed as %+v, %v; want the exit with code 7", seen, err)
	}
	started := make(chan error, 1)
	go func() {
		cfg := start("")
		cfg.WorkDir = filepath.Dir(a.file)
		started <- next.Start(t.Context(), a.name, cfg)
	}()
	select {
	case err := <-started:
		t.Errorf("the start did not wait for the shim: %v", err)
		started <- nil
	case <-time.After(300 * time.Millisecond):
	}
	if err := proc.Signal(record.Shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Errorf("the start after the shim has exited: %v", err)
	}
}

// TestOtherInterfaces: a version of a program with another screen does not count as idle while it is busy.
func TestOtherInterfaces(t *testing.T) {
	for _, ui := range []string{"new-spinner", "new-box", "bare"} {
		t.Run(ui, func(t *testing.T) {
			t.Parallel()
			a := begin(t, "--ui "+ui)
			a.prompt(t, "[[busy:1s]]")
			looks := 0
			for records := a.wait(t, ledger.Prompt, 1); len(ledger.Of(records, ledger.Answered)) == 0; looks++ {
				r, err := runtime.Sense(t.Context(), a.Provider, a.name)
				if err != nil {
					t.Fatal(err)
				}
				got := of(r, runtime.SourceScreen)
				if records, err = ledger.Read(a.file); err != nil {
					t.Fatal(err)
				}
				atWork := len(ledger.Of(records, ledger.Answered)) == 0
				if atWork && (got.Activity == runtime.ActivityIdle || got.Activity == runtime.ActivityReady) {
					t.Fatalf("at work it is %s: %s", got.Activity, got.Detail)
				}
			}
			if looks < 3 {
				t.Errorf("only %d looks", looks)
			}
		})
	}
}

// TestLimits: a limit is reported with its end while the agent runs, when it exits because of it, and when
// the start fails because of it.
func TestLimits(t *testing.T) {
	t.Parallel()
	until := time.Date(2126, 1, 2, 3, 4, 0, 0, time.UTC)
	a := begin(t, "")
	a.prompt(t, "[[busy:100ms]][[limit:2126-01-02T03:04:00Z]]")
	limited := func(r runtime.Reading) bool { return of(r, runtime.SourceScreen).Activity == runtime.ActivityLimited }
	if e := of(a.sense(t, "limited", limited), runtime.SourceScreen); !e.Until.Equal(until) {
		t.Errorf("%+v, want it until %s", e, until)
	}
	a.prompt(t, "[[busy:100ms]][[limit]]")
	a.wait(t, ledger.Limited, 2)
	a.sense(t, "limited", func(r runtime.Reading) bool { return limited(r) && of(r, runtime.SourceScreen).Until.IsZero() })
	a.prompt(t, "[[busy:100ms]][[limit:2126-01-02T03:04:00Z|exit]]")
	a.wait(t, ledger.Exit, 1)
	for end := time.Now().Add(20 * time.Second); ; {
		obs, err := runtime.Observe(t.Context(), a.Provider, a.name)
		if err != nil {
			t.Fatal(err)
		}
		if obs.Exit != nil {
			if obs.Last == nil || obs.Last.Activity != runtime.ActivityLimited || !obs.Last.Until.Equal(until) {
				t.Errorf("%+v, want a limit until %s", obs.Last, until)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("its end is not seen")
		}
	}
	err := a.Start(t.Context(), "refused", runtime.Config{
		Command: build.Build(t) + " --limit never --ledger " + a.file + "2", WorkDir: filepath.Dir(a.file), ProviderName: "claude", ReadyPromptPrefix: "❯ ",
	})
	death, ok := errors.AsType[*runtime.StartupDeath](err)
	if !ok || death.Last == nil || death.Last.Activity != runtime.ActivityLimited || !death.Last.Until.IsZero() {
		t.Errorf("%v: %+v, want a limit without an end", err, death)
	}
}

// TestPendingAndRespond: a question can be read and is answered once.
func TestPendingAndRespond(t *testing.T) {
	t.Parallel()
	a := begin(t, "--osc7501")
	a.prompt(t, "[[busy:1s]][[permit:Bash|rm -rf build]][[permit:Bash|rm -rf build]][[reply:Which branch?]]")
	pending := func(not string) *runtime.PendingInteraction {
		r := a.sense(t, "a question", func(r runtime.Reading) bool { return r.Pending != nil && r.Pending.RequestID != not })
		asked, err := runtime.Pending(a.Provider, a.name)
		if err != nil || asked == nil || asked.RequestID != r.Pending.RequestID {
			t.Errorf("Pending is %+v, %v; Sense says %+v", asked, err, r.Pending)
		}
		return r.Pending
	}
	first := pending("")
	if first.Kind != runtime.WaitPermission || first.Prompt != "Bash command\n\n  rm -rf build\n\nDo you want to proceed?" ||
		first.Metadata[runtime.MetaTool] != "Bash" || first.Metadata[runtime.MetaInput] != "rm -rf build" || len(first.Options) != 3 {
		t.Errorf("asked %+v", first)
	}
	if out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent("a prompt")}); err != nil || out.Reason != runtime.RefusedDialog {
		t.Errorf("a prompt during a question: %+v, %v", out, err)
	}
	answer := func(id, action, text string) error {
		return runtime.Respond(a.Provider, a.name, runtime.InteractionResponse{RequestID: id, Action: action, Text: text})
	}
	if err := answer(first.RequestID, runtime.ActionText, "yes"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("words for a menu: %v, want a refusal", err)
	}
	if err := answer(first.RequestID, runtime.ActionChoose, "No"); err != nil {
		t.Fatal(err)
	}
	second := pending(first.RequestID)
	if second.Prompt != first.Prompt || !slices.Equal(second.Options, first.Options) {
		t.Errorf("asked %+v, want the same question under another name", second)
	}
	if err := answer(first.RequestID, runtime.ActionChoose, "No"); !errors.Is(err, runtime.ErrInteractionGone) {
		t.Errorf("the answer to the first for the second: %v, want ErrInteractionGone", err)
	}
	if err := answer(second.RequestID, runtime.ActionApprove, ""); err != nil {
		t.Fatal(err)
	}
	third := pending(second.RequestID)
	if third.Kind != runtime.WaitQuestion || third.Prompt != "Which branch?" || third.Metadata[runtime.MetaSource] != string(runtime.SourceStatus) {
		t.Errorf("asked %+v", third)
	}
	if out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent("a prompt")}); err != nil || out.Reason != runtime.RefusedDialog {
		t.Errorf("a prompt during a question: %+v, %v", out, err)
	}
	if err := answer(third.RequestID, runtime.ActionText, "main\nor trunk"); err != nil {
		t.Fatal(err)
	}
	var chosen []string
	for _, r := range a.wait(t, ledger.Choice, 3) {
		chosen = append(chosen, r.Choice)
	}
	if want := []string{"No", "Yes", "main\nor trunk"}; !slices.Equal(chosen, want) {
		t.Errorf("the agent received %q, want %q", chosen, want)
	}
	if err := answer("", runtime.ActionApprove, ""); !errors.Is(err, runtime.ErrInteractionGone) {
		t.Errorf("an answer to nothing: %v", err)
	}
}

// A delivery whose sender was killed before Enter can be withdrawn once, but not with another text or instance.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	a := begin(t, "")
	l, err := a.Session(t.Context(), "look at", a.name)
	if err != nil {
		t.Fatal(err)
	}
	r := a.sense(t, "ready", func(r runtime.Reading) bool { return of(r, runtime.SourceScreen).Activity == runtime.ActivityIdle })
	text := "a prompt\nwhose sender died"
	id := "the prompt"
	lease, err := l.Client.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Begin(t.Context(), id, text, nil); err != nil {
		t.Fatal(err)
	}
	if err := lease.Send(t.Context(), []byte("\x1b[200~"+text+"\x1b[201~")); err != nil {
		t.Fatal(err)
	}
	lease.Close()
	withdraw := func(id, instance string) (bool, error) {
		return runtime.Withdraw(t.Context(), a.Provider, a.name, runtime.Delivery{ID: id, Instance: instance, Content: runtime.TextContent(text)})
	}
	if ok, err := withdraw(id, "another"); ok || !errors.Is(err, runtime.ErrStaleInstance) {
		t.Errorf("for another instance: %v, %v", ok, err)
	}
	for range 2 {
		for _, id := range []string{"never begun", id} {
			if ok, err := withdraw(id, r.Instance); !ok || err != nil {
				t.Errorf("%s: %v, %v, want it taken back", id, ok, err)
			}
		}
	}
	a.prompt(t, text)
	if ok, err := withdraw("", r.Instance); ok || err != nil {
		t.Errorf("what was taken is withdrawn: %v, %v", ok, err)
	}
	out, err := runtime.Settle(t.Context(), a.Provider, a.name, runtime.Delivery{Content: runtime.TextContent(text)})
	if err != nil || out.State != runtime.OutcomeSubmitted || out.Evidence == "" {
		t.Errorf("what was taken is %+v, %v", out, err)
	}
	if got := a.wait(t, ledger.Prompt, 1); len(got) != 1 || !got[0].Is(text) {
		t.Errorf("the agent took %+v", got)
	}
}

// TestTypistAndNudges has a person type in an attached terminal while nudges are delivered. No byte of
// the person is lost, joined to a nudge or submitted by one.
func TestTypistAndNudges(t *testing.T) {
	t.Parallel()
	nudges := 25
	if n, err := strconv.Atoi(os.Getenv("GC_TEST_NUDGES")); err == nil {
		nudges = n
	}
	a := begin(t, "--think 5ms --max-life 15m", func(c *pty.Config) { c.HumanQuiet = 80 * time.Millisecond })
	l, err := a.Session(t.Context(), "look at", a.name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Client.Attach(t.Context(), shim.AttachRequest{Cols: 120, Rows: 40})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := shim.ReadAttachMessage(conn); err != nil {
				return
			}
		}
	}()
	typeAndNudge(t, a, nudges, func(key []byte) error {
		_, err := shim.AttachMessage{Kind: shim.AttachInput, Payload: key}.WriteTo(conn)
		return err
	})
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// TestLiveTerminalAndNudges is the same for a person who types in a live terminal, as on the web.
func TestLiveTerminalAndNudges(t *testing.T) {
	t.Parallel()
	a := begin(t, "--think 5ms --max-life 15m", func(c *pty.Config) { c.HumanQuiet = 80 * time.Millisecond })
	terminal, err := runtime.OpenTerminal(t.Context(), a.Provider, a.name, runtime.TerminalOptions{Type: true})
	if err != nil {
		t.Fatal(err)
	}
	typeAndNudge(t, a, 25, func(key []byte) error { return terminal.Write(t.Context(), key) })
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
}

// typeAndNudge delivers nudges while a person types, and checks what the agent got.
func typeAndNudge(t *testing.T, a *ledgerSession, nudges int, write func(key []byte) error) {
	t.Helper()
	typed, stop := make(chan []string, 1), make(chan struct{})
	go func() { typed <- typing(t, write, stop) }()
	sent := deliverAll(t, a, nudges)
	close(stop)
	lines := <-typed
	var got []string
	for _, r := range a.wait(t, ledger.Prompt, nudges+len(lines)) {
		got = append(got, r.Text)
	}
	want := slices.Concat(sent, lines)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the agent took %d prompts, want %d: %q", len(got), len(want), difference(got, want))
	}
	t.Logf("%d nudges among %d lines of a person", len(sent), len(lines))
}

// difference returns the elements that are in only one list.
func difference(a, b []string) (only []string) {
	for _, text := range a {
		if !slices.Contains(b, text) {
			only = append(only, "+"+text)
		}
	}
	for _, text := range b {
		if !slices.Contains(a, text) {
			only = append(only, "-"+text)
		}
	}
	return only
}

// deliverAll delivers nudges, and repeats those that are refused.
func deliverAll(t *testing.T, a *ledgerSession, n int) (sent []string) {
	for i := range n {
		text := fmt.Sprintf("<nudge %03d>", i)
		sent = append(sent, text)
		for {
			out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{Content: runtime.TextContent(text)})
			if err != nil || out.State != runtime.OutcomeRefused && out.State != runtime.OutcomeSubmitted {
				t.Errorf("%s: %+v, %v", text, out, err)
			}
			if out.State != runtime.OutcomeRefused {
				break
			}
			pause(20 * time.Millisecond)
		}
	}
	return sent
}

func pause(d time.Duration) { <-time.After(d) }

// typing types lines key by key until stop is closed.
func typing(t *testing.T, write func(key []byte) error, stop <-chan struct{}) (lines []string) {
	random := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	for n := 0; ; n++ {
		select {
		case <-stop:
			return lines
		case <-time.After(upTo(400 * time.Millisecond)):
		}
		line := fmt.Sprintf("person %03d", n)
		for _, key := range append(strings.Split(line, ""), "\r") {
			if err := write([]byte(key)); err != nil {
				t.Error(err)
				return lines
			}
			pause(upTo(25 * time.Millisecond))
		}
		lines = append(lines, line)
	}
}

// BenchmarkSense measures one reading of an idle session.
func BenchmarkSense(b *testing.B) {
	a := begin(b, "--osc7501")
	a.sense(b, "idle", func(r runtime.Reading) bool { return of(r, runtime.SourceScreen).Activity == runtime.ActivityIdle })
	l, err := a.Session(b.Context(), "look at", a.name)
	if err != nil {
		b.Fatal(err)
	}
	f, err := l.Client.Frame(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := runtime.Sense(b.Context(), a.Provider, a.name); err != nil {
			b.Fatal(err)
		}
	}
	state, err := l.Client.State(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	sent := 0
	for _, answer := range []any{state, f} {
		body, err := json.Marshal(answer)
		if err != nil {
			b.Fatal(err)
		}
		sent += len(body)
	}
	b.ReportMetric(float64(sent), "bytes/op")
}
