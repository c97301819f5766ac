package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/agentcli/hooks"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/provider/all"
	"gascity/worker"
)

// StarterConfig returns the baseCity.toml of a new city with an agent for each of the agent CLIs, in
// the mode in which it asks a person; without one, with a shell.
func (d *Daemon) StarterConfig(_ context.Context, city string, providers []string) ([]byte, error) {
	profiles := agentcli.Builtin()
	starter := config.Starter{City: city}
	for _, name := range providers {
		if _, ok := profiles.Lookup(name); !ok || name == agentcli.Generic {
			return nil, fmt.Errorf("%w: %s", client.ErrNotFound, unknownCLI(name))
		}
		agent := starterAgent(profiles, name)
		if agent.Name = name; len(providers) == 1 {
			agent.Name = "coder"
		}
		starter.Agents = append(starter.Agents, agent)
	}
	for _, name := range profiles.Names() {
		if p, _ := profiles.Lookup(name); p.AskingMode != "" && len(p.Tested) > 0 {
			starter.Example = starterAgent(profiles, name)
			break
		}
	}
	return []byte(config.Template(starter)), nil
}

// starterAgent returns an agent of a new city that runs the agent CLI.
func starterAgent(profiles *agentcli.Set, name string) config.StarterAgent {
	p, _ := profiles.Lookup(name)
	_, hooked := hooks.Lookup(p.Family)
	a := config.StarterAgent{Provider: name, Mode: p.AskingMode, Env: p.AskingEnv, Hooks: hooked && p.SupportsHooks}
	a.Asks = !p.SkipsPermissions(a.Mode, a.Env)
	return a
}

// unknownCLI says that gc does not know an agent CLI, and which it knows.
func unknownCLI(name string) string {
	profiles := agentcli.Builtin()
	words := fmt.Sprintf("there is no agent CLI %q", name)
	if near := profiles.Suggest(name); near != "" {
		words += fmt.Sprintf("; did you mean %q?", near)
	}
	return words + "; known: " + strings.Join(profiles.Names(), ", ")
}

// IgnoreState has git ignore the state of a city inside a repository, and returns the file that
// says so; empty if the city is in no repository.
func (d *Daemon) IgnoreState(root string) (string, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	r, ok, err := citydir.FindRepository(root)
	if err != nil || !ok {
		return "", err
	}
	file, _, err := r.Exclude(root)
	return file, err
}

// ConfigSchema returns the JSON Schema of baseCity.toml.
func (d *Daemon) ConfigSchema() ([]byte, error) { return config.Schema(), nil }

// ShowConfig returns the resolved configuration with the origin of each value.
func (d *Daemon) ShowConfig(ctx context.Context, root string) (client.Config, error) {
	r, err := d.read(ctx, root)
	if err != nil {
		return client.Config{}, missing(root, err)
	}
	return d.shown(r.city)
}

// CheckConfig returns every mistake in the configuration.
func (d *Daemon) CheckConfig(ctx context.Context, root string) ([]cli.ConfigFault, error) {
	r, err := d.read(ctx, root)
	alone := err == nil
	if alone {
		err = config.Join(append(r.city.Faults, d.unusable(root, r.city)...))
	}
	var errs config.Errors
	if err != nil {
		var ok bool
		if errs, ok = config.AsErrors(err); !ok {
			return nil, missing(root, err)
		}
	}
	var faults []cli.ConfigFault
	if alone {
		if empty, ok := config.AsErrors(checkNotEmpty(r.city)); ok {
			faults = append(faults, faultOf(empty[0]))
		}
	}
	for _, e := range errs {
		faults = append(faults, faultOf(e))
		faults[len(faults)-1].Alone = alone
	}
	for _, e := range slices.Concat(r.remarks, d.refusedModes(ctx, r.city)) {
		if slices.ContainsFunc(errs, func(told *config.Error) bool { return e.Line > 0 && told.Line == e.Line && told.Column == e.Column }) {
			continue // the mistake at the same place says it
		}
		faults = append(faults, faultOf(e))
		faults[len(faults)-1].Warning = true
	}
	return faults, nil
}

func faultOf(e *config.Error) cli.ConfigFault {
	return cli.ConfigFault{File: e.File, Line: e.Line, Column: e.Column, Message: e.Message, Hint: e.Hint, Excerpt: excerpt(e)}
}

// unusable are the places of agents that exist and cannot be used, such as a script that is not
// there: it may come later, and until then nothing of its agents can be done.
func (d *Daemon) unusable(root string, city *config.City) []*config.Error {
	var faults []*config.Error
	seen, cfg := map[string]bool{}, d.providerConfig(root, root, nil)
	for i := range city.Agents {
		selection, origin, err := city.RuntimeFor(&city.Agents[i], d.env.runtimeOverride(), d.catalog())
		if err != nil || seen[origin.String()+selection] {
			continue // that is reported already
		}
		seen[origin.String()+selection] = true
		if err := all.Check(selection, cfg); err != nil {
			fault := city.ErrorAt(origin, "%v", err)
			fault.File = cmp.Or(origin.File, origin.Source)
			if errors.Is(err, fs.ErrNotExist) {
				fault.Hint = "correct the name, or make the file; a path is relative to the city directory"
			}
			faults = append(faults, fault)
		}
	}
	return faults
}

// excerpt returns the line and the caret below it.
func excerpt(e *config.Error) string {
	if e.Line == 0 || e.Source == "" {
		return ""
	}
	return e.Source + "\n" + e.Caret()
}

// missing distinguishes a folder that is no city from a configuration that
// cannot be read.
func missing(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s; make one with: gc init", client.ErrNotFound, filepath.Join(root, client.CityFile))
	}
	return err
}

// Prime returns the sections of an agent's startup context, see
// [agentcontext.Parts.Sections].
func (d *Daemon) Prime(ctx context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error) {
	r, err := d.read(ctx, root)
	if err != nil {
		return nil, missing(root, err)
	}
	for i := range r.desired.Sessions {
		if s := &r.desired.Sessions[i]; s.Agent == agent || s.Name == agent {
			return s.Primer.Sections(mode), nil
		}
	}
	return nil, fmt.Errorf("%w: no agent is called %q; gc status lists them", client.ErrNotFound, agent)
}
