package fake_test

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

func TestConformanceOfFaultyWithoutFaults(t *testing.T) {
	results := runtimetest.Run(t, fake.Harness(func(p *fake.Provider) runtime.Provider { return fake.NewFaulty(p) }))
	for _, r := range results {
		if r.Status == runtimetest.NotApplicable {
			t.Errorf("%s is not applicable: the wrapper hides an extension (%v)", r.ID, r.Detail)
		}
	}
}

var errBroken = errors.New("broken")

func startFaulty(t *testing.T, names ...string) (*fake.Provider, *fake.Faulty) {
	t.Helper()
	inner := fake.New()
	for _, name := range names {
		if err := inner.Start(t.Context(), name, runtime.Config{}); err != nil {
			t.Fatal(err)
		}
	}
	return inner, fake.NewFaulty(inner)
}

func TestFaultReplacesACall(t *testing.T) {
	inner, p := startFaulty(t, "a", "b")
	remove := p.Inject(fake.Fault{Op: "Stop", Session: "a", Err: errBroken})
	if err := p.Stop("a"); !errors.Is(err, errBroken) {
		t.Errorf("Stop(a) = %v, want the fault", err)
	}
	if err := p.Stop("b"); err != nil {
		t.Errorf("Stop(b) = %v, want nil: the fault is about a", err)
	}
	if !inner.IsRunning("a") || inner.IsRunning("b") {
		t.Error("the fault did not replace the call of a, and of a only")
	}
	remove()
	if err := p.Stop("a"); err != nil || inner.IsRunning("a") {
		t.Errorf("Stop(a) without the fault = %v, want nil and gone", err)
	}
}

func TestFaultLosesAReply(t *testing.T) {
	inner, p := startFaulty(t)
	p.Inject(fake.Fault{Op: "Start", Err: errBroken, LostReply: true})
	if err := p.Start(t.Context(), "a", runtime.Config{}); !errors.Is(err, errBroken) || !inner.IsRunning("a") {
		t.Errorf("Start = %v and runs = %v, want the fault after a start", err, inner.IsRunning("a"))
	}
}

func TestFaultConcernsSomeCalls(t *testing.T) {
	_, p := startFaulty(t, "a")
	p.Inject(fake.Fault{Op: "IsRunning", Skip: 1, Times: 2, Err: errBroken})
	var got []bool
	for range 4 {
		got = append(got, p.IsRunning("a"))
	}
	if want := []bool{true, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("four calls answer %v, want %v", got, want)
	}
}

func TestFaultDelaysUntilCtxEnds(t *testing.T) {
	inner, p := startFaulty(t)
	p.Inject(fake.Fault{Op: "Start", Delay: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Start(ctx, "a", runtime.Config{}); !errors.Is(err, context.Canceled) || len(inner.Calls("Start")) > 0 {
		t.Errorf("Start = %v, want the end of ctx before any call", err)
	}
}

func TestFaultLiesAboutNames(t *testing.T) {
	_, p := startFaulty(t, "a", "b")
	first := func(names []string) []string { return names[:1] }
	remove := p.Inject(fake.Fault{Op: "ListRunning", Names: first, Err: &runtime.PartialListError{Errs: []error{errBroken}}})
	names, err := p.ListRunning("")
	var partial *runtime.PartialListError
	if !slices.Equal(names, []string{"a"}) || !errors.As(err, &partial) {
		t.Errorf("ListRunning = %q, %v, want a and a partial list", names, err)
	}
	remove()
	p.Inject(fake.Fault{Op: "ListRunning", Names: first})
	if names, err := p.ListRunning(""); !slices.Equal(names, []string{"a"}) || err != nil {
		t.Errorf("ListRunning = %q, %v, want a and a silent lie", names, err)
	}
}

func TestFaultReachesExtensions(t *testing.T) {
	inner, p := startFaulty(t, "a")
	p.Inject(fake.Fault{Err: errBroken})
	ctx := t.Context()
	_, errObserve := runtime.Observe(ctx, p, "a")
	_, errDeliver := runtime.Deliver(ctx, p, "a", runtime.Delivery{Content: runtime.TextContent("x")})
	for what, err := range map[string]error{
		"Observe": errObserve, "Deliver": errDeliver,
		"StopInstance": runtime.StopInstance(ctx, p, "a", "t"), "InterruptInstance": runtime.InterruptInstance(ctx, p, "a", "t"),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s = %v, want the fault", what, err)
		}
	}
	if calls := inner.Calls("Observe", "Deliver", "StopInstance", "InterruptInstance"); len(calls) > 0 {
		t.Errorf("the inner provider was called: %v", calls)
	}
}
