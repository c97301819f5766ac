package cityconfig

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/proc"
)

// Machine says how to search this machine for programs.
type Machine struct {
	Finder *proc.ProgramFinder
	Env    []string // the environment of the programs that are run
	PATH   string
}

// versionLimit is the maximum time for an agent CLI to print its version.
const versionLimit = 10 * time.Second

// List returns every agent CLI that has a profile. For an installed one it includes the file and
// the version, for which it runs the program.
func (m Machine) List(ctx context.Context, profiles *agentcli.Set) ([]agentcli.InstalledCLI, error) {
	var out []agentcli.InstalledCLI
	for _, name := range profiles.Names() {
		if p, _ := profiles.Lookup(name); p.Command != "" {
			out = append(out, agentcli.InstalledCLI{
				Name: name, Command: p.Command, Tested: p.TestedRange(), State: agentcli.CLIMissing, Mode: p.AskingMode,
				Modes: append([]string{}, slices.Sorted(maps.Keys(p.PermissionModes))...),
			})
		}
	}
	var all sync.WaitGroup
	for i := range out {
		row := &out[i]
		all.Go(func() {
			found, err := m.Finder.Find(ctx, row.Command, "", m.PATH)
			if err != nil {
				return
			}
			p, _ := profiles.Lookup(row.Name)
			row.File, row.Version, row.State = found.File, m.versionOf(ctx, found), agentcli.CLIUntested
			if p.TestedVersion(row.Version) {
				row.State = agentcli.CLIFound
			}
		})
	}
	all.Wait()
	return out, ctx.Err()
}

// Names returns the names of the agent CLIs that are installed. It does not run them.
func (m Machine) Names(ctx context.Context, profiles *agentcli.Set) []string {
	var names []string
	for _, name := range profiles.Names() {
		profile, err := profiles.Get(name)
		if err != nil || profile.Command == "" {
			continue
		}
		if _, err := m.Finder.Find(ctx, profile.Command, "", m.PATH); err == nil {
			names = append(names, name)
		}
	}
	return names
}

var versionNumber = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)+`)

// versionOf runs a program with --version and returns the version number in its output; empty if
// there is none.
func (m Machine) versionOf(ctx context.Context, found proc.FoundProgram) string {
	limited, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	return versionNumber.FindString(strings.TrimSpace(programOutput(limited, found.File, "--version", m.Env, found.PATH)))
}
