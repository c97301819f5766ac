package app

import (
	"context"

	"gascity/internal/agentcli"
	"gascity/internal/agentcli/installed"
	"gascity/internal/cli"
)

// AgentCLIs implements cli.AgentCLIs.
func (d *Daemon) AgentCLIs(ctx context.Context) ([]cli.AgentCLI, error) {
	machine := installed.Machine{Finder: d.finder, Env: d.env.base(agentcli.Builtin()), PATH: d.env.get("PATH")}
	rows, err := machine.List(ctx, agentcli.Builtin())
	out := make([]cli.AgentCLI, len(rows))
	for i, row := range rows {
		out[i] = cli.AgentCLI(row)
	}
	return out, err
}
