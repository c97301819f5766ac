package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/config"
	"gascity/internal/hookrunner"
	"gascity/internal/proc"
	"gascity/provider/all"
	"gascity/runtime"
)

// section returns the configuration to use now: the one that the controller has accepted, or before
// that what [cityconfig.Loader.Section] reads from city.toml.
func (k *controllerProcess) section() *config.City {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.City != nil {
		return k.last.City
	}
	return k.daemon.Section(k.root)
}

// open opens a runtime provider for the controller. [controllerProcess.close] closes it.
func (k *controllerProcess) open(ctx context.Context, selection string) (runtime.Provider, error) {
	p, err := k.openProvider(ctx, selection)
	if err == nil {
		k.mu.Lock()
		k.providers = append(k.providers, p)
		k.mu.Unlock()
		p = k.workers.WrapProvider(k.withHooks(selection, p))
	}
	return p, err
}

// withHooks returns the provider p extended so that each start of an agent installs the hooks of
// its agent CLI. A provider on another machine is returned unchanged, because gc there installs
// them.
func (k *controllerProcess) withHooks(selection string, p runtime.Provider) runtime.Provider {
	if all.IsRemote(selection) {
		return p
	}
	opts := k.daemon.hooks(k.root)
	if all.IsHere(selection) {
		opts.Texts, opts.RootDir = k.texts, filepath.Join(filepath.Dir(k.texts.Dir), citydir.HooksFolder)
	}
	return hookrunner.WrapProvider(p, opts)
}

// close closes the runtime providers. The sessions keep running.
func (k *controllerProcess) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.providers {
		if err := all.Close(p); err != nil {
			k.logger.Warn("cannot close a provider", "error", err)
		}
	}
}

// openProvider opens a runtime provider for the controller. If its program or host is absent and
// the city never used it, openProvider returns a provider without sessions, which is opened later:
// its agents fail to start with that reason, and a stop of the city does not wait for it.
func (k *controllerProcess) openProvider(ctx context.Context, selection string) (runtime.Provider, error) {
	p, err := k.openUsed(ctx, selection)
	if err == nil || !all.IsAbsent(selection, err) {
		return p, err
	}
	used, readErr := citydir.UsedProviders(k.root)
	if readErr != nil || slices.Contains(used, selection) {
		return nil, errors.Join(err, readErr)
	}
	k.logger.Warn("a runtime provider is not available", "provider", selection, "error", err)
	return all.NewLazyProvider(func(ctx context.Context) (runtime.Provider, error) { return k.openUsed(ctx, selection) }), nil
}

// openUsed opens a runtime provider. Before that it records on disk that the city uses the
// provider, so that its sessions are found later.
func (k *controllerProcess) openUsed(ctx context.Context, selection string) (runtime.Provider, error) {
	d := k.daemon
	if _, err := all.Version(ctx, selection, d.ConfigOf(k.section(), k.root, k.root, slog.New(slog.DiscardHandler))); err != nil {
		return nil, err
	}
	p, err := d.OpenFor(k.section(), k.root, selection, workerPath(k.root), k.logger)
	if err != nil {
		return nil, err
	}
	if err := citydir.RecordUsed(k.root, selection); err != nil {
		return nil, errors.Join(err, all.Close(p))
	}
	return p, nil
}

// lostClearer is a provider that keeps files of lost sessions on disk.
type lostClearer interface {
	ClearLost(ctx context.Context) error
}

// endStrays stops processes of the city's agents that run although their sessions are gone. It
// finds them by variables in their environment. It also removes the files of lost sessions. It
// returns what it stopped.
func (k *controllerProcess) endStrays(ctx context.Context) ([]client.StopResult, error) {
	ended, err := proc.StopAgents(ctx, k.root)
	out := make([]client.StopResult, 0, len(ended))
	for _, e := range ended {
		out = append(out, client.StopResult{Session: e.Session, Processes: e.Found, Survivors: e.Survivors})
		k.logger.Warn("processes of an agent ran without a session and were stopped", "session", e.Session, "processes", e.Found, "survivors", e.Survivors)
	}
	k.mu.Lock()
	providers := slices.Clone(k.providers)
	k.mu.Unlock()
	for _, p := range providers {
		if c, ok := runtime.As[lostClearer](p, ""); ok {
			if clearErr := c.ClearLost(ctx); clearErr != nil {
				k.logger.Warn("cannot remove the files of a lost session", "error", clearErr)
			}
		}
	}
	return out, err
}
