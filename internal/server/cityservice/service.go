// Package cityservice implements what the control API serves of a city: the controller together with
// the engines of prompts, questions, conditions, workers, budgets and credentials.
package cityservice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/controller"
	"gascity/internal/domain/plan"
	"gascity/internal/fsutil/rawlog"
	"gascity/internal/server/controlapi"
	"gascity/internal/store"
	"gascity/internal/telemetry/metric"
)

// Options are what a [Service] works on. All fields are required.
type Options struct {
	Root       string
	Controller *controller.Controller
	Engines    *Engines
	Store      *store.DB
	Decisions  *metric.Histogram // how long decisions about tools take
	// Preview resolves another configuration as if it were the city's own, and returns why
	// runtime providers that it names cannot be opened.
	Preview func(ctx context.Context, req client.PreviewRequest) (plan.Desired, map[string]string, error)
}

// Service implements controlapi.City with all its extensions.
type Service struct {
	controlapi.City

	opts Options
}

// New returns the service of a city.
func New(opts Options) Service {
	e := opts.Engines
	return Service{baseCity{Controller: opts.Controller, Prompts: e.Prompts, Questions: e.Questions, Conditions: e.Waits, engines: e}, opts}
}

var (
	_ controlapi.Recorder    = Service{}
	_ controlapi.EventFinder = Service{}
	_ controlapi.Previewer   = Service{}
)

// Since implements controlapi.EventFinder.
func (f Service) Since(_ context.Context, t time.Time) (uint64, error) { return f.opts.Store.Since(t) }

// Preview implements controlapi.Previewer.
func (f Service) Preview(ctx context.Context, req client.PreviewRequest) (client.Plan, error) {
	desired, unavailable, err := f.opts.Preview(ctx, req)
	if err != nil {
		return client.Plan{}, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return f.opts.Controller.Preview(ctx, desired, unavailable)
}

// Logs implements controlapi.Recorder. The drivers keep what was printed in
// the city's log folder, and it stays when they are gone.
func (f Service) Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	session, err := f.Session(ctx, target)
	if err != nil {
		return err
	}
	path := filepath.Join(f.opts.Root, citydir.StateFolder, citydir.LogFolder, session.Session+".log")
	err = rawlog.Copy(ctx, w, path, rawlog.Query(q))
	if errors.Is(err, fs.ErrNotExist) {
		return f.unlogged(ctx, target, q, w)
	}
	return err
}

// unlogged is Logs of a session whose place keeps no record here: what it still shows.
func (f Service) unlogged(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	shown, err := f.Peek(ctx, target, 0)
	switch {
	case err != nil || strings.TrimSpace(shown.Text) == "":
		return fmt.Errorf("%w: %s has printed nothing yet", client.ErrNotFound, target)
	case !q.Since.IsZero() || !q.Until.IsZero():
		return fmt.Errorf("%w: the place of %s keeps no record of when it printed what; see what it shows with: gc peek %s", client.ErrUnsupported, target, target)
	}
	_, err = io.WriteString(w, strings.TrimRight(shown.Text, "\n")+"\n")
	return err
}
