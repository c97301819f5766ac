package runtimetest_test

import (
	"context"
	"sync"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// modifiedFake is a fake with some methods replaced. A nil hook is the fake's method.
type modifiedFake struct {
	*fake.Provider
	hooks
	reopened bool // it is not the first provider over its world

	mu    sync.Mutex // for hooks that remember something
	count int
	texts []string
	notes map[string]string
}

// block is short for what prompts are made of.
type block = runtime.ContentBlock

type hooks struct {
	start             func(ctx context.Context, name string, cfg runtime.Config) error
	stop              func(name string) error
	interrupt         func(name string) error
	isRunning         func(name string) bool
	isAttached        func(name string) bool
	attach            func(name string) error
	processAlive      func(name string, names []string) bool
	nudge             func(name string, content []block) error
	setMeta           func(name, key, value string) error
	getMeta           func(name, key string) (string, error)
	removeMeta        func(name, key string) error
	peek              func(name string, lines int) (string, error)
	list              func(prefix string) ([]string, error)
	activity          func(name string) (time.Time, error)
	clear             func(name string) error
	copyTo            func(name, src, relDst string) error
	sendKeys          func(name string, keys ...string) error
	runLive           func(name string, cfg runtime.Config) error
	capabilities      func() runtime.ProviderCapabilities
	observe           func(ctx context.Context, name string) (runtime.Observation, error)
	watch             func(ctx context.Context) (<-chan runtime.Event, error)
	deliver           func(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error)
	recover           func(ctx context.Context, name, handle string) error
	stopInstance      func(ctx context.Context, name, token string) error
	interruptInstance func(ctx context.Context, name, token string) error
	waitForIdle       func(ctx context.Context, name string, timeout time.Duration) error
	dismiss           func(ctx context.Context, name string, timeout time.Duration) error
	nudgeNow          func(name string, content []block) error
	boundary          func(ctx context.Context, name string, since time.Time, timeout time.Duration) error
	reset             func(ctx context.Context, name string) error
	relaunch          func(ctx context.Context, name string, cfg runtime.Config) error
	exec              func(ctx context.Context, name string, argv []string) ([]byte, int, error)
	find              func(id string) ([]runtime.LiveRuntime, error)
	terminate         func(r runtime.LiveRuntime) error
	sense             func(ctx context.Context, name string) (runtime.Reading, error)
	clearInput        func(ctx context.Context, name, instance string) error
	setHints          func(ctx context.Context, name, instance string, hints runtime.Hints) error
	withdraw          func(ctx context.Context, name string, d runtime.Delivery) (bool, error)
	pending           func(name string) (*runtime.PendingInteraction, error)
	respond           func(name string, r runtime.InteractionResponse) error
	configure         func() error
	teardown          func() error
	transport         func(transport string) bool
	openTerminal      func(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error)
	attachTerminal    func(ctx context.Context, name string, opts runtime.AttachOptions) error
}

// Each method calls its hook, or the fake without one.

func (m *modifiedFake) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if m.start != nil {
		return m.start(ctx, name, cfg)
	}
	return m.Provider.Start(ctx, name, cfg)
}

func (m *modifiedFake) Stop(name string) error {
	if m.stop != nil {
		return m.stop(name)
	}
	return m.Provider.Stop(name)
}

func (m *modifiedFake) Interrupt(name string) error {
	if m.interrupt != nil {
		return m.interrupt(name)
	}
	return m.Provider.Interrupt(name)
}

func (m *modifiedFake) IsRunning(name string) bool {
	if m.isRunning != nil {
		return m.isRunning(name)
	}
	return m.Provider.IsRunning(name)
}

func (m *modifiedFake) IsAttached(name string) bool {
	if m.isAttached != nil {
		return m.isAttached(name)
	}
	return m.Provider.IsAttached(name)
}

