package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/app"
	"gascity/internal/cli"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
)

// scriptDaemon is the product with simulated agents, see package citytest. It replaces what a script cannot
// have: a runtime provider that this process shares with the controller, one with faults, and the programs that
// are installed on the machine.
type scriptDaemon struct{ realDaemon }

// realDaemon is the product. In a city with the file "full" its disk is full.
type realDaemon struct{ *app.Daemon }

var (
	_ cli.Daemon = scriptDaemon{}
	_ cli.Daemon = realDaemon{}
)

// newScriptDaemon returns the product for a script. With GC_TEST_REAL in the environment its sessions are real,
// for scripts about runtime providers.
func newScriptDaemon() cli.Daemon {
	opts := app.Options{Environ: os.Environ(), Executable: "/opt/it's gc", Version: version}
	if os.Getenv("GC_TEST_REAL") == "" {
		return scriptDaemon{realDaemon{citytest.NewDaemon(opts, fake.New())}}
	}
	opts.Executable, _ = os.Executable() // without one no agent starts
	return realDaemon{app.New(opts)}
}

// RunController has a time limit, so that no controller outlives its test. GC_TEST_VERSION replaces its version.
func (d realDaemon) RunController(parent context.Context, root string, opts cli.ControllerOptions) error {
	ctx, cancel := context.WithTimeout(parent, 2*time.Minute)
	defer cancel()
	if v := os.Getenv("GC_TEST_VERSION"); v != "" {
		opts.Version = v
	}
	return d.Daemon.RunController(ctx, root, opts)
}

func (d scriptDaemon) Provider(ctx context.Context, root, selection string) (runtime.Provider, error) {
	if selection != "pty" {
		return d.Daemon.Provider(ctx, root, selection)
	}
	return fakeProvider{}, nil
}

func (d scriptDaemon) CheckProvider(ctx context.Context, root, selection string, cases []string, report func(cli.CheckResult)) error {
	if selection != "" && selection != "broken" {
		if _, err := d.Provider(ctx, root, selection); err != nil {
			return err
		}
	}
	if len(cases) > 0 && !slices.Contains(cases, "start.*") {
		return fmt.Errorf("%w: the contract has no case %q", client.ErrInvalid, cases)
	}
	report(cli.CheckResult{ID: "start.fresh", Sentence: "a start makes a session", Result: cli.CheckPass, Took: time.Millisecond})
	report(cli.CheckResult{ID: "attach.tty", Sentence: "attach connects a terminal", Result: cli.CheckSkip, Detail: "no terminal here"})
	if selection == "broken" {
		report(cli.CheckResult{ID: "stop.twice", Sentence: "a second stop is no error", Result: cli.CheckFail, Detail: "got: no such session\nwant: nil"})
	}
	return nil
}

func (d scriptDaemon) CheckOperations(ctx context.Context, root, selection string, report func(cli.CheckResult)) error {
	return d.CheckProvider(ctx, root, selection, nil, report)
}

func (scriptDaemon) AgentCLIs(context.Context) ([]agentcli.InstalledCLI, error) {
	return []agentcli.InstalledCLI{{Name: "one", Command: "one-cli", Version: "1.2.3", Tested: "1.2.3", State: agentcli.CLIFound, Mode: "ask", Modes: []string{"ask"}}, {Name: "two", Command: "two", State: agentcli.CLIMissing}}, nil
}

func (d scriptDaemon) Doctor(ctx context.Context, root string, report func(client.Finding)) error {
	report(client.Finding{Check: "machine", Level: client.LevelOK, Message: "linux"})
	if root == "" {
		return nil
	}
	report(client.Finding{Check: "log", Level: client.LevelWarning, Message: "the log is large", Remedy: "rm .gc/log/*"})
	if faults, err := d.CheckConfig(ctx, root); err != nil || len(faults) > 0 {
		report(client.Finding{Check: "config", Level: client.LevelProblem, Message: "the configuration has mistakes", Remedy: "gc config check"})
		return err
	}
	return nil
}

func (scriptDaemon) AskCLIs(_ context.Context, _ string, report func(client.Finding)) error {
	report(client.Finding{Check: "answer.mock", Level: client.LevelOK, Message: "it answered"})
	return nil
}

// Bundle fails if the disk is full.
func (d realDaemon) Bundle(ctx context.Context, root string, to io.Writer) (cli.Bundled, error) {
	if _, err := os.Stat(filepath.Join(root, "full")); err == nil {
		return cli.Bundled{}, errors.New("no space left on device")
	}
	return d.Daemon.Bundle(ctx, root, to)
}

// fakeProvider supports only attachments.
type fakeProvider struct{ runtime.Provider }

// ListRunning finds one session in a city that was left running.
func (fakeProvider) ListRunning(string) ([]string, error) { return []string{"gc-city-worker"}, nil }

func (fakeProvider) Attach(name string) error {
	if strings.HasSuffix(name, "-mute") {
		return runtime.ErrAttachUnsupported
	}
	fmt.Println("attached to", name)
	return nil
}
