package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

// The fake keeps everything; its ledger is written by agents of its own making.
func runTestProbe(t *testing.T, p runtime.Provider, declared ...string) []CheckResult {
	t.Helper()
	var found []CheckResult
	err := runProbe(t.Context(), probeSubject{
		Provider: p, Agent: runtimetest.Program{Path: "fakeagent"}, Dir: t.TempDir(), Declared: declared, Patience: 200 * time.Millisecond,
		Report: func(f CheckResult) { found = append(found, f) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// statusOf returns what was found of the operation, the worst of its results. Of a skipped one it is the reason.
func statusOf(found []CheckResult, operation string) string {
	order := []string{CheckPass, "untried", "unsupported", CheckFail}
	worst := 0
	for _, f := range found {
		if f.ID != operation {
			continue
		}
		status := f.Result
		if status == CheckSkip {
			status, _, _ = strings.Cut(f.Detail, ": ")
		}
		worst = max(worst, slices.Index(order, status))
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
		want      string
	}{
		"fine":              {operation: "start", want: CheckPass},
		"meta":              {operation: "set-meta", want: CheckPass},
		"stop lies":         {p: brokenProvider{stop: errors.New("x")}, operation: "stop", want: CheckFail},
		"no keys":           {p: brokenProvider{keys: errors.ErrUnsupported}, operation: "send-keys", want: "unsupported"},
		"keys are declared": {p: brokenProvider{keys: errors.ErrUnsupported}, declared: []string{"tty.attach"}, operation: "send-keys", want: CheckFail},
		"no start":          {p: brokenProvider{start: errors.ErrUnsupported}, operation: "start", want: CheckFail},
		"start lies":        {p: brokenProvider{deaf: true}, operation: "start", want: CheckFail},
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
