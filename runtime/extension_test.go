package runtime_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// started returns a fake with one session and the same without extensions.
func started(t *testing.T) (*fake.Provider, bare) {
	t.Helper()
	p := fake.New()
	if err := p.Start(t.Context(), "a", runtime.Config{WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return p, bare{p}
}

// TestHelpersUseTheExtension calls each helper on a provider that has it all.
func TestHelpersUseTheExtension(t *testing.T) {
	p, _ := started(t)
	ctx, text := t.Context(), runtime.TextContent("x")
	for op, call := range map[string]func(p runtime.Provider) error{
		"Observe": func(p runtime.Provider) error { _, err := runtime.Observe(ctx, p, "a"); return err },
		"Watch":   func(p runtime.Provider) error { _, err := runtime.Watch(ctx, p); return err },
		"Deliver": func(p runtime.Provider) error {
			_, err := runtime.Deliver(ctx, p, "a", runtime.Delivery{Content: text})
			return err
		},
		"Recover":              func(p runtime.Provider) error { return runtime.Recover(ctx, p, "a", "") },
		"StopInstance":         func(p runtime.Provider) error { return runtime.StopInstance(ctx, p, "a", "t") },
		"InterruptInstance":    func(p runtime.Provider) error { return runtime.InterruptInstance(ctx, p, "a", "t") },
		"WaitForIdle":          func(p runtime.Provider) error { return runtime.WaitForIdle(ctx, p, "a", time.Second) },
		"DismissKnownDialogs":  func(p runtime.Provider) error { return runtime.DismissKnownDialogs(ctx, p, "a", time.Second) },
		"NudgeNow":             func(p runtime.Provider) error { return runtime.NudgeNow(p, "a", text) },
		"ResetInterruptedTurn": func(p runtime.Provider) error { return runtime.ResetInterruptedTurn(ctx, p, "a") },
		"WaitForInterruptBoundary": func(p runtime.Provider) error {
			return runtime.WaitForInterruptBoundary(ctx, p, "a", time.Now(), time.Second)
		},
		"Relaunch":                func(p runtime.Provider) error { return runtime.Relaunch(ctx, p, "a", runtime.Config{}) },
		"Exec":                    func(p runtime.Provider) error { _, _, err := runtime.Exec(ctx, p, "a", []string{"true"}); return err },
		"CopyFrom":                func(p runtime.Provider) error { return runtime.CopyFrom(ctx, p, "a", "x", io.Discard) },
		"FindRuntimesBySessionID": func(p runtime.Provider) error { _, err := runtime.FindRuntimesBySessionID(p, ""); return err },
		"TerminateRuntime": func(p runtime.Provider) error {
			return runtime.TerminateRuntime(p, runtime.LiveRuntime{ProviderName: "a"})
		},
		"Pending":         func(p runtime.Provider) error { _, err := runtime.Pending(p, "a"); return err },
		"Respond":         func(p runtime.Provider) error { return runtime.Respond(p, "a", runtime.InteractionResponse{}) },
		"ConfigureServer": runtime.ConfigureServer,
		"TeardownServer":  runtime.TeardownServer,
		"OpenTerminal": func(p runtime.Provider) error {
			_, err := runtime.OpenTerminal(ctx, p, "a", runtime.TerminalOptions{})
			return err
		},
		"AttachTerminal": func(p runtime.Provider) error {
			return runtime.AttachTerminal(ctx, p, "a", runtime.AttachOptions{ReadOnly: true})
		},
	} {
		mark := errors.New("the extension's own answer")
		p.Fail(op, "", mark)
		if err := call(wrapper{bare{p}}); !errors.Is(err, mark) {
			t.Errorf("the helper of %s = %v, want the extension's answer", op, err)
		}
		p.Fail(op, "", nil)
	}
	if !runtime.SupportsTransport(p, "") || len(p.Calls("SupportsTransport")) != 1 {
		t.Error("SupportsTransport does not ask the extension")
	}
}

// TestHelpersWithoutTheExtension checks the documented answer of each.
func TestHelpersWithoutTheExtension(t *testing.T) {
	_, p := started(t)
	ctx := t.Context()
	_, watchErr := runtime.Watch(ctx, p)
	_, _, execErr := runtime.Exec(ctx, p, "a", []string{"true"})
	_, findErr := runtime.FindRuntimesBySessionID(p, "")
	_, pendingErr := runtime.Pending(p, "a")
	for name, tt := range map[string]struct{ got, want error }{
		"Watch":                               {watchErr, errors.ErrUnsupported},
		"WaitForIdle":                         {runtime.WaitForIdle(ctx, p, "a", time.Second), errors.ErrUnsupported},
		"WaitForInterruptBoundary":            {runtime.WaitForInterruptBoundary(ctx, p, "a", time.Now(), time.Second), errors.ErrUnsupported},
		"FindRuntimesBySessionID":             {findErr, errors.ErrUnsupported},
		"TerminateRuntime":                    {runtime.TerminateRuntime(p, runtime.LiveRuntime{}), errors.ErrUnsupported},
		"Exec":                                {execErr, runtime.ErrExecUnsupported},
		"CopyFrom":                            {runtime.CopyFrom(ctx, p, "a", "x", io.Discard), errors.ErrUnsupported},
		"Relaunch":                            {runtime.Relaunch(ctx, p, "a", runtime.Config{}), runtime.ErrRelaunchUnsupported},
		"Pending":                             {pendingErr, runtime.ErrInteractionUnsupported},
		"Respond":                             {runtime.Respond(p, "a", runtime.InteractionResponse{}), runtime.ErrInteractionUnsupported},
		"DismissKnownDialogs":                 {runtime.DismissKnownDialogs(ctx, p, "a", time.Second), nil},
		"ResetInterruptedTurn":                {runtime.ResetInterruptedTurn(ctx, p, "a"), nil},
		"ConfigureServer":                     {runtime.ConfigureServer(p), nil},
		"TeardownServer":                      {runtime.TeardownServer(p), nil},
		"Recover":                             {runtime.Recover(ctx, p, "a", "handle"), nil},
		"Recover of a missing one":            {runtime.Recover(ctx, p, "b", "handle"), runtime.ErrSessionNotFound},
		"AttachTerminal to a missing session": {runtime.AttachTerminal(ctx, p, "b", runtime.AttachOptions{}), runtime.ErrSessionNotFound},
		"AttachTerminal read-only":            {runtime.AttachTerminal(ctx, p, "a", runtime.AttachOptions{ReadOnly: true}), errors.ErrUnsupported},
		"AttachTerminal with keys":            {runtime.AttachTerminal(ctx, p, "a", runtime.AttachOptions{DetachKeys: []string{"C-q"}}), errors.ErrUnsupported},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s without its extension = %v, want %v", name, tt.got, tt.want)
		}
	}
	if !runtime.SupportsTransport(p, "") || runtime.SupportsTransport(p, "other") {
		t.Error("without the extension the empty transport alone is supported")
	}
}

func TestObserveWithoutTheExtensionNeverProvesDeath(t *testing.T) {
	inner, p := started(t)
	obs, err := runtime.Observe(t.Context(), p, "a")
	if err != nil || obs.Session != runtime.Alive || obs.Agent != runtime.Unknown || obs.Attached != -1 || obs.LastActivity.IsZero() || obs.At.IsZero() {
		t.Errorf("Observe of a running session = %+v, %v", obs, err)
	}
	if obs, err := runtime.Observe(t.Context(), p, "b"); err != nil || obs.Session != runtime.Unknown || obs.Agent != runtime.Unknown {
		t.Errorf("Observe of a missing session = %+v, %v, want unknown", obs, err)
	}
	broken := errors.New("broken")
	inner.Fail("GetLastActivity", "", broken)
	if obs, err := runtime.Observe(t.Context(), p, "a"); !errors.Is(err, broken) || obs.Session != runtime.Alive {
		t.Errorf("Observe with a failing read = %+v, %v, want the failure beside what is known", obs, err)
	}
}

func TestNudgeNowWithoutTheExtensionIsNudge(t *testing.T) {
	inner, p := started(t)
	if err := runtime.NudgeNow(p, "a", runtime.TextContent("x")); err != nil || len(inner.Calls("Nudge")) != 1 {
		t.Errorf("NudgeNow = %v with %d nudges, want nil and one", err, len(inner.Calls("Nudge")))
	}
}

func TestDeliverWithoutTheExtension(t *testing.T) {
	for name, tt := range map[string]struct {
		nudge error
		want  runtime.OutcomeState
		isErr bool
	}{
		"success":     {nil, runtime.OutcomeUnconfirmed, false},
		"missing":     {runtime.ErrSessionNotFound, runtime.OutcomeAbsent, false},
		"no input":    {runtime.ErrInputUnsupported, runtime.OutcomeUnsupported, false},
		"unsupported": {errors.ErrUnsupported, runtime.OutcomeUnsupported, false},
		"failure":     {errors.New("broken"), runtime.OutcomeUnconfirmed, true},
		"refusal":     {&runtime.RefusedError{Reason: runtime.RefusedDialog}, runtime.OutcomeRefused, false},
	} {
		inner, p := started(t)
		inner.Fail("Nudge", "", tt.nudge)
		outcome, err := runtime.Deliver(t.Context(), p, "a", runtime.Delivery{Content: runtime.TextContent("x")})
		if outcome.State != tt.want || (err != nil) != tt.isErr {
			t.Errorf("%s: Deliver = %+v, %v, want %s", name, outcome, err, tt.want)
		}
	}
	_, p := started(t)
	outcome, err := runtime.Deliver(t.Context(), p, "a", runtime.Delivery{Instance: "token", Content: runtime.TextContent("x")})
	if outcome.State != runtime.OutcomeAbsent || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Deliver to an instance that is not known = %+v, %v, want a refusal", outcome, err)
	}
}

