package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/acp/bridge"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/doctor/providerprobe"
	"gascity/internal/fakeagent"
	"gascity/provider/all"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// providerConfig is what the drivers of a city are opened with.
func (d *Daemon) providerConfig(root, dir string, logger *slog.Logger) all.Config {
	return d.configOf(d.section(root), root, dir, logger)
}

// configOf is providerConfig of a configuration that has been read.
func (d *Daemon) configOf(city *config.City, root, dir string, logger *slog.Logger) all.Config {
	return all.Config{
		Dir: dir, LogDir: filepath.Join(root, citydir.StateFolder, citydir.LogFolder), StateDir: filepath.Join(root, citydir.StateFolder, citydir.ProviderFolder),
		WorkDir: root, City: city.Workspace.Name, Socket: city.Session.Socket, Routing: d.routing(&city.Session), ACP: d.acp(&city.Session.ACP), Remote: d.remoteConfig(root, &city.Session),
		Env: d.env.base(agentcli.Builtin()), Environ: d.env, Shim: d.shimCommand(), Logger: logger,
	}
}

// trialConfig is what a driver is opened with to be tried in a folder of its own, with
// what the city says of places. Empty root is no city.
func (d *Daemon) trialConfig(root, dir string) all.Config {
	cfg := d.providerConfig(dir, filepath.Join(dir, "s"), slog.New(slog.DiscardHandler))
	if root == "" {
		cfg.Routing = all.Routing{}
		return cfg
	}
	s := &d.section(root).Session
	id := cfg.Remote.ID
	cfg.Routing, cfg.Remote = d.routing(s), d.remoteConfig(root, s)
	cfg.Remote.ID = id
	return cfg
}

// remoteConfig is what the city's configuration says about places on other machines.
func (d *Daemon) remoteConfig(root string, s *config.Session) all.Remote {
	return all.Remote{ID: citydir.ID(root), Program: d.opts.Executable, SSH: all.SSH{
		Programs: s.SSH.Programs, Options: s.SSH.Options, Connect: s.SSH.ConnectTimeout,
	}, K8s: all.K8s{
		Context: s.K8s.Context, Namespace: s.K8s.Namespace, Image: s.K8s.Image, Prebaked: s.K8s.Prebaked, Template: s.K8s.Template,
		CPURequest: s.K8s.CPURequest, MemRequest: s.K8s.MemRequest, CPULimit: s.K8s.CPULimit, MemLimit: s.K8s.MemLimit,
	}}
}

// section reads what drivers need of the city's configuration. They have to be
// opened although it is faulty: its sessions run.
func (d *Daemon) section(root string) *config.City {
	path := filepath.Join(root, client.CityFile)
	text, err := readNamed(path)
	if err == nil {
		if city, err := config.Parse(path, text, config.Catalog{}); err == nil {
			return city
		}
	}
	return &config.City{Workspace: config.Workspace{Name: filepath.Base(root)}}
}

// section is what the configuration in force says; while there is none, what section of the
// daemon returns.
func (k *controllerProcess) section() *config.City {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.city != nil {
		return k.last.city
	}
	return k.daemon.section(k.root)
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
	cfg := d.providerConfig(dir, dir, slog.New(slog.DiscardHandler))
	for i, driver := range all.Drivers() {
		row, err := describe(ctx, driver, cfg)
		if err != nil {
			return nil, err
		}
		row.Default = i == 0
		out = append(out, row)
	}
	return out, ctx.Err()
}

// describe returns what a driver can do, and whether it can work here. It starts
// no session and no server.
func describe(ctx context.Context, driver all.Driver, cfg all.Config) (client.Provider, error) {
	row := client.Provider{Name: driver.Name, Summary: driver.Summary, Capabilities: []string{}, Extensions: []string{}}
	if driver.Argument != "" {
		row.Name += ":" + driver.Argument
	}
	var err error
	if row.Version, err = driver.Probe(ctx, cfg); err != nil {
		row.Problem = err.Error()
		return row, nil //nolint:nilerr // the row has it
	}
	if driver.Argument != "" {
		return row, nil // what it can do is up to the argument
	}
	p, err := driver.Open(cfg, "")
	if err != nil {
		row.Problem = err.Error()
		return row, nil //nolint:nilerr // the row has it
	}
	row.Capabilities, row.Extensions = capabilities(p), extensions(p)
	return row, all.Close(p)
}

