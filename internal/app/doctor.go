package app

import (
	"context"
	"io"

	"gascity/client"
	"gascity/internal/cli"
	"gascity/internal/doctor"
)

// doctor returns a Doctor for this process.
func (d *Daemon) doctor() *doctor.Doctor {
	run := func(ctx context.Context, root string, ready func()) error {
		temporary, loader := *d, *d.Loader
		loader.ShortLived = true
		temporary.Loader = &loader
		return temporary.RunController(ctx, root, cli.ControllerOptions{Version: d.opts.Version, Ready: ready})
	}
	return &doctor.Doctor{Loader: d.Loader, Version: d.opts.Version, RunController: run, StoredEvents: storedEvents}
}

// Doctor examines the city and its machine and reports each finding. It implements cli.Daemon.
func (d *Daemon) Doctor(ctx context.Context, root string, report func(client.Finding)) error {
	return d.doctor().Examine(ctx, root, report)
}

// AskCLIs sends a test prompt to each agent CLI of the city and reports each result. It implements
// cli.Daemon.
func (d *Daemon) AskCLIs(ctx context.Context, root string, report func(client.Finding)) error {
	return d.doctor().AskCLIs(ctx, root, report)
}

// Bundle writes a support bundle of the city and returns what it contains. It implements
// cli.Daemon.
func (d *Daemon) Bundle(ctx context.Context, root string, to io.Writer) (cli.Bundled, error) {
	made, err := doctor.WriteBundle(ctx, root, d.doctor(), to)
	out := cli.Bundled{Pages: made.Pages, Missing: make([]cli.Missing, len(made.Missing))}
	for i, m := range made.Missing {
		out.Missing[i] = cli.Missing(m)
	}
	return out, err
}

// CheckProvider runs the conformance checks of a runtime provider and reports each result. It
// implements cli.Drivers.
func (d *Daemon) CheckProvider(ctx context.Context, root, selection string, patterns []string, report func(cli.CheckResult)) error {
	return d.doctor().CheckProvider(ctx, root, selection, patterns, func(r doctor.CheckResult) { report(cli.CheckResult(r)) })
}

// CheckOperations checks each operation of a session script with one session, and reports each
// result. It implements cli.Drivers.
func (d *Daemon) CheckOperations(ctx context.Context, root, selection string, report func(cli.CheckResult)) error {
	return d.doctor().CheckOperations(ctx, root, selection, func(r doctor.CheckResult) { report(cli.CheckResult(r)) })
}
