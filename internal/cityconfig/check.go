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

// ShowConfig returns the resolved configuration with the origin of each value.
func (l *Loader) ShowConfig(ctx context.Context, root string) (client.Config, error) {
	r, err := l.Load(ctx, root)
	if err != nil {
		return client.Config{}, ExplainMissing(root, err)
	}
	return l.Show(r.City)
}

// Fault is a mistake in a configuration, or a warning about it.
type Fault struct {
	File    string
	Line    int // from 1; zero if it concerns the whole file
	Column  int // in characters, from 1
	Message string
	Excerpt string // the line and a caret below it
	Hint    string
	Alone   bool // it keeps one agent from running, and no other
	Warning bool
}

// CheckConfig returns every mistake in the configuration.
func (l *Loader) CheckConfig(ctx context.Context, root string) ([]Fault, error) {
	r, err := l.Load(ctx, root)
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
	var faults []Fault
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
		if slices.ContainsFunc(errs, func(told *config.Error) bool { return e.Line > 0 && told.Line == e.Line && told.Column == e.Column }) {
			continue // the mistake at the same place says it
		}
		faults = append(faults, faultOf(e))
		faults[len(faults)-1].Warning = true
	}
	return faults, nil
}

func faultOf(e *config.Error) Fault {
	return Fault{File: e.File, Line: e.Line, Column: e.Column, Message: e.Message, Hint: e.Hint, Excerpt: excerpt(e)}
}

// unusable returns the places of agents that exist and cannot be used, such as a script that is not
// there: it may come later, and until then nothing of its agents can be done.
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

// excerpt returns the line and the caret below it.
func excerpt(e *config.Error) string {
	if e.Line == 0 || e.Source == "" {
		return ""
	}
	return e.Source + "\n" + e.Caret()
}

// ExplainMissing distinguishes a folder that is no city from a configuration that
// cannot be read.
func ExplainMissing(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s; make one with: gc init", client.ErrNotFound, filepath.Join(root, client.CityFile))
	}
	return err
}

// Prime returns the sections of an agent's startup context, see
// [agentcontext.Parts.Sections].
func (l *Loader) Prime(ctx context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error) {
	r, err := l.Load(ctx, root)
	if err != nil {
		return nil, ExplainMissing(root, err)
	}
	for i := range r.Desired.Sessions {
		if s := &r.Desired.Sessions[i]; s.Agent == agent || s.Name == agent {
			return s.Primer.Sections(mode), nil
		}
	}
	return nil, fmt.Errorf("%w: no agent is called %q; gc status lists them", client.ErrNotFound, agent)
}

// CheckNotEmpty refuses a file without a word in a city that has had a controller: an editor
// or a full disk leaves one behind, and no person ends a fleet that way.
func CheckNotEmpty(city *config.City) error {
	if city.Blank() && citydir.HasRunBefore(city.Root) {
		return config.Join([]*config.Error{{
			File: city.Path, Line: 1, Column: 1, Message: "the file is empty",
			Hint: "put back what was there, or write [workspace] alone for a city without agents",
		}})
	}
	return nil
}
