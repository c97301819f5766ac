package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/internal/agent"
	"gascity/internal/citydir"
	"gascity/internal/driver/script"
	"gascity/provider/all"
	"gascity/runtime"
)

// scripted is a provider that declares its operations in a handshake.
type scripted interface{ Handshake() script.Handshake }

// CheckOperations tries each operation of a provider in a temporary directory and reports the
// results. The agent is this program, which acts as the fake agent.
func (d *Doctor) CheckOperations(ctx context.Context, root, selection string, report func(CheckResult)) error {
	t, err := d.newTrial(root, selection)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.dir) //nolint:errcheck // nothing runs in it any more
	p, err := t.open(t.dir)
	if err != nil {
		return err
	}
	defer all.Close(p) //nolint:errcheck // its sessions are gone
	if err := shares(ctx, p, t.selection, t.dir); err != nil {
		return err
	}
	subject := probeSubject{Provider: p, Agent: t.agent, Dir: t.dir, Report: report}
	adapt(&subject.Agent, p)
	if s, ok := p.(scripted); ok {
		for _, word := range s.Handshake().Capabilities {
			subject.Declared = append(subject.Declared, string(word))
		}
	}
	return runProbe(ctx, subject)
}

// shares checks that agents on another host can write to dir on this machine, which the cases need.
// An agent at the provider creates a file there.
func shares(ctx context.Context, p runtime.Provider, selection, dir string) (err error) {
	if driver, _, err := all.Find(selection); err != nil || driver.Where != all.WhereRemote {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, promptLimitRemote)
	defer cancel()
	const name, file = "gc-check-shares", "shared"
	cfg := runtime.Config{
		Command: "touch " + filepath.Join(dir, file) + "; exec sleep 1000", WorkDir: citydir.PublicTempDir,
		Env: map[string]string{"GC_INSTANCE_TOKEN": agent.InstanceTokenPrefix + rand.Text()},
	}
	if err := p.Start(ctx, name, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(name)) }()
	looks := time.NewTicker(pollInterval)
	defer looks.Stop()
	for end := time.After(promptLimit / 4); ; {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return nil
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return fmt.Errorf("agents at %s do not share %s with this machine, but the agents of this check write their records there; mount it on that host, or check only a prompt with: gc doctor", selection, citydir.PublicTempDir)
		}
	}
}

// withPath returns a selection with an absolute path. A relative path is relative to the city, or
// to the current directory without a city.
func withPath(selection, root string) (string, error) {
	kind, argument, _ := strings.Cut(selection, ":")
	if !strings.Contains(argument, "/") || filepath.IsAbs(argument) {
		return selection, nil
	}
	path, err := filepath.Abs(filepath.Join(root, argument))
	return kind + ":" + path, err
}
