package app

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
	"gascity/internal/fsutil/rawlog"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/budgets"
	"gascity/internal/store"
)

// cityService is the city with the extensions that need more than the controller: what
// its sessions printed, its events by their time, and other configurations.
type cityService struct {
	controlapi.City
	process    *controllerProcess
	controller *controller.Controller
	events     *store.DB
	spending   *budgets.Engine
}

var (
	_ controlapi.Recorder    = cityService{}
	_ controlapi.EventFinder = cityService{}
	_ controlapi.Previewer   = cityService{}
)

// Since keeps the contract of controlapi.EventFinder.
func (f cityService) Since(_ context.Context, t time.Time) (uint64, error) { return f.events.Since(t) }

// Preview keeps the contract of controlapi.Previewer.
func (f cityService) Preview(ctx context.Context, req client.PreviewRequest) (client.Plan, error) {
	desired, err := f.process.daemon.config.Preview(f.process.root, req)
	if err != nil {
		return client.Plan{}, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return f.controller.Preview(ctx, desired, f.process.daemon.config.Unavailable(ctx, f.process.section(), f.process.root, &desired))
}

// Logs keeps the contract of controlapi.Recorder. The drivers keep what was printed in
// the city's log folder, and it stays when they are gone.
func (f cityService) Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	session, err := f.Session(ctx, target)
	if err != nil {
		return err
	}
	path := filepath.Join(f.process.root, citydir.StateFolder, citydir.LogFolder, session.Session+".log")
	err = rawlog.Copy(ctx, w, path, rawlog.Query(q))
	if errors.Is(err, fs.ErrNotExist) {
		return f.unlogged(ctx, target, q, w)
	}
	return err
}

// unlogged is Logs of a session whose place keeps no record here: what it still shows.
func (f cityService) unlogged(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
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
