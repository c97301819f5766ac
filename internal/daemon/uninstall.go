package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"gascity/client"
	"gascity/internal/premises"
	"gascity/internal/remains"
	"gascity/provider/all"
	"gascity/runtime"
)

// Remains implements cli.Remains.
func (d *Daemon) Remains(root string) (client.Remains, error) {
	site, err := d.site(root)
	if err != nil {
		return client.Remains{}, err
	}
	return site.Survey()
}

// Uninstall implements cli.Remains.
func (d *Daemon) Uninstall(ctx context.Context, root string, req client.UninstallRequest) (client.Uninstalled, error) {
	site, err := d.site(root)
	if err != nil {
		return client.Uninstalled{}, err
	}
	return site.Uninstall(ctx, remains.Options{Leave: req.LeaveUnreachable, Local: all.KeptIn, Open: func(dir, selection string) (runtime.Provider, func() error, error) {
		p, err := all.Open(selection, d.providerConfig(root, dir, slog.New(slog.DiscardHandler)))
		return p, func() error { return all.Close(p) }, err
	}})
}

// site is where the city may have left something. One whose list of places is lost may have
// some at each that its configuration names.
func (d *Daemon) site(root string) (remains.Site, error) {
	used, err := premises.Used(root)
	_, lived := os.Lstat(filepath.Join(root, premises.StateFolder))
	if r, err := d.read(root); err == nil && lived == nil && len(used) == 0 {
		for i := range r.desired.Sessions {
			used = append(used, r.desired.Sessions[i].Provider)
		}
	}
	return remains.Site{Root: root, Base: d.env.get(runtimeBase), Elsewhere: all.Distant(used)}, err
}
