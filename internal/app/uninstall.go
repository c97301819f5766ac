package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/cleanup"
	"gascity/provider/all"
	"gascity/runtime"
)

// Remains returns what the city has left on this machine: sessions, processes and files. It
// implements cli.Remains.
func (d *Daemon) Remains(ctx context.Context, root string) (client.Remains, error) {
	site, err := d.site(ctx, root)
	if err != nil {
		return client.Remains{}, err
	}
	return site.Survey()
}

// Uninstall stops and removes what the city has left on this machine. It implements cli.Remains.
func (d *Daemon) Uninstall(ctx context.Context, root string, req client.UninstallRequest) (client.Uninstalled, error) {
	site, err := d.site(ctx, root)
	if err != nil {
		return client.Uninstalled{}, err
	}
	return site.Uninstall(ctx, cleanup.Options{SkipUnreachable: req.LeaveUnreachable, KeepFiles: req.KeepFiles, Local: all.SelectionsIn, Shared: all.Shared, Open: func(dir, selection string) (runtime.Provider, func() error, error) {
		p, err := d.OpenProvider(selection, d.ProviderConfig(root, dir, slog.New(slog.DiscardHandler)))
		return p, func() error { return all.Close(p) }, err
	}})
}

// site returns where the city may have left sessions and files. If the list of used providers is
// lost, it uses those in the configuration. If city.toml is invalid and the city used other hosts
// or clusters, it returns an error: gc could search in a wrong place and find nothing.
func (d *Daemon) site(ctx context.Context, root string) (cleanup.Site, error) {
	used, err := citydir.UsedProviders(root)
	r, faulty := d.Load(ctx, root)
	if _, lived := os.Lstat(filepath.Join(root, citydir.StateFolder)); faulty == nil && lived == nil && len(used) == 0 {
		for _, s := range r.Desired.Sessions {
			used = append(used, s.Provider)
		}
	}
	site := cleanup.Site{Root: root, Bases: d.Environ.SocketBases(), Elsewhere: all.RemoteSelections(used)}
	if err == nil && faulty != nil && len(site.Elsewhere) > 0 {
		err = fmt.Errorf("the city used %s, and city.toml, which describes how to reach it, is invalid; correct city.toml first: %w", strings.Join(site.Elsewhere, ", "), faulty)
	}
	return site, err
}
