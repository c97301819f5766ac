package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "host" {
		os.Exit(bridge.Run(context.Background(), bridge.Options{Args: os.Args[2:], Environ: os.Environ(), Stdout: os.Stdout, Version: "test"})) //nolint:forbidigo // this is a main
	}
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		actor(os.Stdin, os.Stdout)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "draft" {
		draft(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

const token = "t0ken"

// bench is one host with a fake agent.
type bench struct {
	bridge.Client
	t      *testing.T
	cmd    *exec.Cmd
	output *printedOutput
	ledger string
	ended  chan struct{}
}

// printedOutput is what a host prints.
type printedOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printedOutput) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func begin(t *testing.T, flags string) *bench {
	t.Helper()
	return beginAs(t, func(b *bench) string { return build.Build(t) + " --acp --ledger " + b.ledger + " " + flags })
}

// beginAs runs a host with another agent.
func beginAs(t *testing.T, command func(*bench) string, env ...string) *bench {
	t.Helper()
	return beginBy(t, func(b *bench) bridge.Spec { return bridge.Spec{Command: "exec " + command(b)} }, env...)
}

// beginBy runs a host with another spec.
func beginBy(t *testing.T, of func(*bench) bridge.Spec, env ...string) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "gch") //nolint:usetesting // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ledger: filepath.Join(dir, "ledger"), output: &printedOutput{}, ended: make(chan struct{})}
	by := of(b)
	by.Socket = filepath.Join(dir, "acp")
	spec, err := json.Marshal(by)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.Client = bridge.Client{Socket: filepath.Join(dir, "acp"), Instance: token}
	b.cmd = exec.Command(self, "host")
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = dir, b.output, os.Stderr
	b.cmd.Env = append(os.Environ(), bridge.SpecVariable+"="+string(spec), "GC_INSTANCE_TOKEN="+token, "GORACE=atexit_sleep_ms=0")
	b.cmd.Env = append(b.cmd.Env, env...)
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.ended)
		_ = b.cmd.Wait() // how it ends is looked at where it matters
	}()
	t.Cleanup(func() {
		_ = b.cmd.Process.Signal(os.Interrupt)
		_ = b.cmd.Process.Signal(os.Kill)
		<-b.ended
		_ = os.RemoveAll(dir) // a temporary folder
	})
	b.until("it is ready", func(s bridge.State) bool { return s.Conversation != "" })
	return b
}

// until waits until the state of the host fulfils is. what describes that for the failure.
func (b *bench) until(what string, is func(bridge.State) bool) bridge.State {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	var seen uint64
	for {
		s, err := b.State(ctx, seen)
		switch {
		case err == nil && is(s):
			return s
		case err == nil:
			seen = s.Seq
		case ctx.Err() != nil:
			b.t.Fatalf("not within 30 s: %s", what)
		default:
			<-time.After(20 * time.Millisecond) // it is not up yet
		}
	}
}

func (b *bench) deliver(id, text string, busy time.Duration) (runtime.Outcome, error) {
	return b.Deliver(b.t.Context(), bridge.Delivery{ID: id, Once: true, Text: text, Busy: busy, Confirm: 10 * time.Second})
}

func (b *bench) prompts() []ledger.Record {
	b.t.Helper()
	all, err := ledger.Read(b.ledger)
	if err != nil {
		b.t.Fatal(err)
	}
	return ledger.Prompts(all)
}

func want(t *testing.T, out runtime.Outcome, err error, state runtime.OutcomeState, reason runtime.RefusalReason) {
	t.Helper()
	if err != nil || out.State != state || out.Reason != reason {
		t.Errorf("got %+v, %v; want %s %s", out, err, state, reason)
	}
}

// TestOnePromptAtATime checks that one prompt at a time is sent to the agent, and that the next one
// waits in order, for a limited time.
func TestOnePromptAtATime(t *testing.T) {
	t.Parallel()
	b := begin(t, "")
	out, err := b.deliver("a", "[[busy:1s]] first", time.Minute)
	want(t, out, err, runtime.OutcomeSubmitted, "")
	out, err = b.deliver("late", "too late", 50*time.Millisecond)
	want(t, out, err, runtime.OutcomeRefused, runtime.RefusedBusy)
	out, err = b.deliver("b", "second", time.Minute)
	want(t, out, err, runtime.OutcomeSubmitted, "")
	b.until("both turns are over", func(s bridge.State) bool { return s.Turns == 2 })
	if got := b.prompts(); len(got) != 2 || !got[0].Is("[[busy:1s]] first") || !got[1].Is("second") {
		t.Errorf("the agent got %+v", got)
	}
	out, err = b.Settle(t.Context(), "late")
	want(t, out, err, runtime.OutcomeRefused, runtime.RefusedWithdrawn)
}

