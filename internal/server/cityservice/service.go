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

	"gascity/client"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/controller"
	"gascity/internal/domain/plan"
	"gascity/internal/fsutil"
	"gascity/internal/guard"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/changes"
	"gascity/internal/service/terminals"
	"gascity/internal/telemetry"
)

// Options are the dependencies of a [Service]. All fields are required.
type Options struct {
	Root       string
	Controller *controller.Controller
	Engines    *Engines
	Decisions  *telemetry.Histogram // duration of decisions about tool calls
	Terminals  *terminals.Service
	Web        controlapi.WebConsole
	Changes    *changes.Service
	// IsHere reports whether all sessions of a runtime provider are on this machine.
	IsHere func(selection string) bool
	// Transcripts reads the conversations of agents.
	Transcripts *Transcripts
	Editor      *cityconfig.Editor
	Guard       *guard.Evaluator
	GuardLog    string // path of the log of the guard's decisions
	// Doctor makes all checks of the city and its machine, and reports each finding.
	Doctor func(ctx context.Context, report func(client.Finding)) error
	// Bundle writes a support bundle without credentials.
	Bundle func(ctx context.Context, w io.Writer) error
	// Conceal removes secrets from a text.
	Conceal func(string) string
	// Preview resolves another configuration in place of the city's own. It also returns, by name,
	// why runtime providers of that configuration cannot be opened.
	Preview func(ctx context.Context, req client.PreviewRequest) (plan.Desired, map[string]string, error)
}

// Service implements controlapi.City: with the controller, the engines, and
// the methods of this package, which combine them. Its results may contain secrets; the server masks
// them when it encodes them.
type Service struct {
	*controller.Controller
	controlapi.Prompts
	controlapi.Queueing
	controlapi.Conditions
	controlapi.Spending
	controlapi.EventFinder
	controlapi.WebConsole
	controlapi.Notifier

	opts    Options
	doctors chan struct{} // one element while an examination runs
	copies  chan struct{} // one element for each file that is sent
}

// New returns the service of a city.
func New(opts Options) Service {
	e := opts.Engines
	return Service{
		Controller: opts.Controller, Prompts: e.Prompts, Queueing: e.Prompts, Conditions: e.Waits, Spending: e.Budgets, EventFinder: e.Events,
		WebConsole: opts.Web, Notifier: e.Notify, opts: opts, doctors: make(chan struct{}, 1), copies: make(chan struct{}, maxCopies),
	}
}

var _ controlapi.City = Service{}

// Preview returns what the controller would do with another configuration. It implements
// controlapi.ConfigEditor.
func (f Service) Preview(ctx context.Context, req client.PreviewRequest) (client.Plan, error) {
	desired, unavailable, err := f.opts.Preview(ctx, req)
	if err != nil {
		return client.Plan{}, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return f.opts.Controller.Preview(ctx, desired, unavailable)
}

// Logs writes the recorded output of a session to w, also after the session has stopped. If its
// runtime provider records none, it writes what the session shows now. It implements
// controlapi.Files.
func (f Service) Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	session, err := f.Session(ctx, target)
	if err != nil {
		return err
	}
	path := filepath.Join(f.opts.Root, citydir.StateFolder, citydir.LogFolder, session.Session+".log")
	err = fsutil.CopyRawLog(ctx, w, path, fsutil.RawLogQuery(q))
	if errors.Is(err, fs.ErrNotExist) {
		return f.screenAsLog(ctx, target, q, w)
	}
	return err
}

// screenAsLog writes what a session shows now to w, in place of a log file, which its runtime
// provider does not write.
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
