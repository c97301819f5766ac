package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/cli/cmdenv"
	"gascity/runtime"
)

// errAbsent is the error of every method of [absent].
var errAbsent = errors.New("not on this machine")

// absent is a Daemon whose methods fail; those that print what happened succeed. Those that need the directory of a city are not
// implemented.
type absent struct{ Daemon }

func (absent) AgentCLIs(context.Context) ([]agentcli.InstalledCLI, error) { return nil, errAbsent }

func (absent) Providers(context.Context) ([]client.Provider, error) { return nil, errAbsent }

func (absent) Doctor(context.Context, string, func(client.Finding)) error { return errAbsent }

func (absent) ConfigSchema() ([]byte, error) { return nil, errAbsent }

func (absent) InstallHooks(_, _ string) (string, error) { return "", errAbsent }

func (absent) UninstallHooks(_, _ string) error { return errAbsent }

func (absent) Process(int) (func() bool, error) { return nil, errAbsent }

func (absent) ServeOutpost(_ context.Context, _, _ string) error { return errAbsent }

func (absent) RunOutpostInit(context.Context, string, string, time.Duration) error { return errAbsent }

func (absent) ServeProvider(context.Context, string, string, []string) int { return cmdenv.Done }
func (absent) Shim(context.Context, []string) int                          { return cmdenv.Done }
func (absent) HostACP(context.Context, []string) int                       { return cmdenv.Done }

func (absent) StarterConfig(context.Context, string, []string) ([]byte, error) { return nil, errAbsent }

func (absent) CheckProvider(_ context.Context, _, _ string, _ []string, _ func(CheckResult)) error {
	return errAbsent
}

func (absent) AttachOutpost(_ context.Context, _, _, _ string, _ runtime.AttachOptions) error {
	return errAbsent
}

// noWorkers tests no worker programs.
type noWorkers struct{}

func (noWorkers) WorkerPromises() []string { return nil }

func (noWorkers) CheckWorker(context.Context, WorkerCheck, func(CheckResult)) error {
	return errAbsent
}

func (noWorkers) WorkerAPI() ([]byte, error) { return nil, errAbsent }

// invoke runs one command line without a city.
func invoke(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), Env{Args: args, Daemon: absent{}, Workers: noWorkers{}, Env: cmdenv.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Now: time.Now, IsTerminal: func(any) bool { return false },
		Dir: t.TempDir(), Version: "1.0",
	}})
	return status, out.String(), errs.String()
}

// viewAt returns the desk of a run.
func viewAt(env cmdenv.Env) cmdenv.Base { return cmdenv.Base{Env: env} }

// TestOutsideOfACityNothingCrashes runs every command in a folder that is no city, on a machine where nothing succeeds.
func TestOutsideOfACityNothingCrashes(t *testing.T) {
	every(testRoot(), func(cmd *cobra.Command) {
		args := strings.Fields(cmd.CommandPath())[1:]
		for _, more := range [][]string{nil, {"x"}, {"x", "y"}} {
			status, stdout, stderr := invoke(t, append(args, more...)...)
			if status < 0 || status > 6 {
				t.Errorf("gc %v %v ended with %d", args, more, status)
			}
			if status != 0 && stderr == "" {
				t.Errorf("gc %v %v failed with %d and said nothing", args, more, status)
			}
			if status != 0 && stdout != "" {
				t.Errorf("gc %v %v failed and printed data: %q", args, more, stdout)
			}
		}
	})
}

func TestErrorsBecomeExitStatuses(t *testing.T) {
	for want, errs := range map[int][]error{
		cmdenv.Failed:       {errors.New("x"), client.ErrUnsupported, client.ErrUnavailable},
		cmdenv.BadUsage:     {client.ErrInvalid},
		cmdenv.NotFound:     {client.ErrNotFound, runtime.ErrSessionNotFound},
		cmdenv.Refused:      {client.ErrRefused, client.ErrForbidden},
		cmdenv.TimedOut:     {client.ErrTimeout},
		cmdenv.NoController: {&client.NoControllerError{City: "x"}, fmt.Errorf("x: %w", client.ErrNoController)},
	} {
		for _, err := range errs {
			var out bytes.Buffer
			a := &app{Base: viewAt(cmdenv.Env{Stderr: &out})}
			if got := a.Fail(t.Context(), fmt.Errorf("wrapped: %w", err)); got != want {
				t.Errorf("%v ends with %d, want %d", err, got, want)
			}
			if !strings.HasPrefix(out.String(), "gc: ") || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%v is reported as %q", err, out.String())
			}
		}
	}
}

// healthy is a Daemon with a doctor and nothing else.
type healthy struct{ Daemon }

func (healthy) Doctor(_ context.Context, _ string, report func(client.Finding)) error {
	report(client.Finding{Check: "x", Level: client.LevelWarning, Message: "m\x1b[2J"})
	return nil
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	for name, test := range map[string]struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		"terminal":      {true, nil, true},
		"pipe":          {false, nil, false},
		"NO_COLOR":      {true, map[string]string{"NO_COLOR": "1"}, false},
		"dumb terminal": {true, map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			status := Run(t.Context(), Env{Args: []string{"doctor"}, Daemon: healthy{}, Workers: noWorkers{}, Env: cmdenv.Env{
				Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard,
				Getenv: func(key string) string { return test.env[key] }, Now: time.Now,
				IsTerminal: func(any) bool { return test.terminal }, Dir: t.TempDir(),
			}})
			if got := strings.Contains(out.String(), "\x1b[33m"); status != 0 || got != test.want {
				t.Errorf("coloured is %v, want %v: %q", got, test.want, out.String())
			}
			if strings.Contains(out.String(), "\x1b[2J") {
				t.Errorf("a message reaches the terminal as it is: %q", out.String())
			}
		})
	}
}
