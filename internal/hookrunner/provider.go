package hookrunner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/service/prompts"
	"gascity/runtime"
)

// Options are the settings for the hooks of a city's sessions.
type Options struct {
	Dir     string // the parent of each session's own directory
	Program string // the path of gc
	// RootDir is a second directory, to which only root can write, for the file of an agent CLI
	// that requires that. It is used if Dir is not such a directory. Empty: none.
	RootDir string
	// Texts holds a directory with texts of prompts for each running session whose agent CLI reads
	// files. If Texts.Dir is empty, no session has one.
	Texts prompts.FileStore
}

// WrapProvider returns a provider that installs hooks when it starts an agent whose environment
// names an agent CLI in [VariableHooks]. It removes them when the session stops.
func WrapProvider(p runtime.Provider, opts Options) runtime.Provider { return &hookProvider{p, opts} }

type hookProvider struct {
	runtime.Provider
	opts Options
}

var _ runtime.Router = (*hookProvider)(nil)

// Start implements runtime.Runner.
func (o *hookProvider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	cfg, err := o.withHooks(name, cfg)
	if err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	return o.Provider.Start(ctx, name, cfg)
}

// Stop implements runtime.Runner.
func (o *hookProvider) Stop(name string) error {
	err := o.Provider.Stop(name)
	if err == nil {
		o.forget(name)
	}
	return err
}

// Route implements runtime.Router.
func (o *hookProvider) Route(name string) runtime.Provider {
	below := o.Provider
	if name == "" {
		return below
	}
	if _, can := runtime.As[runtime.RelaunchProvider](below, name); can {
		below = &relaunchProvider{below, o}
	}
	if _, can := runtime.As[runtime.Fencer](below, name); can {
		below = &fencedProvider{below, o}
	}
	return below
}

// withHooks installs the hooks for a start and returns cfg extended by them. If the agent has no
// hooks, it returns cfg unchanged.
func (o *hookProvider) withHooks(name string, cfg runtime.Config) (runtime.Config, error) {
	cli, ok := agentcli.LookupHooks(cfg.Env[VariableHooks])
	if !ok || cfg.Command == "" {
		return cfg, nil
	}
	texts := ""
	if cli.ReadsFiles && o.opts.Texts.Dir != "" {
		var err error
		if texts, err = o.opts.Texts.Open(name); err != nil {
			return cfg, err
		}
	}
	dir := o.folder(name)
	fileDir := dir
	if cli.RootOnly {
		if fileDir = o.rootFolder(name); fileDir == "" {
			return cfg, nil // the agent CLI would not use the file and would print a warning in each session
		}
	}
	installed, err := install(cli, o.opts.Program, dir, fileDir, texts)
	if err != nil {
		return cfg, err
	}
	for _, arg := range installed.Args {
		cfg.Command += " " + quote(arg)
	}
	cfg.Command = o.channelCommandLine(cfg)
	cfg.Env = maps.Clone(cfg.Env)
	maps.Copy(cfg.Env, installed.Env)
	if cfg.PromptSuffix != "" {
		cfg.Env[variableFirst] = "1"
	}
	return cfg, nil
}

// channelCommand is the gc command that runs an agent CLI with its native channel.
const channelCommand = "agent-channel"

// channelCommandLine returns the command line of a start. If the agent CLI's native channel needs
// gc's own program, the command line runs that program. If gc is not at the expected path at that
// time, it runs the agent CLI alone.
func (o *hookProvider) channelCommandLine(cfg runtime.Config) string {
	family := cfg.Env[VariableChannel]
	if _, relayed := agentcli.ChannelOf(family); !relayed {
		return cfg.Command
	}
	script := `if [ -x "$0" ]; then exec "$0" ` + channelCommand + ` "$@"; fi; shift; exec "$@"`
	return "exec /bin/sh -c " + quote(script) + " " + quote(o.opts.Program) + " " + quote(family) + " " + cfg.Command
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// folder returns a session's own directory. Its name is a hash, because a session name may contain
// any character.
func (o *hookProvider) folder(name string) string { return filepath.Join(o.opts.Dir, folderName(name)) }

func folderName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// rootFolder returns the session's own directory to which only root can write; empty if there is
// none.
func (o *hookProvider) rootFolder(name string) string {
	for _, dir := range []string{o.opts.Dir, o.opts.RootDir} {
		if dir != "" && onlyRootCanWrite(dir) {
			return filepath.Join(dir, folderName(name))
		}
	}
	return ""
}

// forget removes a session's hooks, but keeps the offsets of its transcripts for the next instance.
// A file that cannot be removed is not used before the next start replaces it.
func (o *hookProvider) forget(name string) {
	if o.opts.Texts.Dir != "" {
		_ = o.opts.Texts.Close(name) // the next start removes the rest
	}
	if o.opts.RootDir != "" {
		_ = os.RemoveAll(filepath.Join(o.opts.RootDir, folderName(name)))
		_ = os.Remove(o.opts.RootDir) // it stays while other sessions use it
	}
	dir := o.folder(name)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != readFile {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir) // it stays if it is not empty
}

// relaunchProvider adds hooks to the relaunches of the wrapped provider.
type relaunchProvider struct {
	runtime.Provider
	outer *hookProvider
}

// Route implements runtime.Router.
func (w *relaunchProvider) Route(string) runtime.Provider { return w.Provider }

// Relaunch implements runtime.RelaunchProvider.
func (w *relaunchProvider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	cfg, err := w.outer.withHooks(name, cfg)
	if err != nil {
		return &runtime.Error{Op: "relaunch", Session: name, Err: err}
	}
	return runtime.Relaunch(ctx, w.Provider, name, cfg)
}

// fencedProvider removes the hooks when the wrapped provider stops an instance.
type fencedProvider struct {
	runtime.Provider
	outer *hookProvider
}

// Route implements runtime.Router.
func (f *fencedProvider) Route(string) runtime.Provider { return f.Provider }

// StopInstance implements runtime.Fencer.
func (f *fencedProvider) StopInstance(ctx context.Context, name, token string) error {
	err := runtime.StopInstance(ctx, f.Provider, name, token)
	if err == nil {
		f.outer.forget(name)
	}
	return err
}

// InterruptInstance implements runtime.Fencer.
func (f *fencedProvider) InterruptInstance(ctx context.Context, name, token string) error {
	return runtime.InterruptInstance(ctx, f.Provider, name, token)
}
