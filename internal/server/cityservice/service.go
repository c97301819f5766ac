// Package cityservice implements the city that the control API serves: the controller together with
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

// Options are the dependencies of a [Service]. All fields are required.
type Options struct {
	Root       string
	Controller *controller.Controller
	Engines    *Engines
	Store      *store.DB
	Decisions  *metric.Histogram // duration of decisions about tool calls
	// Preview resolves another configuration in place of the city's own. It also returns, by name,
	// why runtime providers of that configuration cannot be opened.
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

// Logs implements controlapi.Recorder. It reads the log file of the session, which stays after the
// session is gone.
func (f Service) Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	session, err := f.Session(ctx, target)
	if err != nil {
		return err
	}
	path := filepath.Join(f.opts.Root, citydir.StateFolder, citydir.LogFolder, session.Session+".log")
	err = rawlog.Copy(ctx, w, path, rawlog.Query(q))
	if errors.Is(err, fs.ErrNotExist) {
		return f.screenAsLog(ctx, target, q, w)
	}
	return err
}

// screenAsLog writes what a session shows now. It is used if the session's provider writes no log
// file.
func (f Service) screenAsLog(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	shown, err := f.Peek(ctx, target, 0)
	switch {
	case err != nil || strings.TrimSpace(shown.Text) == "":
		return fmt.Errorf("%w: %s has printed nothing yet", client.ErrNotFound, target)
	case !q.Since.IsZero() || !q.Until.IsZero():
		return fmt.Errorf("%w: the runtime provider of %s does not record output with times; see the present output with: gc peek %s", client.ErrUnsupported, target, target)
	}
	_, err = io.WriteString(w, strings.TrimRight(shown.Text, "\n")+"\n")
	return err
}
