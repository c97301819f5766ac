package hookrunner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"

	"gascity/internal/agentcli"
	"gascity/internal/agentcli/channel"
	"gascity/internal/service/prompts"
	"gascity/internal/textfmt"
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

// WrapProvider returns a provider that does what p does and manages the hooks: it installs them
// when it starts an agent whose environment names an agent CLI in [VariableHooks], and removes them
// when the session stops.
func WrapProvider(p runtime.Provider, opts Options) runtime.Provider { return &hookProvider{p, opts} }

type hookProvider struct {
	runtime.Provider
	opts Options
}

var _ runtime.Router = (*hookProvider)(nil)

// Start installs the hooks of the agent and starts the session with them. It implements
// runtime.Runner.
func (o *hookProvider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	cfg, err := o.withHooks(name, cfg)
	if err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	return o.Provider.Start(ctx, name, cfg)
}

// Stop stops the session and removes its hooks. It implements runtime.Runner.
func (o *hookProvider) Stop(name string) error {
	err := o.Provider.Stop(name)
	if err == nil {
		o.forget(name)
	}
	return err
}

// Route returns the provider for the optional methods of a session: one that manages the hooks when
// it relaunches or stops the session. It implements runtime.Router.
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

// withHooks installs the hooks for the start of a session and returns cfg with their arguments and
// environment variables. If gc has no hooks for the agent, it returns cfg as it is.
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
	installed, err := Install(cli, o.opts.Program, dir, fileDir, texts)
	if err != nil {
		return cfg, err
	}
	for _, arg := range installed.Args {
		cfg.Command += " " + textfmt.ShellWord(arg)
	}
	cfg.Command = o.channelCommandLine(cfg)
	cfg.Env = maps.Clone(cfg.Env)
	maps.Copy(cfg.Env, installed.Env)
	if cfg.PromptSuffix != "" {
		cfg.Env[variableFirst] = "1"
	}
	return cfg, nil
}

// channelCommandLine returns the command line that starts an agent. If the agent CLI has a native
// channel that needs gc between the agent CLI and its terminal, the command line starts gc, which
// starts the agent CLI. If gc is not at its path at that time, for example in a container, the
// command line starts the agent CLI directly.
func (o *hookProvider) channelCommandLine(cfg runtime.Config) string {
	family := cfg.Env[VariableChannel]
	if _, relayed := agentcli.ChannelOf(family); !relayed {
		return cfg.Command
	}
	script := `if [ -x "$0" ]; then exec "$0" ` + channel.Command + ` "$@"; fi; shift; exec "$@"`
	return "exec /bin/sh -c " + textfmt.ShellWord(script) + " " + textfmt.ShellWord(o.opts.Program) + " " + textfmt.ShellWord(family) + " " + cfg.Command
}

// folder returns the directory for the hooks of a session.
func (o *hookProvider) folder(name string) string { return filepath.Join(o.opts.Dir, folderName(name)) }

// folderName returns the name of the directory for a session: a hash, because the name of a session
// may contain any character.
func folderName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// rootFolder returns the directory of a session to which only root can write. It is empty if there
// is no such directory.
func (o *hookProvider) rootFolder(name string) string {
	for _, dir := range []string{o.opts.Dir, o.opts.RootDir} {
		if dir != "" && onlyRootCanWrite(dir) {
			return filepath.Join(dir, folderName(name))
		}
	}
	return ""
}

// forget removes the hooks of a stopped session, but keeps the offsets up to which its transcripts
// were read, for the next start. It ignores files that cannot be removed: the next start replaces
// them before it uses them.
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

// relaunchProvider is a provider that installs the hooks again when it relaunches an agent.
type relaunchProvider struct {
	runtime.Provider
	outer *hookProvider
}

// Route returns the provider for the optional methods that this one does not have. It implements
// runtime.Router.
func (w *relaunchProvider) Route(string) runtime.Provider { return w.Provider }

// Relaunch starts the agent again in its session, with hooks. It implements
// runtime.RelaunchProvider.
func (w *relaunchProvider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	cfg, err := w.outer.withHooks(name, cfg)
	if err != nil {
		return &runtime.Error{Op: "relaunch", Session: name, Err: err}
	}
	return runtime.Relaunch(ctx, w.Provider, name, cfg)
}

// fencedProvider is a provider that also removes the hooks when it stops an instance of a session.
type fencedProvider struct {
	runtime.Provider
	outer *hookProvider
}

// Route returns the provider for the optional methods that this one does not have. It implements
// runtime.Router.
func (f *fencedProvider) Route(string) runtime.Provider { return f.Provider }

// StopInstance stops the session if it is still the instance with the given token, and removes its
// hooks. It implements runtime.Fencer.
func (f *fencedProvider) StopInstance(ctx context.Context, name, token string) error {
	err := runtime.StopInstance(ctx, f.Provider, name, token)
	if err == nil {
		f.outer.forget(name)
	}
	return err
}

// InterruptInstance interrupts the session if it is still the instance with the given token. It
// implements runtime.Fencer.
func (f *fencedProvider) InterruptInstance(ctx context.Context, name, token string) error {
	return runtime.InterruptInstance(ctx, f.Provider, name, token)
}
