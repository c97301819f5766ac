package all

import (
	"context"

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
	row.Capabilities, row.Extensions = namesOf(capabilities(p)), namesOf(extensions(p))
	return row, Close(p)
}

// ability is a capability or an extension that a provider may have.
type ability struct {
	name string
	has  bool
}

// namesOf returns the names of the abilities that the provider has.
func namesOf(abilities []ability) []string {
	out := []string{}
	for _, a := range abilities {
		if a.has {
			out = append(out, a.name)
		}
	}
	return out
}

// capabilities returns the capabilities that the provider reports, sorted by name.
func capabilities(p runtime.Provider) []ability {
	c := p.Capabilities()
	return []ability{
		{"activity", c.CanReportActivity},
		{"attach", c.CanAttachTTY},
		{"attachment", c.CanReportAttachment},
		{"stream", c.CanStream},
	}
}

// extensions returns the extensions that the provider implements, sorted by name.
func extensions(p runtime.Provider) []ability {
	return []ability{
		{"deliver", has[runtime.Deliverer](p)},
		{"dialogs", has[runtime.DialogProvider](p)},
		{"exec", has[runtime.ExecProvider](p)},
		{"fence", has[runtime.Fencer](p)},
		{"idle", has[runtime.IdleWaitProvider](p)},
		{"interaction", has[runtime.InteractionProvider](p)},
		{"observe", has[runtime.Observer](p)},
		{"recover", has[runtime.Recoverer](p)},
		{"relaunch", has[runtime.RelaunchProvider](p)},
		{"scan", has[runtime.ProcessTableScanner](p)},
		{"server", has[runtime.ServerLifecycleProvider](p)},
		{"watch", has[runtime.Watcher](p)},
	}
}

// has reports whether the provider implements the extension interface T.
func has[T any](p runtime.Provider) bool {
	_, ok := runtime.As[T](p, "")
	return ok
}
