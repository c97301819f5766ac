package cityconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/config"
	"gascity/provider/all"
	"gascity/worker"
)

// ShowConfig returns each value of the city's configuration, and where it comes from. An invalid
// configuration is an error.
func (l *Loader) ShowConfig(ctx context.Context, root string) (client.Config, error) {
	r, err := l.Load(ctx, root)
	if err != nil {
		return client.Config{}, ExplainMissing(root, err)
	}
	return l.Show(r.City)
}

// CheckConfig returns every mistake in the city's configuration. The result is empty if there is
// none. The error is not nil only if gc cannot read the configuration at all.
func (l *Loader) CheckConfig(ctx context.Context, root string) ([]client.ConfigFault, error) {
	r, err := l.Load(ctx, root)
	return l.faults(ctx, root, r, err)
}

// faults returns every mistake in a configuration. r and err are the results of loading it.
func (l *Loader) faults(ctx context.Context, root string, r Loaded, err error) ([]client.ConfigFault, error) {
	alone := err == nil
	if alone {
		err = config.Join(append(r.City.Faults, l.unusable(root, r.City)...))
	}
	var errs config.Errors
	if err != nil {
		var ok bool
		if errs, ok = config.AsErrors(err); !ok {
			return nil, ExplainMissing(root, err)
		}
	}
	var faults []client.ConfigFault
	if alone {
		if empty, ok := config.AsErrors(CheckNotEmpty(r.City)); ok {
			faults = append(faults, faultOf(empty[0]))
		}
	}
	for _, e := range errs {
		faults = append(faults, faultOf(e))
		faults[len(faults)-1].Alone = alone
	}
	for _, e := range slices.Concat(r.Remarks, l.ModeRemarks(ctx, r.City)) {
		if slices.ContainsFunc(errs, func(reported *config.Error) bool {
			return e.Line > 0 && reported.Line == e.Line && reported.Column == e.Column
		}) {
			continue // an error at the same position is already reported
		}
		faults = append(faults, faultOf(e))
		faults[len(faults)-1].Warning = true
	}
	return faults, nil
}

// faultOf returns a mistake in the form of the control API.
func faultOf(e *config.Error) client.ConfigFault {
	return client.ConfigFault{File: e.File, Line: e.Line, Column: e.Column, Message: e.Message, Hint: e.Hint, Excerpt: excerpt(e)}
}

// unusable returns a mistake for each runtime provider of the configuration that gc knows and that
// cannot be used at this time, for example a script whose file is missing.
func (l *Loader) unusable(root string, city *config.City) []*config.Error {
	var faults []*config.Error
	seen, cfg := map[string]bool{}, l.ProviderConfig(root, root, nil)
	for i := range city.Agents {
		selection, origin, err := city.RuntimeFor(&city.Agents[i], l.Environ.RuntimeOverride(), l.catalog())
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

// excerpt returns the source line of an error with a caret below it; empty if there is none.
func excerpt(e *config.Error) string {
	if e.Line == 0 || e.Source == "" {
		return ""
	}
	return e.Source + "\n" + e.Caret()
}

// ExplainMissing returns an error that says how to create city.toml if err means that the file does
// not exist, and otherwise err itself.
func ExplainMissing(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s; make one with: gc init", client.ErrNotFound, filepath.Join(root, client.CityFile))
	}
	return err
}

// Prime returns the sections of the context that an agent gets at its start, see
// [plan.ContextParts.Sections].
func (l *Loader) Prime(ctx context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error) {
	r, err := l.Load(ctx, root)
	if err != nil {
		return nil, ExplainMissing(root, err)
	}
	var names []string
	for _, s := range r.Desired.Sessions {
		if s.Agent == agent || s.Name == agent {
			return s.Primer.Sections(mode), nil
		}
		names = append(names, s.Agent)
	}
	hint := cmp.Or(config.Suggest(agent, slices.Values(slices.Compact(names))), "gc status lists them")
	return nil, fmt.Errorf("%w: no agent is called %q; %s", client.ErrNotFound, agent, hint)
}

// CheckNotEmpty returns an error if city.toml is empty and a controller has already run in this
// city. An editor or a full disk can leave an empty file behind; without this error, gc would stop
// every agent.
func CheckNotEmpty(city *config.City) error {
	if city.Blank() && citydir.HasRunBefore(city.Root) {
		return config.Join([]*config.Error{{
			File: city.Path, Line: 1, Column: 1, Message: "the file is empty",
			Hint: "restore its content, or write only [workspace] for a city without agents",
		}})
	}
	return nil
}
