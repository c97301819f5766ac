package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gascity/client"
	"gascity/internal/cli"
	"gascity/internal/redact"
	"gascity/internal/web"
	"gascity/internal/web/ui"
)

var _ cli.StartPages = (*Daemon)(nil)

const (
	// linkLife is how long the link of the start page works.
	linkLife = time.Minute
	// startPageLife is how long the start page waits for a city.
	startPageLife = time.Hour
)

// discardedEvents is the event log of the start page, which no city has.
type discardedEvents struct{}

// Append does nothing and returns the event unchanged, because the start page has no city. It
// implements web.EventLog.
func (discardedEvents) Append(_ context.Context, e client.Event) (client.Event, error) { return e, nil }

// ServeStartPage implements cli.StartPages. Its state is in a private temporary directory.
func (d *Daemon) ServeStartPage(parent context.Context, page cli.StartPage) (err error) {
	dir, err := os.MkdirTemp("", "gc-start-")
	if err != nil {
		return fmt.Errorf("cannot create a directory for the start page: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeoutCause(parent, startPageLife, fmt.Errorf("%w: no city was made within %v; start the page again: gc web --start", client.ErrTimeout, startPageLife))
	defer cancel()
	made, created := context.WithCancel(context.Background()) //nolint:forbidigo // it ends with the page
	defer created()
	id := make([]byte, 6)
	_, _ = rand.Read(id) // it never fails
	secrets := &redact.Redactor{}
	secrets.HideEnvironment(d.Environ)
	server := web.New(web.Options{
		File: filepath.Join(dir, webFile), ID: hex.EncodeToString(id), Version: d.opts.Version, Events: discardedEvents{},
		Log: slog.New(slog.DiscardHandler), Secrets: secrets, Now: d.opts.Now, Files: ui.Files(), Sources: ui.Sources, Start: true,
	})
	defer server.Close()
	server.Begin(ctx, server.StartRoutes(web.StartPage{
		Home: d.Environ.Get("HOME"), Folder: page.Folder, Created: created, AgentCLIs: d.startCLIs,
		Create: func(ctx context.Context, req web.StartRequest) (web.Started, error) {
			out, err := page.Create(ctx, cli.StartRequest(req))
			return web.Started(out), err
		},
	}))
	if _, err := server.StartWeb(ctx, client.WebRequest{Listen: page.Listen, Dev: page.Dev}); err != nil {
		return err
	}
	code, err := server.NewWebCode(ctx, client.WebCodeRequest{Scope: client.ScopeManage})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, linkFile)
	if err := saveLink(file, code.Link); err != nil {
		return err
	}
	if err := page.Ready(code.Link, file); err != nil {
		return err
	}
	return awaitStart(ctx, made, server)
}

// awaitStart returns nil when a city was made on the start page. It returns an error if ctx ends,
// or if no browser opens the page within [linkLife].
func awaitStart(ctx, made context.Context, server *web.Server) error {
	unopened := time.NewTimer(linkLife)
	defer unopened.Stop()
	for {
		select {
		case <-made.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-unopened.C:
			if devices, err := server.WebDevices(ctx); err != nil || len(devices) == 0 {
				return errors.Join(err, fmt.Errorf("%w: the link was not opened within %v; make another one: gc web --start", client.ErrTimeout, linkLife))
			}
		}
	}
}

// startCLIs lists the agent CLIs for the start page.
func (d *Daemon) startCLIs(ctx context.Context) ([]web.StartCLI, error) {
	rows, err := d.AgentCLIs(ctx)
	out := make([]web.StartCLI, 0, len(rows))
	for _, row := range rows {
		out = append(out, web.StartCLI{Name: row.Name, Version: row.Version, Tested: row.Tested, State: row.State})
	}
	return out, err
}