// TestSameDeliveryIDIsSentOnce checks that a prompt with the same ID is sent once, by any client
// and however often it is delivered.
func TestSameDeliveryIDIsSentOnce(t *testing.T) {
	t.Parallel()
	b := begin(t, "")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if out, err := b.deliver("a", "once", time.Minute); err != nil || out.State == runtime.OutcomeAbsent {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	all.Wait()
	out, err := b.deliver("a", "once", time.Minute)
	want(t, out, err, runtime.OutcomeSubmitted, "")
	out, err = b.Settle(t.Context(), "a")
	want(t, out, err, runtime.OutcomeSubmitted, "")
	if got := b.prompts(); len(got) != 1 {
		t.Errorf("the agent got %d prompts", len(got))
	}
}

// TestCallersThatDisconnectOrAreSlow checks that a caller that disconnects before its prompt was
// sent has sent nothing, and that a slow caller delays no other.
func TestCallersThatDisconnectOrAreSlow(t *testing.T) {
	t.Parallel()
	b := begin(t, "")
	slow, err := new(net.Dialer).DialContext(t.Context(), "unix", b.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Write([]byte(`{"op":"deliver","instance":"` + token + `","id":"slow"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	out, err := b.deliver("a", "[[busy:2s]]", time.Minute)
	want(t, out, err, runtime.OutcomeSubmitted, "")
	if err := slow.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, die := context.WithCancel(t.Context())
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		_, _ = b.Deliver(ctx, bridge.Delivery{ID: "dies", Text: "never", Busy: time.Minute, Confirm: time.Minute}) // no caller reads it
	}()
	b.until("it waits in line", func(s bridge.State) bool { return s.Waiting == 1 })
	die()
	<-dead
	b.until("it is out of the line", func(s bridge.State) bool { return s.Waiting == 0 })
	for _, id := range []string{"slow", "dies", "unheard of"} {
		out, err := b.Settle(t.Context(), id)
		want(t, out, err, runtime.OutcomeRefused, runtime.RefusedWithdrawn)
	}
	b.until("the turn is over", func(s bridge.State) bool { return s.Turns == 1 })
	if got := b.prompts(); len(got) != 1 {
		t.Errorf("the agent got %d prompts, want the first alone", len(got))
	}
}

// TestCancelEndsOnlyTheTurn checks that a cancel returns when the turn has ended, and that the next
// prompt of the queue is sent then.
func TestCancelEndsOnlyTheTurn(t *testing.T) {
	t.Parallel()
	b := begin(t, "")
	out, err := b.deliver("a", "[[forever]]", time.Minute)
	want(t, out, err, runtime.OutcomeSubmitted, "")
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, err := b.deliver("b", "second", time.Minute)
		want(t, out, err, runtime.OutcomeSubmitted, "")
	}()
	b.until("the second waits", func(s bridge.State) bool { return s.Waiting == 1 })
	if err := b.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	s := b.until("both turns are over", func(s bridge.State) bool { return s.Turns == 2 })
	if !s.Boundary.After(began) || s.Activity != runtime.ActivityIdle {
		t.Errorf("after it the state is %+v", s)
	}
	if err := b.Cancel(t.Context()); err != nil {
		t.Errorf("with no turn: %v", err)
	}
}

// TestAgentThatExitsInATurn checks that the exit of the agent ends the delivery of its prompt, and
// that the host exits in the same way.
func TestAgentThatExitsInATurn(t *testing.T) {
	t.Parallel()
	b := begin(t, "--acp-fault silent")
	out, err := b.deliver("a", "[[crash]]", time.Minute)
	want(t, out, err, runtime.OutcomeUnconfirmed, "")
	if !strings.Contains(out.Detail, "ended before the agent confirmed the prompt") {
		t.Errorf("the detail is %q", out.Detail)
	}
	<-b.ended
	if status := b.cmd.ProcessState.String(); !strings.Contains(status, "killed") {
		t.Errorf("the host ended with %s, want the agent's signal", status)
	}
	if _, err := b.State(t.Context(), 0); !errors.Is(err, bridge.ErrNoHost) {
		t.Errorf("after it: %v", err)
	}
}