// capabilities names what the driver can report.
func capabilities(p runtime.Provider) []string {
	c := p.Capabilities()
	out := []string{}
	for _, row := range []struct {
		name string
		has  bool
	}{
		{"activity", c.CanReportActivity},
		{"attach", c.CanAttachTTY},
		{"attachment", c.CanReportAttachment},
		{"stream", c.CanStream},
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

// CheckProvider runs conformance cases on a provider in a temporary place. The agents that
// they drive are this program under the fake agent's name.
func (d *Daemon) CheckProvider(ctx context.Context, root, selection string, patterns []string, report func(cli.CheckResult)) error {
	cases, err := providerprobe.Pick(patterns)
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	if selection == "" {
		selection = all.Drivers()[0].Name
	}
	if selection, err = withPath(selection, root); err != nil {
		return err
	}
	place, err := os.MkdirTemp(citydir.PublicTempDir, "gc-check-")
	if err != nil {
		return fmt.Errorf("cannot make a place for the cases: %w", err)
	}
	defer os.RemoveAll(place) //nolint:errcheck // nothing runs there any more
	program := runtimetest.Program{Path: filepath.Join(place, fakeagent.Name)}
	if err := os.Symlink(d.opts.Executable, program.Path); err != nil {
		return fmt.Errorf("cannot make the fake agent: %w", err)
	}
	openIn := func(dir string) (runtime.Provider, error) { return all.Open(selection, d.trialConfig(root, dir)) }
	first, err := openIn(place)
	if err != nil {
		return err
	}
	adapt(&program, first)
	err = shares(ctx, first, selection, place)
	if err = errors.Join(err, all.Close(first)); err != nil {
		return err
	}
	open := func(t runtimetest.T, dir string) runtime.Provider {
		p, err := openIn(dir)
		if err != nil {
			t.Fatalf("cannot open the provider: %v", err)
		}
		return p
	}
	h := runtimetest.Harness{New: open, Reopen: open, Agent: program.Agent}
	if strings.Contains(selection, ":") {
		h.Patience = scriptPatience
	}
	return providerprobe.Contract(ctx, h, cases, func(r runtimetest.Result) { report(checkResult(r)) })
}

// scriptPatience is how long a case waits for a script: each of its operations runs several
// programs.
const scriptPatience = 2 * time.Minute

// adapt makes the fake agent one that the provider can drive: with a screen like
// that of a known agent CLI, or with prompts on its standard input. Of a router's places it is the
// one of sessions that ask for nothing.
func adapt(program *runtimetest.Program, p runtime.Provider) {
	if runtime.CapabilitiesFor(p, "gc-check").CanAttachTTY {
		family := imitated(agentcli.Builtin())
		program.Edit = func(cfg *runtime.Config, b runtimetest.Behaviour) {
			cfg.ProviderName = family
			cfg.EmitsPermissionWarning = b.Dialog
		}
		return
	}
	if _, ok := runtime.As[runtime.InteractionProvider](p, ""); ok { // without a terminal it asks by the protocol
		program.Flags = []string{"--acp"}
		program.Edit = func(cfg *runtime.Config, _ runtimetest.Behaviour) { cfg.ReadyPromptPrefix = bridge.ReadyPrefix }
		return
	}
	program.Flags = []string{"--plain", "--framed"}
	program.Edit = func(cfg *runtime.Config, _ runtimetest.Behaviour) {
		cfg.ReadyPromptPrefix = "fakeagent ready"
		cfg.Env = map[string]string{"GC_STDIN": "framed"}
	}
}

// imitated returns the agent CLI that the fake agent looks like: the one with
// known dialogs whose input box begins as the fake agent's does.
func imitated(profiles *agentcli.Set) string {
	for _, name := range profiles.Names() {
		if p, ok := profiles.Lookup(name); ok && len(p.Dialogs) > 0 && strings.HasPrefix(p.ReadyPromptPrefix, "❯") {
			return name
		}
	}
	return agentcli.Generic
}

func checkResult(r runtimetest.Result) cli.CheckResult {
	out := cli.CheckResult{ID: r.ID, Sentence: r.Sentence, Result: cli.CheckFail, Took: r.Took.Round(time.Millisecond), Detail: strings.Join(r.Detail, "\n")}
	switch r.Status {
	case runtimetest.Passed:
		out.Result = cli.CheckPass
	case runtimetest.Failed:
	default:
		out.Result = cli.CheckSkip
		if need, ok := strings.CutPrefix(out.Detail, "needs "); ok {
			out.Detail = without(runtimetest.Need(need))
		}
	}
	return out
}

// without says why a case with a need that is not met says nothing about a provider.
func without(need runtimetest.Need) string {
	switch need {
	case runtimetest.NeedActivity, runtimetest.NeedAttachment:
		return "the provider does not report " + string(need)
	case runtimetest.NeedTerminal:
		return "the provider has no terminals"
	case runtimetest.NeedReopen, runtimetest.NeedElsewhere:
		return "it takes another process, which this command does not start; the provider's own tests do"
	default:
		return fmt.Sprintf("the provider does not have the extension %q", string(need))
	}
}
