package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"gascity/client"
	"gascity/internal/driver/script"
	"gascity/provider/all"
	"gascity/runtime"
)

// Provider opens a runtime provider of the city for direct use. It does not need the city's
// controller.
func (d *Daemon) Provider(_ context.Context, root, selection string) (runtime.Provider, error) {
	return d.Open(root, selection, slog.New(slog.DiscardHandler))
}

// Providers returns the runtime providers in this program, the default first.
func (d *Daemon) Providers(ctx context.Context) ([]client.Provider, error) {
	dir, err := os.MkdirTemp("", "gc-providers-")
	if err != nil {
		return nil, fmt.Errorf("cannot examine the providers: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty
	var out []client.Provider
	cfg := d.ProviderConfig(dir, dir, slog.New(slog.DiscardHandler))
	for i, driver := range all.Drivers() {
		row, err := all.Describe(ctx, driver, cfg)
		if err != nil {
			return nil, err
		}
		row.Default = i == 0
		out = append(out, row)
	}
	return out, ctx.Err()
}

// ServeProvider runs one call of a session script (args) with a runtime provider, and returns its
// exit status. The sessions are those in the script's state directory if GC_EXEC_STATE_DIR is set,
// otherwise those of the city.
func (d *Daemon) ServeProvider(ctx context.Context, root, selection string, args []string) int {
	if state := d.Environ.Get("GC_EXEC_STATE_DIR"); filepath.IsAbs(state) {
		root = filepath.Join(state, "served")
	}
	if root == "" {
		fmt.Fprintln(d.opts.Stderr, "gc: this directory is not in a city, and GC_EXEC_STATE_DIR is not an absolute path, so gc cannot store sessions")
		return script.ExitFailed
	}
	p, err := d.Open(root, selection, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintln(d.opts.Stderr, "gc:", err)
		return script.ExitFailed
	}
	code := script.Serve(ctx, p, script.Call{
		Args: args, Stdin: d.opts.Stdin, Size: d.Environ.Get(script.VariableSize), Stdout: d.opts.Stdout, Stderr: d.opts.Stderr,
	})
	if err := all.Close(p); err != nil && code == script.ExitOK {
		fmt.Fprintln(d.opts.Stderr, "gc:", err)
		return script.ExitFailed
	}
	return code
}
