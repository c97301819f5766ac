package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"gascity/runtime"
)

func TestIsSessionGone(t *testing.T) {
	for _, text := range []string{
		"tmux: command not found", "image not found", "namespace not found", "window not found", "session not found", "not running",
		"no tmux server running", "executable file not found in $PATH",
	} {
		if runtime.IsSessionGone(errors.New(text)) {
			t.Errorf("the foreign text %q counts as a session that is gone", text)
		}
	}
	for _, err := range []error{nil, runtime.ErrRuntimeUnavailable, runtime.ErrStaleInstance, runtime.ErrSessionInitializing} {
		if runtime.IsSessionGone(err) {
			t.Errorf("%v counts as a session that is gone", err)
		}
	}
	for _, err := range []error{
		runtime.ErrSessionNotFound, &runtime.Error{Op: "stop", Session: "a", Err: runtime.ErrSessionNotFound},
		fmt.Errorf("deep: %w", fmt.Errorf("deeper: %w", runtime.ErrSessionNotFound)), errors.Join(io.EOF, runtime.ErrSessionNotFound),
	} {
		if !runtime.IsSessionGone(err) {
			t.Errorf("%v does not count as a session that is gone", err)
		}
	}
}

func TestSentinelsAreDistinct(t *testing.T) {
	all := []error{
		runtime.ErrSessionExists, runtime.ErrSessionInitializing, runtime.ErrInteractionUnsupported, runtime.ErrSessionDiedDuringStartup,
		runtime.ErrSessionNotFound, runtime.ErrExecUnsupported, runtime.ErrRelaunchUnsupported, runtime.ErrAttachUnsupported,
		runtime.ErrInputUnsupported, runtime.ErrStaleInstance, runtime.ErrRuntimeUnavailable, runtime.ErrInvalidName,
	}
	for i, a := range all {
		for j, b := range all {
			if errors.Is(a, b) != (i == j) {
				t.Errorf("%v is %v", a, b)
			}
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`cannot stop session "a": EOF`:               &runtime.Error{Op: "stop", Session: "a", Err: io.EOF},
		"cannot list: EOF":                           &runtime.Error{Op: "list", Err: io.EOF},
		"listing is incomplete: EOF":                 &runtime.PartialListError{Errs: []error{io.EOF}},
		"prompt refused: busy":                       &runtime.RefusedError{Reason: runtime.RefusedBusy},
		"prompt refused: content: control character": &runtime.RefusedError{Reason: runtime.RefusedContent, Detail: "control character"},
		"session died during startup: agent exited with code 7; it printed:\nno licence": &runtime.StartupDeath{Exit: runtime.Exit{Code: 7}, Output: "\nno licence \n"},
		"session died during startup: agent ended by signal: killed":                     &runtime.StartupDeath{Exit: runtime.Exit{Code: -1, Signal: "killed"}},
		"session died during startup: agent exited; its exit code is unknown":            &runtime.StartupDeath{Exit: runtime.Exit{Code: -1}},
	} {
		if got := err.Error(); got != want {
			t.Errorf("the error reads %q, want %q", got, want)
		}
	}
}

func TestErrorsUnwrap(t *testing.T) {
	if !errors.Is(&runtime.Error{Op: "x", Err: io.EOF}, io.EOF) {
		t.Error("Error hides its cause")
	}
	if partial := error(&runtime.PartialListError{Errs: []error{io.EOF, io.ErrNoProgress}}); !errors.Is(partial, io.EOF) || !errors.Is(partial, io.ErrNoProgress) {
		t.Error("PartialListError hides a cause")
	}
	death := fmt.Errorf("start: %w", &runtime.StartupDeath{})
	if !errors.Is(death, runtime.ErrSessionDiedDuringStartup) || errors.Is(death, runtime.ErrSessionNotFound) {
		t.Error("StartupDeath is not ErrSessionDiedDuringStartup alone")
	}
}

func TestLivenessText(t *testing.T) {
	for _, l := range []runtime.Liveness{runtime.Unknown, runtime.Alive, runtime.Dead} {
		data, err := json.Marshal(l)
		var back runtime.Liveness
		if err != nil || json.Unmarshal(data, &back) != nil || back != l || string(data) != `"`+l.String()+`"` {
			t.Errorf("%v became %s and %v (%v)", l, data, back, err)
		}
	}
	l := runtime.Alive
	if err := l.UnmarshalText([]byte("undead")); err != nil || l != runtime.Unknown {
		t.Errorf("an unheard-of word is %v, %v, want unknown and nil", l, err)
	}
	if runtime.Liveness(9).String() != "unknown" {
		t.Error("a number out of range is not unknown")
	}
}

func TestObservationHidesItsToken(t *testing.T) {
	data, err := json.Marshal(runtime.Observation{InstanceToken: "canary", Handle: "canary"})
	if err != nil || strings.Contains(string(data), "canary") {
		t.Errorf("the token is in the JSON: %s (%v)", data, err)
	}
}

func TestNudgeError(t *testing.T) {
	for state, want := range map[runtime.OutcomeState]error{
		runtime.OutcomeSubmitted: nil, runtime.OutcomeUnconfirmed: nil,
		runtime.OutcomeAbsent: runtime.ErrSessionNotFound, runtime.OutcomeUnsupported: runtime.ErrInputUnsupported,
	} {
		if err := runtime.NudgeError(runtime.Outcome{State: state}); !errors.Is(err, want) {
			t.Errorf("NudgeError of %q is %v, want %v", state, err, want)
		}
	}
	var refused *runtime.RefusedError
	if err := runtime.NudgeError(runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedTyping}); !errors.As(err, &refused) || refused.Reason != runtime.RefusedTyping {
		t.Errorf("NudgeError of a refusal is %v, want its reason", err)
	}
}