func TestDeliverToNobodyByObservation(t *testing.T) {
	_, blind := started(t)
	outcome, err := runtime.Deliver(t.Context(), observerOnly{blind}, "b", runtime.Delivery{Instance: "token", Content: runtime.TextContent("x")})
	if outcome.State != runtime.OutcomeAbsent || err != nil {
		t.Errorf("Deliver to a missing session = %+v, %v, want absent and nil", outcome, err)
	}
}

// observerOnly has an Observer and no Fencer.
type observerOnly struct{ bare }

func (s observerOnly) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	return runtime.Observe(ctx, s.Provider, name)
}

func TestFenceByObservation(t *testing.T) {
	inner, blind := started(t)
	p, ctx := observerOnly{blind}, t.Context()
	obs, err := inner.Observe(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	inner.Fail("Observe", "c", broken)
	for name, tt := range map[string]struct{ got, want error }{
		"stop another":                {runtime.StopInstance(ctx, p, "a", "another"), runtime.ErrStaleInstance},
		"stop a missing session":      {runtime.StopInstance(ctx, p, "b", "t"), nil},
		"stop unseen":                 {runtime.StopInstance(ctx, p, "c", "t"), broken},
		"stop blindly":                {runtime.StopInstance(ctx, blind, "a", obs.InstanceToken), errors.ErrUnsupported},
		"interrupt another":           {runtime.InterruptInstance(ctx, p, "a", "another"), runtime.ErrStaleInstance},
		"interrupt a missing session": {runtime.InterruptInstance(ctx, p, "b", "t"), runtime.ErrSessionNotFound},
		"interrupt it":                {runtime.InterruptInstance(ctx, p, "a", obs.InstanceToken), nil},
		"check it":                    {runtime.CheckInstance(ctx, p, "a", obs.InstanceToken), nil},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s = %v, want %v", name, tt.got, tt.want)
		}
	}
	if !inner.IsRunning("a") || len(inner.Calls("Interrupt")) != 1 {
		t.Error("somebody was stopped or interrupted who should not have been")
	}
	if err := runtime.StopInstance(ctx, p, "a", obs.InstanceToken); err != nil || inner.IsRunning("a") {
		t.Errorf("StopInstance with the right token = %v, want nil and gone", err)
	}
}
