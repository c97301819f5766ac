package app

import (
	"context"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/cli"
	"gascity/internal/proc/programpath"
)

// versionLimit bounds how long an agent CLI may take to print its version.
const versionLimit = 10 * time.Second

// AgentCLIs lists the agent CLIs that gc knows, with what is installed on this machine. Each
// installed program is asked for its version.
func (d *Daemon) AgentCLIs(ctx context.Context) ([]cli.AgentCLI, error) {
	profiles := agentcli.Builtin()
	var out []cli.AgentCLI
	for _, name := range profiles.Names() {
		if p, _ := profiles.Lookup(name); p.Command != "" {
			out = append(out, cli.AgentCLI{
				Name: name, Command: p.Command, Tested: p.TestedRange(), State: cli.CLIMissing, Mode: p.AskingMode,
				Modes: append([]string{}, slices.Sorted(maps.Keys(p.PermissionModes))...),
			})
		}
	}
	var all sync.WaitGroup
	for i := range out {
		row := &out[i]
		all.Go(func() {
			found, err := d.finder.Find(ctx, row.Command, "", d.env.get("PATH"))
			if err != nil {
				return
			}
			p, _ := profiles.Lookup(row.Name)
			row.File, row.Version, row.State = found.File, d.versionOf(ctx, found), cli.CLIUntested
			if p.TestedVersion(row.Version) {
				row.State = cli.CLIFound
			}
		})
	}
	all.Wait()
	return out, ctx.Err()
}

var versionNumber = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)+`)

// versionOf asks a program for its version; empty if it does not say.
func (d *Daemon) versionOf(ctx context.Context, found programpath.Found) string {
	limited, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, found.File, "--version")
	cmd.Env = append(d.env.base(agentcli.Builtin()), "PATH="+found.PATH)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return versionNumber.FindString(strings.TrimSpace(string(out)))
}
