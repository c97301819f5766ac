package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/cli"
	"gascity/provider/all"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// providerConfig is what the drivers of a city are opened with.
func (d *Daemon) providerConfig(root, dir string, logger *slog.Logger) all.Config {
	return all.Config{
		Dir: dir, LogDir: filepath.Join(root, stateFolder, logFolder), WorkDir: root,
		Env: d.env.base(agentcli.Builtin()), Shim: d.shimCommand(), Logger: logger,
	}
}

// Provider opens a provider over the city's sessions, without its controller.
func (d *Daemon) Provider(_ context.Context, root, selection string) (runtime.Provider, error) {
	return d.open(root, selection, slog.New(slog.DiscardHandler))
}

// Providers lists the providers that the program contains, the default first.
func (d *Daemon) Providers(ctx context.Context) ([]client.Provider, error) {
	dir, err := os.MkdirTemp("", "gc-providers-")
	if err != nil {
		return nil, fmt.Errorf("cannot look at the providers: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty
	var out []client.Provider
	for i, driver := range all.Drivers() {
		row := client.Provider{
			Name: driver.Name, Summary: driver.Summary, Default: i == 0, Capabilities: []string{}, Extensions: []string{},
		}
		if driver.Argument != "" {
			row.Name += ":" + driver.Argument
		} else if p, err := driver.Open(d.providerConfig(dir, dir, slog.New(slog.DiscardHandler)), ""); err == nil {
			row.Capabilities, row.Extensions = capabilities(p), extensions(p)
			if err := all.Close(p); err != nil {
				return nil, err
			}
		} else {
			row.Summary += "; not usable here: " + err.Error()
		}
		out = append(out, row)
	}
	return out, ctx.Err()
}

// capabilities names what the driver can tell.
func capabilities(p runtime.Provider) []string {
	c := p.Capabilities()
	out := []string{}
	for _, row := range []struct {
		name string
		has  bool
	}{
		{"activity", c.CanReportActivity}, {"attach", c.CanAttachTTY},
		{"attachment", c.CanReportAttachment}, {"stream", c.CanStream},
	} {
		if row.has {
			out = append(out, row.name)
		}
	}
	return out
}

// extensions names what the driver can do beyond the contract.
func extensions(p runtime.Provider) []string {
	out := []string{}
	add := func(name string, has bool) {
		if has {
			out = append(out, name)
		}
	}
	add("deliver", has[runtime.Deliverer](p))
	add("dialogs", has[runtime.DialogProvider](p))
	add("exec", has[runtime.ExecProvider](p))
	add("fence", has[runtime.Fencer](p))
	add("idle", has[runtime.IdleWaitProvider](p))
	add("interaction", has[runtime.InteractionProvider](p))
	add("observe", has[runtime.Observer](p))
	add("recover", has[runtime.Recoverer](p))
	add("relaunch", has[runtime.RelaunchProvider](p))
	add("scan", has[runtime.ProcessTableScanner](p))
	add("server", has[runtime.ServerLifecycleProvider](p))
	add("watch", has[runtime.Watcher](p))
	slices.Sort(out)
	return out
}

func has[T any](p runtime.Provider) bool {
	_, ok := runtime.As[T](p, "")
	return ok
}

// checkedAtOnce is how many conformance cases run at a time.
const checkedAtOnce = 4

// CheckProvider runs the conformance cases on a provider in a temporary place.
func (d *Daemon) CheckProvider(ctx context.Context, _, selection string, report func(cli.CheckResult)) error {
	if selection == "" {
		selection = all.Drivers()[0].Name
	}
	agent, err := d.checkAgent()
	if err != nil {
		return err
	}
	probe, err := os.MkdirTemp(publicPlace, "gc-check-")
	if err != nil {
		return fmt.Errorf("cannot make a place for the cases: %w", err)
	}
	defer os.RemoveAll(probe) //nolint:errcheck // nothing runs there any more
	first, err := all.Open(selection, d.providerConfig(probe, filepath.Join(probe, "s"), slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	program := runtimetest.Program{Path: agent}
	if !first.Capabilities().CanAttachTTY {
		program.Flags = []string{"--plain"}
		program.Edit = func(cfg *runtime.Config, _ runtimetest.Behaviour) {
			cfg.Env = map[string]string{"GC_STDIN": "lines"}
		}
	}
	if err := all.Close(first); err != nil {
		return err
	}
	open := func(t runtimetest.T, dir string) runtime.Provider {
		p, err := all.Open(selection, d.providerConfig(dir, filepath.Join(dir, "s"), slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatalf("cannot open the provider: %v", err)
		}
		return p
	}
	results, err := runtimetest.Check(ctx, runtimetest.Harness{New: open, Reopen: open, Agent: program.Agent}, checkedAtOnce)
	if err != nil {
		return err
	}
	for _, r := range results {
		report(checkResult(r))
	}
	return nil
}

func checkResult(r runtimetest.Result) cli.CheckResult {
	out := cli.CheckResult{ID: r.ID, Sentence: r.Sentence, Result: cli.CheckFail, Took: r.Took.Round(time.Millisecond), Detail: strings.Join(r.Detail, "\n")}
	switch r.Status {
	case runtimetest.Passed:
		out.Result = cli.CheckPass
	case runtimetest.Failed:
	default:
		out.Result = cli.CheckSkip
	}
	return out
}

// checkAgent finds the fake agent that the cases drive.
func (d *Daemon) checkAgent() (string, error) {
	const name = "gc-fakeagent"
	if d.opts.CheckAgent != "" {
		return d.opts.CheckAgent, nil
	}
	beside := filepath.Join(filepath.Dir(d.opts.Executable), name)
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w: the cases drive a fake agent, which is neither beside gc nor in PATH; build it with: go build -o %s ./test/fakeagent", client.ErrNotFound, beside)
}
