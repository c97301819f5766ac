// Package pty is the driver that runs each agent in an embedded terminal. A shim process owns the
// terminal, stores screen and scrollback, and continues to run without the controller. Nothing
// needs to be installed.
package pty

import (
	"context"
	"time"

	"gascity/internal/driver"
	"gascity/internal/driver/shimdriver"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// Config configures the driver; see [shimdriver.Options].
type Config = shimdriver.Options

// Provider runs agents in embedded terminals. It is safe for concurrent use. Several Providers may
// use one directory, in one process or in many.
type Provider struct {
	*shimdriver.Sessions
	driver.Terminals[shimdriver.Live]
}

var (
	_ runtime.Provider                    = (*Provider)(nil)
	_ runtime.Observer                    = (*Provider)(nil)
	_ runtime.Watcher                     = (*Provider)(nil)
	_ runtime.Deliverer                   = (*Provider)(nil)
	_ runtime.Recoverer                   = (*Provider)(nil)
	_ runtime.Fencer                      = (*Provider)(nil)
	_ runtime.Attacher                    = (*Provider)(nil)
	_ runtime.IdleWaitProvider            = (*Provider)(nil)
	_ runtime.DialogProvider              = (*Provider)(nil)
	_ runtime.ImmediateNudgeProvider      = (*Provider)(nil)
	_ runtime.RelaunchProvider            = (*Provider)(nil)
	_ runtime.ProcessTableScanner         = (*Provider)(nil)
	_ runtime.TransportCapabilityProvider = (*Provider)(nil)
	_ runtime.Sensor                      = (*Provider)(nil)
	_ runtime.Withdrawer                  = (*Provider)(nil)
	_ runtime.Settler                     = (*Provider)(nil)
	_ runtime.InteractionProvider         = (*Provider)(nil)
	_ runtime.InputClearer                = (*Provider)(nil)
)

// Open opens the sessions below cfg.Dir. It starts no process.
func Open(cfg Config) (*Provider, error) {
	sessions, err := shimdriver.OpenTerminals(cfg)
	if err != nil {
		return nil, err
	}
	return &Provider{sessions, driver.TerminalsOf(sessions.Local)}, nil
}

// SendKeys implements runtime.Input.
func (p *Provider) SendKeys(name string, keys ...string) error {
	for _, key := range keys {
		if _, err := vt.Key(key, vt.Modes{}); err != nil {
			return &runtime.Error{Op: "send keys to", Session: name, Err: err}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	err := p.Drive(ctx, "send keys to", name, nil, func(l shimdriver.Live) error { return l.Client.Keys(ctx, keys) })
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}
