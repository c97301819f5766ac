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

// ProviderConfig returns the settings with which the city at root opens a runtime provider. dir is
// the directory for the provider's sockets.
func (l *Loader) ProviderConfig(root, dir string, logger *slog.Logger) all.Config {
	return l.ConfigOf(l.Section(root), root, dir, logger)
}

// ConfigOf does what [Loader.ProviderConfig] does for a configuration that is already loaded.
func (l *Loader) ConfigOf(city *config.City, root, dir string, logger *slog.Logger) all.Config {
	return all.Config{
		Dir: dir, LogDir: filepath.Join(root, citydir.StateFolder, citydir.LogFolder), StateDir: filepath.Join(root, citydir.StateFolder, citydir.ProviderFolder),
		WorkDir: root, City: city.Workspace.Name, Socket: city.Session.Socket, Routing: l.routing(&city.Session), ACP: l.acp(&city.Session.ACP), Remote: l.remoteConfig(root, &city.Session),
		Env: l.Environ.Base(agentcli.Builtin()), Environ: l.Environ, Shim: []string{l.Executable, "shim"}, Subreaper: []string{l.Executable, "subreaper"}, Logger: logger,
	}
}

// TrialConfig returns the settings to try a runtime provider in the directory dir without touching
// the city at root: with the routing and the hosts of that city, but without its sessions. If root
// is empty, it uses default settings.
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

// remoteConfig returns the city's settings for agents that run on other hosts or in a cluster.
func (l *Loader) remoteConfig(root string, s *config.Session) all.Remote {
	return all.Remote{ID: citydir.ID(root), Program: l.Executable, SSH: all.SSH{
		Programs: s.SSH.Programs, Options: s.SSH.Options, Connect: s.SSH.ConnectTimeout,
	}, K8s: all.K8s{
		Context: s.K8s.Context, Namespace: s.K8s.Namespace, Image: s.K8s.Image, Prebaked: s.K8s.Prebaked, Template: s.K8s.Template,
		CPURequest: s.K8s.CPURequest, MemRequest: s.K8s.MemRequest, CPULimit: s.K8s.CPULimit, MemLimit: s.K8s.MemLimit,
	}}
}

// Section returns the configuration of the city for opening its runtime providers. It does not
// check the configuration, because sessions may run although city.toml is invalid. If city.toml
// cannot be parsed, the result has only the default name of the city.
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

// SocketBases returns the directories in which the sockets of the city's sessions may be, the
// preferred one first.
func (l *Loader) SocketBases() []string {
	if l.ShortLived {
		return []string{l.Environ.Get(RuntimeBase)}
	}
	return l.Environ.SocketBases()
}

// Open opens the runtime provider with the given name and argument (selection) for the city at
// root.
func (l *Loader) Open(root, selection string, logger *slog.Logger) (runtime.Provider, error) {
	return l.OpenFor(l.Section(root), root, selection, "", logger)
}

// OpenFor does what [Loader.Open] does with a configuration that is already loaded. worker is the
// socket through which agents on other machines reach the worker API. If it is empty, they cannot
// reach it.
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

// SessionProviders returns the runtime providers in which the city may have sessions: those that it
// has used. A city from an old version of gc has no record of them; then the result is every
// provider that works without an argument.
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

// Unavailable returns the runtime providers of the desired sessions that cannot be opened on this
// machine, with the reason for each. It opens none of them.
func (l *Loader) Unavailable(ctx context.Context, city *config.City, root string, desired *plan.Desired) map[string]string {
	cfg := l.ConfigOf(city, root, root, slog.New(slog.DiscardHandler))
	out, asked := map[string]string{}, map[string]bool{}
	for _, s := range desired.Sessions {
		if asked[s.Provider] {
			continue
		}
		asked[s.Provider] = true
		if _, err := all.Version(ctx, s.Provider, cfg); err != nil {
			out[s.Provider] = err.Error()
		}
	}
	return out
}