func (m *modifiedFake) Attach(name string) error {
	if m.attach != nil {
		return m.attach(name)
	}
	return m.Provider.Attach(name)
}

func (m *modifiedFake) ProcessAlive(name string, names []string) bool {
	if m.processAlive != nil {
		return m.processAlive(name, names)
	}
	return m.Provider.ProcessAlive(name, names)
}

func (m *modifiedFake) Nudge(name string, content []block) error {
	if m.nudge != nil {
		return m.nudge(name, content)
	}
	return m.Provider.Nudge(name, content)
}

func (m *modifiedFake) SetMeta(name, key, value string) error {
	if m.setMeta != nil {
		return m.setMeta(name, key, value)
	}
	return m.Provider.SetMeta(name, key, value)
}

func (m *modifiedFake) GetMeta(name, key string) (string, error) {
	if m.getMeta != nil {
		return m.getMeta(name, key)
	}
	return m.Provider.GetMeta(name, key)
}

func (m *modifiedFake) RemoveMeta(name, key string) error {
	if m.removeMeta != nil {
		return m.removeMeta(name, key)
	}
	return m.Provider.RemoveMeta(name, key)
}

func (m *modifiedFake) Peek(name string, lines int) (string, error) {
	if m.peek != nil {
		return m.peek(name, lines)
	}
	return m.Provider.Peek(name, lines)
}

func (m *modifiedFake) ListRunning(prefix string) ([]string, error) {
	if m.list != nil {
		return m.list(prefix)
	}
	return m.Provider.ListRunning(prefix)
}

func (m *modifiedFake) GetLastActivity(name string) (time.Time, error) {
	if m.activity != nil {
		return m.activity(name)
	}
	return m.Provider.GetLastActivity(name)
}

func (m *modifiedFake) ClearScrollback(name string) error {
	if m.clear != nil {
		return m.clear(name)
	}
	return m.Provider.ClearScrollback(name)
}

func (m *modifiedFake) CopyTo(name, src, relDst string) error {
	if m.copyTo != nil {
		return m.copyTo(name, src, relDst)
	}
	return m.Provider.CopyTo(name, src, relDst)
}

func (m *modifiedFake) SendKeys(name string, keys ...string) error {
	if m.sendKeys != nil {
		return m.sendKeys(name, keys...)
	}
	return m.Provider.SendKeys(name, keys...)
}

func (m *modifiedFake) RunLive(name string, cfg runtime.Config) error {
	if m.runLive != nil {
		return m.runLive(name, cfg)
	}
	return m.Provider.RunLive(name, cfg)
}

func (m *modifiedFake) Capabilities() runtime.ProviderCapabilities {
	if m.capabilities != nil {
		return m.capabilities()
	}
	return m.Provider.Capabilities()
}

func (m *modifiedFake) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	if m.observe != nil {
		return m.observe(ctx, name)
	}
	return m.Provider.Observe(ctx, name)
}

func (m *modifiedFake) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if m.watch != nil {
		return m.watch(ctx)
	}
	return m.Provider.Watch(ctx)
}

func (m *modifiedFake) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if m.deliver != nil {
		return m.deliver(ctx, name, d)
	}
	return m.Provider.Deliver(ctx, name, d)
}

func (m *modifiedFake) Recover(ctx context.Context, name, handle string) error {
	if m.recover != nil {
		return m.recover(ctx, name, handle)
	}
	return m.Provider.Recover(ctx, name, handle)
}

func (m *modifiedFake) StopInstance(ctx context.Context, name, token string) error {
	if m.stopInstance != nil {
		return m.stopInstance(ctx, name, token)
	}
	return m.Provider.StopInstance(ctx, name, token)
}

func (m *modifiedFake) InterruptInstance(ctx context.Context, name, token string) error {
	if m.interruptInstance != nil {
		return m.interruptInstance(ctx, name, token)
	}
	return m.Provider.InterruptInstance(ctx, name, token)
}

