package app

import (
	"context"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/worker"
)

// The methods of cli.Configs, cli.Starters and cli.AgentCLIs.
var (
	_ cli.Configs   = (*Daemon)(nil)
	_ cli.Starters  = (*Daemon)(nil)
	_ cli.AgentCLIs = (*Daemon)(nil)
)

// ShowConfig implements cli.Configs.
func (d *Daemon) ShowConfig(ctx context.Context, root string) (client.Config, error) {
	return d.config.ShowConfig(ctx, root)
}

// CheckConfig implements cli.Configs.
func (d *Daemon) CheckConfig(ctx context.Context, root string) ([]client.ConfigFault, error) {
	return d.config.CheckConfig(ctx, root)
}

// ConfigSchema implements cli.Configs.
func (d *Daemon) ConfigSchema() ([]byte, error) { return config.Schema(), nil }

// Prime implements cli.Configs.
func (d *Daemon) Prime(ctx context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error) {
	return d.config.Prime(ctx, root, agent, mode)
}

// StarterConfig implements cli.Starters.
func (d *Daemon) StarterConfig(_ context.Context, city string, providers []string) ([]byte, error) {
	return cityconfig.Starter(city, providers)
}

// IgnoreState implements cli.Starters.
func (d *Daemon) IgnoreState(root string) (string, error) { return citydir.IgnoreState(root) }

// AgentCLIs implements cli.AgentCLIs.
func (d *Daemon) AgentCLIs(ctx context.Context) ([]cli.AgentCLI, error) {
	rows, err := d.config.Machine().List(ctx, agentcli.Builtin())
	out := make([]cli.AgentCLI, len(rows))
	for i, row := range rows {
		out[i] = cli.AgentCLI(row)
	}
	return out, err
}

// Unasked implements cli.AgentCLIs.
func (d *Daemon) Unasked(ctx context.Context, root string) (string, error) {
	return d.config.Unasked(ctx, root)
}

// RefusedModes implements cli.AgentCLIs.
func (d *Daemon) RefusedModes(ctx context.Context, root string) ([]string, error) {
	return d.config.RefusedModes(ctx, root)
}
