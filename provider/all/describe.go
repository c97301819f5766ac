package all

import (
	"context"
	"slices"

	"gascity/client"
	"gascity/runtime"
)

// Describe returns the abilities of a driver and whether it can work on this machine. It starts no
// session and no server.
func Describe(ctx context.Context, driver Driver, cfg Config) (client.Provider, error) {
	row := client.Provider{Name: driver.Name, Summary: driver.Summary, Capabilities: []string{}, Extensions: []string{}}
	if driver.Argument != "" {
		row.Name += ":" + driver.Argument
	}
	var err error
	if row.Version, err = driver.Probe(ctx, cfg); err != nil {
		row.Problem = err.Error()
		return row, nil //nolint:nilerr // the row contains the error
	}
	if driver.Argument != "" {
		return row, nil // the argument decides the abilities
	}
	p, err := driver.Open(cfg, "")
	if err != nil {
		row.Problem = err.Error()
		return row, nil //nolint:nilerr // the row contains the error
	}
	row.Capabilities, row.Extensions = capabilities(p), extensions(p)
	return row, Close(p)
}

// capabilities returns the names of the capabilities that the provider reports.
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

// extensions returns the names of the extensions that the provider implements, sorted.
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

// has reports whether the provider implements the extension interface T.
func has[T any](p runtime.Provider) bool {
	_, ok := runtime.As[T](p, "")
	return ok
}
