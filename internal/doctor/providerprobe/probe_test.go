package providerprobe_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gascity/internal/doctor/providerprobe"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

// The fake keeps everything; its ledger is written by agents of its own making.
func run(t *testing.T, p runtime.Provider, declared ...string) []providerprobe.Finding {
	t.Helper()
	var found []providerprobe.Finding
	err := providerprobe.Run(t.Context(), providerprobe.Subject{
		Provider: p, Agent: runtimetest.Program{Path: "fakeagent"}, Dir: t.TempDir(), Declared: declared, Patience: 200 * time.Millisecond,
		Report: func(f providerprobe.Finding) { found = append(found, f) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// status returns what was found of the operation, the worst of its findings.
func status(found []providerprobe.Finding, operation string) providerprobe.Status {
	order := []providerprobe.Status{providerprobe.Works, providerprobe.Untried, providerprobe.Unsupported, providerprobe.Wrong}
	worst := 0
	for _, f := range found {
		if f.Operation == operation {
			worst = max(worst, slices.Index(order, f.Status))
		}
	}
	return order[worst]
}

// broken is a provider in which one thing is wrong or missing.
type broken struct {
	*fake.Provider
	stop, keys error
	start      error
	deaf       bool
}

func (b broken) Stop(name string) error {
	if b.stop != nil {
		return nil //nolint:nilerr // it lies
	}
	return b.Provider.Stop(name)
}

func (b broken) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if b.start != nil {
		return b.start
	}
	return b.Provider.Start(ctx, name, cfg)
}

func (b broken) SendKeys(string, ...string) error { return b.keys }

func (b broken) IsRunning(name string) bool { return !b.deaf && b.Provider.IsRunning(name) }

func TestRunFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		p         broken
		declared  []string
		operation string
		want      providerprobe.Status
	}{
		"fine":              {operation: "start", want: providerprobe.Works},
		"meta":              {operation: "set-meta", want: providerprobe.Works},
		"stop lies":         {p: broken{stop: errors.New("x")}, operation: "stop", want: providerprobe.Wrong},
		"no keys":           {p: broken{keys: errors.ErrUnsupported}, operation: "send-keys", want: providerprobe.Unsupported},
		"keys are declared": {p: broken{keys: errors.ErrUnsupported}, declared: []string{"tty.attach"}, operation: "send-keys", want: providerprobe.Wrong},
		"no start":          {p: broken{start: errors.ErrUnsupported}, operation: "start", want: providerprobe.Wrong},
		"start lies":        {p: broken{deaf: true}, operation: "start", want: providerprobe.Wrong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.p.Provider = fake.New()
			found := run(t, tt.p, tt.declared...)
			if got := status(found, tt.operation); got != tt.want {
				t.Errorf("%s is %q, want %q: %+v", tt.operation, got, tt.want, found)
			}
		})
	}
}

func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	p := fake.New()
	run(t, p)
	if names, err := p.ListRunning(""); len(names) > 0 || err != nil {
		t.Errorf("ListRunning = %q, %v, want nothing", names, err)
	}
}
