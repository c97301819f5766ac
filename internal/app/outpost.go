package app

import (
	"context"
	"log/slog"
	"time"

	"gascity/internal/driver/remote"
	"gascity/provider/all"
	"gascity/runtime"
)

// outpost returns the outpost in a directory.
func (d *Daemon) outpost(folder, selection string) remote.Outpost {
	return remote.Outpost{Folder: folder, Version: d.opts.Version, Close: all.Close, Open: func() (runtime.Provider, error) {
		return d.config.Open(folder, selection, slog.New(slog.DiscardHandler))
	}}
}

// ServeOutpost implements cli.Outposts.
func (d *Daemon) ServeOutpost(ctx context.Context, folder, selection string) error {
	return d.outpost(folder, selection).Serve(ctx, d.opts.Stdin, d.opts.Stdout)
}

// RunOutpostInit implements cli.Outposts.
func (d *Daemon) RunOutpostInit(ctx context.Context, folder, selection string, grace time.Duration) error {
	return d.outpost(folder, selection).RunInit(ctx, grace)
}

// AttachOutpost implements cli.Outposts.
func (d *Daemon) AttachOutpost(ctx context.Context, folder, selection, name string, opts runtime.AttachOptions) error {
	return d.outpost(folder, selection).Attach(ctx, name, opts)
}
