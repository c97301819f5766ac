package session

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/runtime"
)

var update = flag.Bool("update", false, "write what is generated")

// machine is the whole machine: one line for each trigger, one column for each
// state. A dot is accepted and stays; a word in brackets ought not to happen and
// is reported, the state is the word all the same.
const machine = `
                unknown     creating  starting  running   draining  stopping stopped    asleep     suspended quarantined failed      lost
start begun     (.)         (.)       (.)       (.)       (.)       (.)      creating   creating   (.)       (.)         creating    creating
relaunch begun  (.)         (.)       (.)       starting  (.)       (.)      (.)        (.)        (.)       (.)         starting    (.)
created         starting    starting  .         .         .         .        (starting) (starting) (.)       (.)         (starting)  (starting)
ready           running     running   running   .         .         .        (running)  (running)  (.)       (.)         (running)   (running)
start failed    failed      failed    failed    (.)       (.)       .        (.)        (.)        (.)       (.)         .           (.)
seen running    running     running   running   .         .         .        running    running    (.)       (.)         running     running
exited          failed      failed    failed    failed    stopped   .        .          .          .         .           .           failed
finished        stopped     stopped   stopped   stopped   stopped   .        .          .          .         .           stopped     stopped
vanished        stopped     failed    lost      lost      lost      stopped  .          .          .         .           .           .
drain begun     (.)         (.)       (.)       draining  .         (.)      (.)        (.)        (.)       (.)         (.)         (.)
drain cancelled (.)         (.)       (.)       .         running   (.)      (.)        (.)        (.)       (.)         (.)         (.)
stop begun      stopping    stopping  stopping  stopping  stopping  .        stopping   .          .         .           stopping    stopping
stopped         stopped     (stopped) (stopped) (stopped) (stopped) stopped  .          .          .         .           stopped     stopped
stop failed     (.)         (.)       (.)       (.)       (.)       .        (.)        .          .         .           (.)         (.)
slept           (.)         (.)       (.)       (.)       (.)       (.)      asleep     .          (.)       (.)         asleep      asleep
woken           .           .         .         .         .         .        .          stopped    (.)       (.)         .           .
suspended       (.)         (.)       (.)       (.)       (.)       (.)      suspended  suspended  .         suspended   suspended   suspended
resumed         .           .         .         .         .         .        .          .          stopped   (.)         .           .
quarantined     quarantined (.)       (.)       (.)       (.)       (.)      quarantined (.)       (.)       .           quarantined quarantined
released        .           .         .         .         .         .        .          .          .         stopped     stopped     stopped
`

// TestMachineIsTotal checks for every state and every trigger which state follows, and whether the
// pair is expected.
func TestMachineIsTotal(t *testing.T) {
	lines := strings.Split(strings.Trim(machine, "\n"), "\n")
	columns := strings.Fields(lines[0])
	if len(columns) != len(States()) || len(lines)-1 != len(Triggers()) {
		t.Fatalf("the table has %d states and %d triggers, want %d and %d", len(columns), len(lines)-1, len(States()), len(Triggers()))
	}
	for i, line := range lines[1:] {
		trigger := Triggers()[i]
		cells := strings.Fields(strings.TrimPrefix(line, string(trigger)))
		if len(cells) != len(columns) || !strings.HasPrefix(line, string(trigger)) {
			t.Fatalf("line %q: want trigger %q and %d cells", line, trigger, len(columns))
		}
		for j, cell := range cells {
			from := State(columns[j])
			want := State(strings.Trim(cell, "()"))
			if want == "." {
				want = from
			}
			got, err := Next(from, trigger)
			if got != want || (err != nil) != strings.HasPrefix(cell, "(") {
				t.Errorf("%s + %s = %s, %v; want %s", from, trigger, got, err, cell)
			}
			if err != nil {
				checkTransitionError(t, err, TransitionError{From: from, Trigger: trigger, To: want})
			}
		}
	}
}

// checkTransitionError checks that err is the given TransitionError.
func checkTransitionError(t *testing.T, err error, want TransitionError) {
	t.Helper()
	var got *TransitionError
	if !errors.As(err, &got) || *got != want {
		t.Errorf("error is %#v, want %+v", err, want)
	}
}

