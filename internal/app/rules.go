package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/fsutil/logfile"
	"gascity/internal/guard"
	"gascity/internal/guard/policy"
	"gascity/internal/redact"
)

const (
	guardFile = "guard.jsonl" // the calls of tools, in logFolder
	guardSize = 8 << 20       // of one file; there are logfile.Kept more
)

// rules compiles the guard of a configuration.
func (d *Daemon) rules(city *config.City, desired plan.Desired) (*policy.Rules, error) {
	src := policy.Source{City: city, Home: d.env.get("HOME"), Read: readNamed}
	for i := range desired.Sessions {
		s := &desired.Sessions[i]
		src.Agents = append(src.Agents, guard.Request{
			Agent: s.Agent, Role: path.Base(cmp.Or(s.Pool, s.Agent)), Dir: s.Config.WorkDir, Home: cmp.Or(s.Config.Env["HOME"], src.Home),
		})
	}
	return policy.Compile(src)
}

// openJudge makes a judge without rules, which denies everything, and returns the file of
// the calls that it decides about.
func (k *controllerProcess) openJudge() (*logfile.File, error) {
	file, err := logfile.Open(filepath.Join(k.root, citydir.StateFolder, citydir.LogFolder, guardFile), guardSize)
	if err == nil {
		k.judge = policy.NewEvaluator(policy.Options{Record: redact.Writer{Redactor: k.secrets, To: file}, Conceal: k.secrets.Text, Logger: k.logger, Now: k.daemon.opts.Now, Fault: func() error { return k.store.Load().Fault() }})
	}
	return file, err
}

// Guard returns the rules of the baseCity.toml on disk, with more rule sets or files.
func (d *Daemon) Guard(ctx context.Context, root string, more []string) (cli.Guarding, error) {
	r, err := d.read(ctx, root)
	if err != nil {
		return cli.Guarding{}, missing(root, err)
	}
	out := cli.Guarding{Policy: r.rules.Policy(), On: r.rules.Guarded(), AskTimeout: r.rules.AskTimeout(), Agent: func(name string) (guard.Request, error) {
		req, known := r.rules.Request(name)
		if !known {
			return req, fmt.Errorf("%w: no agent is called %q; %s", client.ErrNotFound, name, config.Suggest(name, slices.Values(r.rules.Agents())))
		}
		return req, nil
	}}
	if len(more) == 0 {
		return out, nil
	}
	out.On = true
	out.Policy, err = r.rules.With(more, readNamed)
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

// guarded says whether tools are guarded. A city without a guard is not at fault.
func (x *doctorRun) guarded() {
	if !x.r.rules.Guarded() {
		x.ok("guard", "%s has no [guard]: agents may use every tool", client.CityFile)
		return
	}
	x.ok("guard", "%d rules; what none of them is about: %s", x.r.rules.Count(), x.r.rules.Policy().Default())
}
