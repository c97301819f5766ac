package cityconfig

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/provider/all"
	"gascity/runtime"
)

// ProviderConfig returns the configuration with which a driver of the city is opened. dir is the
// directory for its sockets.
func (l *Loader) ProviderConfig(root, dir string, logger *slog.Logger) all.Config {
	return l.ConfigOf(l.Section(root), root, dir, logger)
}

// ConfigOf returns the same as ProviderConfig for a configuration that is already loaded.
func (l *Loader) ConfigOf(city *config.City, root, dir string, logger *slog.Logger) all.Config {
	return all.Config{
		Dir: dir, LogDir: filepath.Join(root, citydir.StateFolder, citydir.LogFolder), StateDir: filepath.Join(root, citydir.StateFolder, citydir.ProviderFolder),
		WorkDir: root, City: city.Workspace.Name, Socket: city.Session.Socket, Routing: l.routing(&city.Session), ACP: l.acp(&city.Session.ACP), Remote: l.remoteConfig(root, &city.Session),
		Env: l.Environ.Base(agentcli.Builtin()), Environ: l.Environ, Shim: l.shimCommand(), Subreaper: []string{l.Executable, "subreaper"}, Logger: logger,
	}
}

// TrialConfig returns the configuration to try a driver in the directory dir, with the city's
// routing and remote settings. An empty root means no city.
func (l *Loader) TrialConfig(root, dir string) all.Config {
	cfg := l.ProviderConfig(dir, filepath.Join(dir, "s"), slog.New(slog.DiscardHandler))
	if root == "" {
		cfg.Routing = all.Routing{}
		return cfg
	}
	s := &l.Section(root).Session
	id := cfg.Remote.ID
	cfg.Routing, cfg.Remote = l.routing(s), l.remoteConfig(root, s)
	cfg.Remote.ID = id
	return cfg
}

// remoteConfig returns the city's settings for other hosts and clusters.
func (l *Loader) remoteConfig(root string, s *config.Session) all.Remote {
	return all.Remote{ID: citydir.ID(root), Program: l.Executable, SSH: all.SSH{
		Programs: s.SSH.Programs, Options: s.SSH.Options, Connect: s.SSH.ConnectTimeout,
	}, K8s: all.K8s{
		Context: s.K8s.Context, Namespace: s.K8s.Namespace, Image: s.K8s.Image, Prebaked: s.K8s.Prebaked, Template: s.K8s.Template,
		CPURequest: s.K8s.CPURequest, MemRequest: s.K8s.MemRequest, CPULimit: s.K8s.CPULimit, MemLimit: s.K8s.MemLimit,
	}}
}

// Section returns the part of the city's configuration that drivers need. It also works if the
// configuration is invalid, because sessions may run. If city.toml cannot be parsed, it returns
// only a default name.
func (l *Loader) Section(root string) *config.City {
	path := filepath.Join(root, client.CityFile)
	text, err := ReadNamed(path)
	if err == nil {
		if city, err := config.Parse(path, text, config.Catalog{}); err == nil {
			return city
		}
	}
	return &config.City{Workspace: config.Workspace{Name: filepath.Base(root)}}
}

// SocketBases returns the directories that may hold the sockets of the city's sessions.
func (l *Loader) SocketBases() []string {
	if l.ShortLived {
		return []string{l.Environ.Get(RuntimeBase)}
	}
	return l.Environ.SocketBases()
}

// Open opens a runtime provider of the city.
func (l *Loader) Open(root, selection string, logger *slog.Logger) (runtime.Provider, error) {
	return l.OpenFor(l.Section(root), root, selection, "", logger)
}

// OpenFor opens a runtime provider of the city. Its agents on other machines reach the worker API
// through the socket worker; empty: they do not.
func (l *Loader) OpenFor(city *config.City, root, selection, worker string, logger *slog.Logger) (runtime.Provider, error) {
	dir, err := citydir.RuntimeDir(root, l.SocketBases()...)
	if err != nil {
		return nil, err
	}
	cfg := l.ConfigOf(city, root, dir, logger)
	cfg.Remote.Worker = worker
	p, err := l.OpenProvider(selection, cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot open the provider: %w", err)
	}
	return p, nil
}

// SessionProviders returns the runtime providers that may have sessions of the city. If no use was
// recorded, as in a city of an older gc, it returns every provider that needs no argument.
func (l *Loader) SessionProviders(root string) ([]string, error) {
	used, err := citydir.UsedProviders(root)
	if err != nil || len(used) > 0 {
		return used, err
	}
	for _, driver := range all.Drivers() {
		if driver.Argument == "" && driver.Route == nil {
			used = append(used, driver.Name)
		}
	}
	return used, nil
}

// Unavailable returns the runtime providers of a configuration that cannot be opened, with the
// reason for each. It opens none. city has the settings for the providers.
func (l *Loader) Unavailable(ctx context.Context, city *config.City, root string, desired *plan.Desired) map[string]string {
	cfg := l.ConfigOf(city, root, root, slog.New(slog.DiscardHandler))
	out, asked := map[string]string{}, map[string]bool{}
	for i := range desired.Sessions {
		selection := desired.Sessions[i].Provider
		if asked[selection] {
			continue
		}
		asked[selection] = true
		if _, err := all.Version(ctx, selection, cfg); err != nil {
			out[selection] = err.Error()
		}
	}
	return out
}
