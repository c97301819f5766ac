package pty_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gascity/internal/driver/shimdriver"
	"gascity/internal/proc"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// stalling is a deliverer whose agent is stopped just before Enter.
type stalling struct {
	*shimdriver.Leased
	stall func()
}

func (s *stalling) Type(ctx context.Context, in inject.Input, p []byte) error {
	s.stall()
	return s.Leased.Type(ctx, in, p)
}

func (s *stalling) TypeSeen(ctx context.Context, seen uint64, in inject.Input, p []byte) error {
	s.stall()
	return s.Leased.TypeSeen(ctx, seen, in, p)
}

// An agent shows a prompt and is then stopped for longer than the wait for signals. It reads Enter late. The
// prompt must not count as withdrawn: the agent accepts it once.
func TestStalledAgentGetsThePromptOnce(t *testing.T) {
	t.Parallel()
	for name, stalled := range map[string]time.Duration{"a little": 1200 * time.Millisecond, "long": 3 * time.Second} {
		for _, provider := range []string{"claude", ""} {
			t.Run(fmt.Sprintf("%s, provider %q", name, provider), func(t *testing.T) {
				t.Parallel()
				a := beginAs(t, provider, "--think 100ms")
				l, err := a.Session(t.Context(), "stall", a.name)
				if err != nil {
					t.Fatal(err)
				}
				state, err := l.Client.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				leased, err := l.Lease(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer leased.Close()
				goesOn := make(chan error, 1)
				begun := false
				var over atomic.Bool // before that the agent cannot have accepted it
				stall := func() {
					if begun {
						return
					}
					begun = true
					if err := syscall.Kill(-state.Agent.PID, syscall.SIGSTOP); err != nil {
						t.Error(err)
					}
					a.stopped(t, state.Agent.PID)
					time.AfterFunc(stalled, func() { over.Store(true); goesOn <- syscall.Kill(-state.Agent.PID, syscall.SIGCONT) })
				}
				text := "transfer the money exactly once"
				out, err := inject.Deliver(t.Context(), &stalling{leased, stall}, "id", inject.Prompt{Text: text, Confirm: 500 * time.Millisecond}, l.Rules)
				if err != nil || !begun || out.State != runtime.OutcomeUnconfirmed && !over.Load() {
					t.Fatalf("%+v, %v, stalled: %v", out, err, begun)
				}
				leased.Close()
				if state := a.recovers(t, "id", text); state != runtime.OutcomeSubmitted {
					t.Errorf("the prompt is %s", state)
				}
				if err := <-goesOn; err != nil {
					t.Error(err)
				}
				a.prompt(t, "next")
				a.wantPrompts(t, []string{text, "next"})
			})
		}
	}
}

// stopped waits until a process is stopped, because the signal takes effect later.
func (*ledgerSession) stopped(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); pause(time.Millisecond) {
		if info, err := proc.Stat(pid); err == nil && info.State == proc.StateStopped {
			return
		}
	}
	t.Errorf("process %d does not stop", pid)
}
