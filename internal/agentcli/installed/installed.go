// Package installed finds the agent CLIs that are installed on this machine, and asks their programs
// for their versions and help texts.
package installed

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
	"gascity/internal/proc/programpath"
)

// The states of a [CLI].
const (
	StateMissing  = "not installed"
	StateFound    = "found"    // a version that gc was tested with
	StateUntested = "untested" // found, and gc was not tested with its version
)

// CLI is an agent CLI that gc knows.
type CLI struct {
	Name    string // of its profile
	Command string // its program
	File    string // where the program is
	Version string // what the program prints; empty if it prints none
	Tested  string // the versions that gc was tested with; empty if none was
	State   string
	Mode    string // the permission mode in which it asks a person
	Modes   []string
}

// Machine is where programs are searched for.
type Machine struct {
	Finder *programpath.Finder
	Env    []string // the environment of the programs that are run
	PATH   string
}

// versionLimit bounds how long an agent CLI may take to print its version.
const versionLimit = 10 * time.Second

// List lists the agent CLIs of the profiles, with what is installed on this machine. Each
// installed program is asked for its version.
func (m Machine) List(ctx context.Context, profiles *agentcli.Set) ([]CLI, error) {
	var out []CLI
	for _, name := range profiles.Names() {
		if p, _ := profiles.Lookup(name); p.Command != "" {
			out = append(out, CLI{
				Name: name, Command: p.Command, Tested: p.TestedRange(), State: StateMissing, Mode: p.AskingMode,
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
			row.File, row.Version, row.State = found.File, m.versionOf(ctx, found), StateUntested
			if p.TestedVersion(row.Version) {
				row.State = StateFound
			}
		})
	}
	all.Wait()
	return out, ctx.Err()
}

// Names returns the agent CLIs of the profiles whose programs are found.
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

// versionOf asks a program for its version; empty if it does not print one.
func (m Machine) versionOf(ctx context.Context, found programpath.Found) string {
	limited, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, found.File, "--version")
	cmd.Env = append(slices.Clone(m.Env), "PATH="+found.PATH)
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
