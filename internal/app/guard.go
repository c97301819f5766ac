package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"gascity/client"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/fsutil"
	"gascity/internal/guard"
	"gascity/internal/redact"
)

const (
	guardFile = "guard.jsonl" // log of tool calls, in the log directory
	guardSize = 8 << 20       // maximum size of one file; fsutil.KeptLogs older files are kept
)

// openGuard creates the guard, which denies every call until it gets rules. It returns the file to
// which the guard writes the calls of tools.
func (k *controllerProcess) openGuard() (*fsutil.LogFile, error) {
	file, err := fsutil.OpenLog(guardLog(k.root), guardSize)
	if err == nil {
		k.judge = guard.NewEvaluator(guard.EvaluatorOptions{Record: redact.Writer{Redactor: k.secrets, To: file}, Conceal: k.secrets.Text, Logger: k.logger, Now: k.daemon.opts.Now, Fault: k.store.Fault})
	}
	return file, err
}

// guardLog returns the path of the log of tool calls of the city in root.
func guardLog(root string) string {
	return filepath.Join(root, citydir.StateFolder, citydir.LogFolder, guardFile)
}

// Guard returns the guard rules of the city.toml on disk, extended by the named rule sets or files.
func (d *Daemon) Guard(ctx context.Context, root string, more []string) (cli.Guarding, error) {
	r, err := d.Load(ctx, root)
	if err != nil {
		return cli.Guarding{}, cityconfig.ExplainMissing(root, err)
	}
	out := cli.Guarding{Policy: r.Rules.Policy(), On: r.Rules.Guarded(), AskTimeout: r.Rules.AskTimeout(), Agent: r.Rules.AgentRequest}
	if len(more) == 0 {
		return out, nil
	}
	out.On = true
	out.Policy, err = r.Rules.With(more, cityconfig.ReadNamed)
	switch {
	case errors.Is(err, guard.ErrNoSet):
		err = fmt.Errorf("%w: %w", client.ErrNotFound, err)
	case err != nil:
		err = fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return out, err
}

// GuardCalls returns the logged tool calls since a time, oldest first.
func (d *Daemon) GuardCalls(_ context.Context, root string, since time.Time) ([]guard.Call, error) {
	return guard.ReadAuditLog(guardLog(root), since)
}

// enforce interrupts or stops an instance that ran a tool call although it was denied, as act says.
// If the instance cannot be suspended, enforce kills it.
func (k *controllerProcess) enforce(ctx context.Context, name, instance, reason string, act guard.Bypass) error {
	c, req := k.controller.Load(), client.LifecycleRequest{Instance: instance, Reason: reason}
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
