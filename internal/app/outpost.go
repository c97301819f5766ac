package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"gascity/internal/citydir"
	"gascity/internal/driver/remote"
	"gascity/internal/hookrunner"
	"gascity/provider/all"
	"gascity/runtime"
)

// outpost returns the part of gc that runs sessions on this machine for a controller on another
// one. folder has its state.
func (d *Daemon) outpost(folder, selection string) remote.Outpost {
	return remote.Outpost{
		Folder: folder, Version: d.opts.Version, Program: d.opts.Executable, Close: all.Close,
		Open: func() (runtime.Provider, error) {
			return d.Open(folder, selection, slog.New(slog.DiscardHandler))
		},
		Wrap: func(p runtime.Provider) runtime.Provider { return hookrunner.WrapProvider(p, d.hooks(folder)) },
	}
}

// hooks returns the settings for the hooks of sessions whose state is in the directory root, of a
// city or an outpost.
func (d *Daemon) hooks(root string) hookrunner.Options {
	return hookrunner.Options{Dir: filepath.Join(root, citydir.StateFolder, citydir.HooksFolder), Program: d.opts.Executable}
}

// ServeOutpost runs an outpost, the part of gc that runs sessions on this machine for a controller
// on another one. The controller sends its requests to standard input and reads the answers from
// standard output. folder has the state of the outpost, and selection is its runtime provider. It
// implements cli.Outposts.
func (d *Daemon) ServeOutpost(ctx context.Context, folder, selection string) error {
	return d.outpost(folder, selection).Serve(ctx, d.opts.Stdin, d.opts.Stdout)
}

// RunOutpostInit runs as the first process of a container with an outpost, the part of gc that runs
// sessions on this machine for a controller on another one. When ctx ends, it stops all sessions;
// grace is how long the agents may take to exit. It implements cli.Outposts.
func (d *Daemon) RunOutpostInit(ctx context.Context, folder, selection string, grace time.Duration) error {
	return d.outpost(folder, selection).RunInit(ctx, grace)
}

// AttachOutpost connects this terminal to a session of an outpost, the part of gc that runs
// sessions on this machine for a controller on another one. folder has the state of the outpost. It
// implements cli.Outposts.
func (d *Daemon) AttachOutpost(ctx context.Context, folder, selection, name string, opts runtime.AttachOptions) error {
	return d.outpost(folder, selection).Attach(ctx, name, opts)
}
