package app

import (
	"context"

	"gascity/internal/agentcli"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
)

// The methods of cli.Configs, cli.Starters and cli.AgentCLIs.
var (
	_ cli.Configs   = (*Daemon)(nil)
	_ cli.Starters  = (*Daemon)(nil)
	_ cli.AgentCLIs = (*Daemon)(nil)
)

// ConfigSchema returns the JSON schema of city.toml. It implements cli.Configs.
func (d *Daemon) ConfigSchema() ([]byte, error) { return config.Schema(), nil }

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
func (d *Daemon) AgentCLIs(ctx context.Context) ([]agentcli.InstalledCLI, error) {
	return d.Machine().List(ctx, agentcli.Builtin())
}
