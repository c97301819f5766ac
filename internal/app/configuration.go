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

// ShowConfig returns the city's configuration with the source of each value. It implements
// cli.Configs.
func (d *Daemon) ShowConfig(ctx context.Context, root string) (client.Config, error) {
	return d.config.ShowConfig(ctx, root)
}

// CheckConfig returns the mistakes in the city's configuration. It implements cli.Configs.
func (d *Daemon) CheckConfig(ctx context.Context, root string) ([]client.ConfigFault, error) {
	return d.config.CheckConfig(ctx, root)
}

// ConfigSchema returns the JSON schema of city.toml. It implements cli.Configs.
func (d *Daemon) ConfigSchema() ([]byte, error) { return config.Schema(), nil }

// Prime returns the sections of an agent's startup context. It implements cli.Configs.
func (d *Daemon) Prime(ctx context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error) {
	return d.config.Prime(ctx, root, agent, mode)
}

// StarterConfig returns the text of a first city.toml with the given agent CLIs. It implements
// cli.Starters.
func (d *Daemon) StarterConfig(_ context.Context, city string, providers []string) ([]byte, error) {
	return cityconfig.Starter(city, providers)
}

// IgnoreState makes git ignore the state directory of a city inside a repository, and returns the
// path of the changed file. It implements cli.Starters.
func (d *Daemon) IgnoreState(root string) (string, error) { return citydir.IgnoreState(root) }

// AgentCLIs returns the agent CLIs that gc knows, with what is installed on this machine. It
// implements cli.AgentCLIs.
func (d *Daemon) AgentCLIs(ctx context.Context) ([]cli.AgentCLI, error) {
	rows, err := d.config.Machine().List(ctx, agentcli.Builtin())
	out := make([]cli.AgentCLI, len(rows))
	for i, row := range rows {
		out[i] = cli.AgentCLI(row)
	}
	return out, err
}

// Unasked returns a warning about agents that use tools without asking; empty if there are none. It
// implements cli.AgentCLIs.
func (d *Daemon) Unasked(ctx context.Context, root string) (string, error) {
	return d.config.Unasked(ctx, root)
}

// RefusedModes returns a line for each agent whose installed agent CLI does not accept its
// permission mode. It implements cli.AgentCLIs.
func (d *Daemon) RefusedModes(ctx context.Context, root string) ([]string, error) {
	return d.config.RefusedModes(ctx, root)
}
