package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gascity/internal/agentcli"
	"gascity/internal/driver"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

func TestAFailureIsToldInOneLine(t *testing.T) {
	usage := strings.Repeat("  --flag  does this\n", 60) + "error: unknown flag --frobnicate\n"
	death := &runtime.StartupDeath{Exit: runtime.Exit{Code: 2}, Output: usage}
	setup := &driver.CommandError{Command: "make " + strings.Repeat("x\n", 500), Output: usage, Err: errors.New("exit status 2")}
	for name, err := range map[string]error{
		"death":          &driver.StartStepError{Step: "alive", Err: death},
		"command":        &driver.StartStepError{Step: "pre_start", Err: setup},
		"death and more": errors.Join(&driver.StartStepError{Step: "alive", Err: fmt.Errorf("%w: %w", errors.New("late"), death)}, errors.New("cannot undo")),
	} {
		got := driver.BriefError(err)
		if strings.Contains(got, "\n") || len(got) > 500 || !strings.Contains(got, "saying: error: unknown flag --frobnicate") {
			t.Errorf("%s is reported as %d bytes: %s", name, len(got), got)
		}
		if driver.FailureOutput(err) != usage || !strings.Contains(err.Error(), strings.TrimSpace(usage)) {
			t.Errorf("%s has lost its output: %q", name, err)
		}
	}
	plain := errors.New("no such folder")
	if driver.BriefError(plain) != "no such folder" || driver.FailureOutput(plain) != "" {
		t.Errorf("a failure without output is reported as %q with %q", driver.BriefError(plain), driver.FailureOutput(plain))
	}
}

func TestADialogIsNamedInWords(t *testing.T) {
	for kind, want := range map[agentcli.DialogKind]string{
		agentcli.DialogTrust:   "a trust dialog is up and was not answered: why",
		agentcli.DialogAPIKey:  "an api-key dialog is up and was not answered: why",
		agentcli.DialogUpdate:  "an update dialog is up and was not answered: why",
		agentcli.DialogUnknown: "a dialog of an unknown kind is up and was not answered: why",
	} {
		err := &driver.BlockedError{Unanswered: screen.Unanswered{Kind: kind, Why: "why"}}
		if err.Error() != want {
			t.Errorf("%s is reported as %q, want %q", kind, err, want)
		}
	}
	err := &driver.UndeliveredError{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedTyping}}
	if want := "the first prompt is refused: a person was typing"; err.Error() != want {
		t.Errorf("a refused prompt is reported as %q, want %q", err, want)
	}
}