// TestInvalidStatesCountAsUnknown checks that a text that is no state counts as unknown, and that
// an unknown trigger is an error.
func TestInvalidStatesCountAsUnknown(t *testing.T) {
	for _, word := range []State{"", "active", "start-pending", "RUNNING", "closed\x00"} {
		if got, err := Next(word, TriggerSeen); got != StateRunning || err != nil {
			t.Errorf("%q seen running is %s, %v; want running", word, got, err)
		}
	}
	if got, err := Next(StateRunning, "explode"); got != StateRunning || err == nil {
		t.Errorf("a trigger that is none leads from running to %s, %v; want running and an error", got, err)
	}
}

// triggersOf draws a random list of triggers.
func triggersOf(rt *rapid.T) []Trigger {
	return rapid.SliceOfN(rapid.SampledFrom(Triggers()), 0, 40).Draw(rt, "triggers")
}

// after returns the state after the triggers.
func after(from State, triggers []Trigger) State {
	for _, trigger := range triggers {
		from, _ = Next(from, trigger)
	}
	return from
}

// TestEveryHistoryEndsInAKnownStateAndAcceptsStop checks that every list of triggers leads to a
// valid state, and that a stop is allowed in it.
func TestEveryHistoryEndsInAKnownStateAndAcceptsStop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.OneOf(rapid.SampledFrom(States()), rapid.Map(rapid.String(), func(s string) State { return State(s) })).Draw(rt, "from")
		got := after(from, triggersOf(rt))
		if !got.IsValid() && got != from {
			rt.Fatalf("the history ends in %q", got)
		}
		got, err := Next(got, TriggerStop)
		if err != nil {
			rt.Fatalf("a stop is refused: %v", err)
		}
		got, err = Next(got, TriggerStopped)
		if err != nil || !got.IsDown() {
			rt.Fatalf("a stop that is complete leaves it %s, %v", got, err)
		}
		if !slices.Contains([]State{StateStopped, StateAsleep, StateSuspended, StateQuarantined}, got) {
			rt.Fatalf("a stop that is complete leaves it %s", got)
		}
	})
}

// TestHeldStatesNeedARelease checks that a suspended or quarantined session leaves that state only
// by its own release.
func TestHeldStatesNeedARelease(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom([]State{StateSuspended, StateQuarantined}).Draw(rt, "from")
		for _, trigger := range triggersOf(rt) {
			next, _ := Next(s, trigger)
			switch {
			case next == s:
			case s == StateSuspended && trigger == TriggerResumed, s == StateQuarantined && trigger == TriggerRelease:
				return
			case s == StateQuarantined && next == StateSuspended:
			default:
				rt.Fatalf("%s leads from %s to %s", trigger, s, next)
			}
			s = next
		}
	})
}

// TestOnlyObservationsLeadToRunning checks that no request leads to the state running. Only an
// observation that the session runs does.
func TestOnlyObservationsLeadToRunning(t *testing.T) {
	evidence := []Trigger{TriggerReady, TriggerSeen, TriggerUndrain}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(States()).Draw(rt, "from")
		for _, trigger := range triggersOf(rt) {
			next, _ := Next(s, trigger)
			if next == StateRunning && s != StateRunning && !slices.Contains(evidence, trigger) {
				rt.Fatalf("%s leads from %s to running", trigger, s)
			}
			s = next
		}
	})
}

// TestEveryStateCanBeReachedAndLeft checks that each state can be reached from unknown, and that
// another state can be reached from it.
func TestEveryStateCanBeReachedAndLeft(t *testing.T) {
	reached := map[State]bool{StateUnknown: true}
	for range States() {
		for s := range reached {
			for _, trigger := range Triggers() {
				if next, err := Next(s, trigger); err == nil {
					reached[next] = true
				}
			}
		}
	}
	for _, s := range States() {
		left := slices.ContainsFunc(Triggers(), func(trigger Trigger) bool { next, err := Next(s, trigger); return err == nil && next != s })
		if !reached[s] || !left {
			t.Errorf("%s: reached %v, left %v; want both", s, reached[s], left)
		}
	}
}

// TestStatesReferenceIsCurrent checks that docs/reference/states.md is what the table of states
// generates.
func TestStatesReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "states.md")
	want := Reference()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/states.md is not what the machine says; run make gen:\n%s", diff)
	}
}

