package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"gascity/client"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/provider/all"
	"gascity/worker"
)

// StarterConfig returns the city.toml of a new city.
func (d *Daemon) StarterConfig(_ context.Context, city string) ([]byte, error) {
	return []byte(config.Template(city)), nil
}

// ConfigSchema returns the JSON Schema of city.toml.
func (d *Daemon) ConfigSchema() ([]byte, error) { return config.Schema(), nil }

// ShowConfig returns the resolved configuration with the origin of each value.
func (d *Daemon) ShowConfig(_ context.Context, root string) (client.Config, error) {
	r, err := d.read(root)
	if err != nil {
		return client.Config{}, missing(root, err)
	}
	return d.shown(r.city)
}

// CheckConfig returns every mistake in the configuration.
func (d *Daemon) CheckConfig(_ context.Context, root string) ([]cli.ConfigFault, error) {
	r, err := d.read(root)
	alone := err == nil
	if alone {
		err = config.Join(append(r.city.Faults, d.unusable(root, r.city)...))
	}
	if err == nil {
		return nil, nil
	}
	errs, ok := config.AsErrors(err)
	if !ok {
		return nil, missing(root, err)
	}
	faults := make([]cli.ConfigFault, len(errs))
	for i, e := range errs {
		faults[i] = cli.ConfigFault{File: e.File, Line: e.Line, Column: e.Column, Message: e.Message, Hint: e.Hint, Excerpt: excerpt(e), Alone: alone}
	}
	return faults, nil
}

// unusable are the places of agents that exist and cannot be used, such as a script that is not
// there: it may come later, and until then nothing of its agents can be done.
func (d *Daemon) unusable(root string, city *config.City) []*config.Error {
	var faults []*config.Error
	seen, cfg := map[string]bool{}, d.providerConfig(root, root, nil)
	for i := range city.Agents {
		selection, origin, err := city.RuntimeFor(&city.Agents[i], d.env.runtimeOverride(), d.known())
		if err != nil || seen[origin.String()+selection] {
			continue // that is told already
		}
		seen[origin.String()+selection] = true
		if err := all.Check(selection, cfg); err != nil {
			fault := city.ErrorAt(origin, "%v", err)
			fault.File = cmp.Or(origin.File, origin.Source)
			if errors.Is(err, fs.ErrNotExist) {
				fault.Hint = "correct the name, or make the file; a path is relative to the city's folder"
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

// missing tells a folder that is no city from a configuration that cannot be
// read.
func missing(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s; make one with: gc init", client.ErrNotFound, filepath.Join(root, client.CityFile))
	}
	return err
}

// Prime returns the sections that tell an agent who and where it is, see
// [primer.Parts.Sections].
func (d *Daemon) Prime(_ context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error) {
	r, err := d.read(root)
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
