package doctor

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

// The fake keeps everything; its ledger is written by agents of its own making.
func runTestProbe(t *testing.T, p runtime.Provider, declared ...string) []probeFinding {
	t.Helper()
	var found []probeFinding
	err := runProbe(t.Context(), probeSubject{
		Provider: p, Agent: runtimetest.Program{Path: "fakeagent"}, Dir: t.TempDir(), Declared: declared, Patience: 200 * time.Millisecond,
		Report: func(f probeFinding) { found = append(found, f) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// statusOf returns what was found of the operation, the worst of its findings.
func statusOf(found []probeFinding, operation string) probeStatus {
	order := []probeStatus{probeWorks, probeUntried, probeUnsupported, probeWrong}
	worst := 0
	for _, f := range found {
		if f.Operation == operation {
			worst = max(worst, slices.Index(order, f.Status))
		}
	}
	return order[worst]
}

// brokenProvider is a provider in which one thing is wrong or missing.
type brokenProvider struct {
	*fake.Provider
	stop, keys error
	start      error
	deaf       bool
}

func (b brokenProvider) Stop(name string) error {
	if b.stop != nil {
		return nil //nolint:nilerr // it lies
	}
	return b.Provider.Stop(name)
}

func (b brokenProvider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if b.start != nil {
		return b.start
	}
	return b.Provider.Start(ctx, name, cfg)
}

func (b brokenProvider) SendKeys(string, ...string) error { return b.keys }

func (b brokenProvider) IsRunning(name string) bool { return !b.deaf && b.Provider.IsRunning(name) }

func TestRunFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		p         brokenProvider
		declared  []string
		operation string
		want      probeStatus
	}{
		"fine":              {operation: "start", want: probeWorks},
		"meta":              {operation: "set-meta", want: probeWorks},
		"stop lies":         {p: brokenProvider{stop: errors.New("x")}, operation: "stop", want: probeWrong},
		"no keys":           {p: brokenProvider{keys: errors.ErrUnsupported}, operation: "send-keys", want: probeUnsupported},
		"keys are declared": {p: brokenProvider{keys: errors.ErrUnsupported}, declared: []string{"tty.attach"}, operation: "send-keys", want: probeWrong},
		"no start":          {p: brokenProvider{start: errors.ErrUnsupported}, operation: "start", want: probeWrong},
		"start lies":        {p: brokenProvider{deaf: true}, operation: "start", want: probeWrong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.p.Provider = fake.New()
			found := runTestProbe(t, tt.p, tt.declared...)
			if got := statusOf(found, tt.operation); got != tt.want {
				t.Errorf("%s is %q, want %q: %+v", tt.operation, got, tt.want, found)
			}
		})
	}
}

func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	p := fake.New()
	runTestProbe(t, p)
	if names, err := p.ListRunning(""); len(names) > 0 || err != nil {
		t.Errorf("ListRunning = %q, %v, want nothing", names, err)
	}
}
