package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	guardFile = "guard.jsonl" // the calls of tools, in logFolder
	guardSize = 8 << 20       // of one file; there are logfile.Kept more
)

// openJudge makes a judge without rules, which denies everything, and returns the file of
// the calls that it decides about.
func (k *controllerProcess) openJudge() (*logfile.File, error) {
	file, err := logfile.Open(filepath.Join(k.root, citydir.StateFolder, citydir.LogFolder, guardFile), guardSize)
	if err == nil {
		k.judge = policy.NewEvaluator(policy.Options{Record: redact.Writer{Redactor: k.secrets, To: file}, Conceal: k.secrets.Text, Logger: k.logger, Now: k.daemon.opts.Now, Fault: func() error { return k.store.Load().Fault() }})
	}
	return file, err
}

// Guard returns the rules of the city.toml on disk, with more rule sets or files.
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

// GuardCalls returns the calls that are kept, the oldest first.
func (d *Daemon) GuardCalls(_ context.Context, root string, since time.Time) ([]guard.Call, error) {
	name := filepath.Join(root, citydir.StateFolder, citydir.LogFolder, guardFile)
	var calls []guard.Call
	for i := logfile.Kept; i >= 0; i-- {
		file := name
		if i > 0 {
			file = fmt.Sprintf("%s.%d", name, i)
		}
		more, err := readCalls(file, since)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read the calls that were kept: %w", err)
		}
		calls = append(calls, more...)
	}
	return calls, nil
}

func readCalls(name string, since time.Time) (calls []guard.Call, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return policy.ReadCalls(file, since)
}
