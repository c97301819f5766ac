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
	"gascity/internal/doctor/providerprobe"
	"gascity/internal/driver/script"
	"gascity/internal/fakeagent"
	"gascity/provider/all"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// scripted is a provider whose abilities come from a handshake.
type scripted interface{ Handshake() script.Handshake }

// CheckOperations tries a provider operation by operation in a temporary place. The
// agent is this program under the fake agent's name.
func (d *Doctor) CheckOperations(ctx context.Context, root, selection string, report func(CheckResult)) error {
	if selection == "" {
		selection = all.Drivers()[0].Name
	}
	place, err := os.MkdirTemp(citydir.PublicTempDir, "gc-check-")
	if err != nil {
		return fmt.Errorf("cannot make a place for the check: %w", err)
	}
	defer os.RemoveAll(place) //nolint:errcheck // nothing runs there any more
	subject := providerprobe.Subject{
		Agent: runtimetest.Program{Path: filepath.Join(place, fakeagent.Name)}, Dir: place,
		Report: func(f providerprobe.Finding) { report(operationResult(f)) },
	}
	if err := os.Symlink(d.Loader.Executable, subject.Agent.Path); err != nil {
		return fmt.Errorf("cannot make the fake agent: %w", err)
	}
	if selection, err = withPath(selection, root); err != nil {
		return err
	}
	p, err := d.Loader.OpenProvider(selection, d.Loader.TrialConfig(root, place))
	if err != nil {
		return err
	}
	defer all.Close(p) //nolint:errcheck // its sessions are gone
	if err := shares(ctx, p, selection, place); err != nil {
		return err
	}
	subject.Provider = p
	adapt(&subject.Agent, p)
	if s, ok := p.(scripted); ok {
		for _, word := range s.Handshake().Capabilities {
			subject.Declared = append(subject.Declared, string(word))
		}
		if !s.Handshake().Has(script.CapSequence) && !p.Capabilities().CanAttachTTY {
			adapt(&subject.Agent, terminal{p}) // it types, whatever it declares
		}
	}
	return providerprobe.Run(ctx, subject)
}

// shares ensures that agents that run elsewhere can write below dir, as they must to be
// checked: each outpost confirms with a file of its own.
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
			return fmt.Errorf("agents at %s do not share %s with this machine: those of the check write there what reaches them; mount it over there, or let an agent there answer a prompt: gc doctor", selection, citydir.PublicTempDir)
		}
	}
}

// terminal is a provider that has terminals.
type terminal struct{ runtime.Provider }

func (terminal) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanAttachTTY: true}
}

// withPath makes the path of a selection absolute that is relative to the city, or to
// the present folder where there is none.
func withPath(selection, root string) (string, error) {
	kind, argument, _ := strings.Cut(selection, ":")
	if !strings.Contains(argument, "/") || filepath.IsAbs(argument) {
		return selection, nil
	}
	path, err := filepath.Abs(filepath.Join(root, argument))
	return kind + ":" + path, err
}

func operationResult(f providerprobe.Finding) CheckResult {
	r := CheckResult{ID: f.Operation, Sentence: f.Promise, Result: CheckFail, Detail: f.Detail, Took: f.Took.Round(time.Millisecond)}
	switch f.Status {
	case providerprobe.Works:
		r.Result = CheckPass
	case providerprobe.Unsupported, providerprobe.Untried:
		r.Result, r.Detail = CheckSkip, string(f.Status)+": "+f.Detail
	case providerprobe.Wrong:
	}
	return r
}