func (m *modifiedFake) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	if m.waitForIdle != nil {
		return m.waitForIdle(ctx, name, timeout)
	}
	return m.Provider.WaitForIdle(ctx, name, timeout)
}

func (m *modifiedFake) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	if m.dismiss != nil {
		return m.dismiss(ctx, name, timeout)
	}
	return m.Provider.DismissKnownDialogs(ctx, name, timeout)
}

func (m *modifiedFake) NudgeNow(name string, content []block) error {
	if m.nudgeNow != nil {
		return m.nudgeNow(name, content)
	}
	return m.Provider.NudgeNow(name, content)
}

func (m *modifiedFake) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	if m.boundary != nil {
		return m.boundary(ctx, name, since, timeout)
	}
	return m.Provider.WaitForInterruptBoundary(ctx, name, since, timeout)
}

func (m *modifiedFake) ResetInterruptedTurn(ctx context.Context, name string) error {
	if m.reset != nil {
		return m.reset(ctx, name)
	}
	return m.Provider.ResetInterruptedTurn(ctx, name)
}

func (m *modifiedFake) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	if m.relaunch != nil {
		return m.relaunch(ctx, name, cfg)
	}
	return m.Provider.Relaunch(ctx, name, cfg)
}

func (m *modifiedFake) Exec(ctx context.Context, name string, argv []string) ([]byte, int, error) {
	if m.exec != nil {
		return m.exec(ctx, name, argv)
	}
	return m.Provider.Exec(ctx, name, argv)
}

func (m *modifiedFake) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	if m.find != nil {
		return m.find(id)
	}
	return m.Provider.FindRuntimesBySessionID(id)
}

func (m *modifiedFake) TerminateRuntime(r runtime.LiveRuntime) error {
	if m.terminate != nil {
		return m.terminate(r)
	}
	return m.Provider.TerminateRuntime(r)
}

func (m *modifiedFake) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	if m.sense != nil {
		return m.sense(ctx, name)
	}
	return m.Provider.Sense(ctx, name)
}

func (m *modifiedFake) ClearInput(ctx context.Context, name, instance string) error {
	if m.clearInput != nil {
		return m.clearInput(ctx, name, instance)
	}
	return m.Provider.ClearInput(ctx, name, instance)
}

func (m *modifiedFake) SetHints(ctx context.Context, name, instance string, hints runtime.Hints) error {
	if m.setHints != nil {
		return m.setHints(ctx, name, instance, hints)
	}
	return m.Provider.SetHints(ctx, name, instance, hints)
}

func (m *modifiedFake) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	if m.withdraw != nil {
		return m.withdraw(ctx, name, d)
	}
	return m.Provider.Withdraw(ctx, name, d)
}

func (m *modifiedFake) Pending(name string) (*runtime.PendingInteraction, error) {
	if m.pending != nil {
		return m.pending(name)
	}
	return m.Provider.Pending(name)
}

func (m *modifiedFake) Respond(name string, r runtime.InteractionResponse) error {
	if m.respond != nil {
		return m.respond(name, r)
	}
	return m.Provider.Respond(name, r)
}

func (m *modifiedFake) ConfigureServer() error {
	if m.configure != nil {
		return m.configure()
	}
	return m.Provider.ConfigureServer()
}

func (m *modifiedFake) TeardownServer() error {
	if m.teardown != nil {
		return m.teardown()
	}
	return m.Provider.TeardownServer()
}

func (m *modifiedFake) SupportsTransport(transport string) bool {
	if m.transport != nil {
		return m.transport(transport)
	}
	return m.Provider.SupportsTransport(transport)
}

func (m *modifiedFake) AttachTerminal(ctx context.Context, name string, opts runtime.AttachOptions) error {
	if m.attachTerminal != nil {
		return m.attachTerminal(ctx, name, opts)
	}
	return m.Provider.AttachTerminal(ctx, name, opts)
}