// What a look can find.
var (
	nothingKnown = Facts{}
	itRuns       = Facts{Session: runtime.Alive, Agent: runtime.Alive}
	itIsGone     = Facts{Session: runtime.Dead, Agent: runtime.Dead}
	itExited     = Facts{Session: runtime.Alive, Agent: runtime.Dead, Exit: &runtime.Exit{Code: 1}}
	itFinished   = Facts{Session: runtime.Alive, Agent: runtime.Dead, Exit: &runtime.Exit{}, Once: true}
	itIsOrphaned = Facts{Session: runtime.Dead, Agent: runtime.Alive}
)

// with returns the facts with a hold.
func with(f Facts, hold HoldKind) Facts { f.Hold = hold; return f }

// TestStoredStatesAreRepaired checks the state of a stored session after a restart of the
// controller, for what is observed then.
func TestStoredStatesAreRepaired(t *testing.T) {
	draining := itRuns
	draining.Draining = true
	tests := []struct {
		name, stored string
		facts        Facts
		want         State
		reason       bool
	}{
		{"a start that was cut off, and it runs", "creating", itRuns, StateRunning, true},
		{"a start that was cut off before anything existed", "creating", itIsGone, StateFailed, true},
		{"a start that was cut off halfway", "starting", itIsGone, StateLost, true},
		{"a start without any observation", "creating", nothingKnown, StateCreating, false},
		{"a stop that was cut off, and it still runs", "stopping", itRuns, StateRunning, true},
		{"a stop that was cut off after its work", "stopping", itIsGone, StateStopped, true},
		{"a stop that left a dead session", "stopping", itExited, StateStopped, true},
		{"it ran on", "running", itRuns, StateRunning, false},
		{"it ended meanwhile", "running", itExited, StateFailed, true},
		{"it vanished meanwhile", "running", itIsGone, StateLost, true},
		{"its work was done meanwhile", "running", itFinished, StateStopped, true},
		{"its session is gone, its agent is not", "running", itIsOrphaned, StateLost, true},
		{"a drain goes on", "draining", draining, StateDraining, false},
		{"a drain that is not in the record", "draining", itRuns, StateRunning, true},
		{"somebody started it", "stopped", itRuns, StateRunning, true},
		{"it stays suspended, whatever is seen", "suspended", itRuns, StateSuspended, false},
		{"it stays in quarantine", "quarantined", itIsGone, StateQuarantined, false},
		{"a new record", "", itIsGone, StateStopped, false},
		{"a new record of a session that runs", "", itRuns, StateRunning, false},
		{"nonsense, and it runs", "start-pending", itRuns, StateRunning, true},
		{"nonsense, and it is gone", "closed", itIsGone, StateStopped, true},
		{"nonsense under a sleep", "drained", with(itIsGone, HoldSleep), StateAsleep, true},
		{"nonsense under a suspension", "archived", with(itIsGone, HoldSuspend), StateSuspended, true},
		{"nonsense, and nothing can be seen", "\xff\x00", nothingKnown, StateUnknown, true},
		{"nonsense that cannot be reached", "zombie", itIsOrphaned, StateQuarantined, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, reason := Repair(tt.stored, tt.facts)
			if got != tt.want || (reason != "") != tt.reason {
				t.Errorf("%q is repaired to %s (%q), want %s", tt.stored, got, reason, tt.want)
			}
		})
	}
}

// TestRepairingTwiceChangesNothing checks, for random states and facts, that repairing a repaired
// state again changes nothing.
func TestRepairingTwiceChangesNothing(t *testing.T) {
	lives := rapid.SampledFrom([]runtime.Liveness{runtime.Unknown, runtime.Alive, runtime.Dead})
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.OneOf(rapid.Map(rapid.SampledFrom(States()), func(s State) string { return string(s) }), rapid.String()).Draw(rt, "stored")
		facts := Facts{
			Session: lives.Draw(rt, "session"), Agent: lives.Draw(rt, "agent"), Draining: rapid.Bool().Draw(rt, "draining"),
			Hold: rapid.SampledFrom([]HoldKind{"", HoldSleep, HoldSuspend, HoldBudget}).Draw(rt, "hold"),
		}
		got, _ := Repair(word, facts)
		if !got.IsValid() {
			rt.Fatalf("%q is repaired to %q", word, got)
		}
		again, reason := Repair(string(got), facts)
		if again != got || reason != "" {
			rt.Fatalf("%q was repaired to %s, and that to %s: %s", word, got, again, reason)
		}
		if facts.trigger() == TriggerSeen && !got.IsHeld() && got != StateRunning && got != StateDraining {
			rt.Fatalf("%q is repaired to %s although it is seen to run", word, got)
		}
	})
}
