package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/fsutil/logfile"
	"gascity/internal/guard"
	"gascity/internal/guard/policy"
	"gascity/internal/redact"
)

const (
	guardFile = "guard.jsonl" // log of tool calls, in the log directory
	guardSize = 8 << 20       // maximum size of one file; logfile.Kept older files are kept
)

// openGuard creates the guard without rules, which denies everything. It returns the log file of
// tool calls.
func (k *controllerProcess) openGuard() (*logfile.File, error) {
	file, err := logfile.Open(filepath.Join(k.root, citydir.StateFolder, citydir.LogFolder, guardFile), guardSize)
	if err == nil {
		k.judge = policy.NewEvaluator(policy.Options{Record: redact.Writer{Redactor: k.secrets, To: file}, Conceal: k.secrets.Text, Logger: k.logger, Now: k.daemon.opts.Now, Fault: func() error { return k.store.Load().Fault() }})
	}
	return file, err
}

// Guard returns the guard rules of the city.toml on disk, extended by the named rule sets or files.
func (d *Daemon) Guard(ctx context.Context, root string, more []string) (cli.Guarding, error) {
	r, err := d.config.Load(ctx, root)
	if err != nil {
		return cli.Guarding{}, cityconfig.ExplainMissing(root, err)
	}
	out := cli.Guarding{Policy: r.Rules.Policy(), On: r.Rules.Guarded(), AskTimeout: r.Rules.AskTimeout(), Agent: func(name string) (guard.Request, error) {
		req, known := r.Rules.Request(name)
		if !known {
			return req, fmt.Errorf("%w: no agent is called %q; %s", client.ErrNotFound, name, config.Suggest(name, slices.Values(r.Rules.Agents())))
		}
		return req, nil
	}}
	if len(more) == 0 {
		return out, nil
	}
	out.On = true
	out.Policy, err = r.Rules.With(more, cityconfig.ReadNamed)
	switch {
	case errors.Is(err, policy.ErrNoSet):
		err = fmt.Errorf("%w: %w", client.ErrNotFound, err)
	case err != nil:
		err = fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return out, err
}

// GuardCalls returns the logged tool calls since a time, oldest first.
func (d *Daemon) GuardCalls(_ context.Context, root string, since time.Time) ([]guard.Call, error) {
	return policy.ReadLog(filepath.Join(root, citydir.StateFolder, citydir.LogFolder, guardFile), since)
}

// enforce applies the configured reaction to an instance that ran a denied tool call. If the
// instance cannot be suspended, enforce kills it.
func (k *controllerProcess) enforce(ctx context.Context, name, instance, reason string, act guard.Bypass) error {
	c := k.controller.Load()
	if c == nil {
		return errNoCity
	}
	req := client.LifecycleRequest{Instance: instance, Reason: reason}
	if act == guard.BypassInterrupt {
		_, err := c.Interrupt(ctx, name, req)
		return err
	}
	_, err := c.Suspend(ctx, name, req)
	if err != nil {
		req.Force = true
		_, killed := c.Kill(ctx, name, req)
		err = errors.Join(err, killed)
	}
	return err
}
