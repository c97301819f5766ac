package remote

import (
	"context"
	"errors"
	"maps"
	"time"

	"gascity/runtime"
)

// Provider is the local end: it has the sessions of the remote driver and implements every extension of the contract. For an
// extension that the remote driver does not have, it returns the same error as the functions of package runtime. It is safe for
// concurrent use.
type Provider struct {
	link *link
}

// Open returns a provider. It connects at its first call. [Provider.Close] closes the connection.
func Open(opts Options) *Provider { return &Provider{newLink(opts)} }

// Close closes the connection and stops the provider's goroutines. The sessions continue.
func (p *Provider) Close() error {
	p.link.close()
	return nil
}

// Connect connects now, if there is no connection, and returns the error if that fails.
func (p *Provider) Connect(ctx context.Context) error {
	_, err := p.link.connected(ctx)
	return err
}

// Remove removes the folders of the remote end. It returns an error if a session exists.
func (p *Provider) Remove(ctx context.Context) error {
	return act(ctx, p.link, "remove", "", empty{})
}

// The limits of calls of the contract that have no context.
const (
	queryLimit  = 15 * time.Second
	actionLimit = 2 * time.Minute
)

// askBriefly makes a query that ends after queryLimit.
func askBriefly[Out any](p *Provider, op, name string, body any) (Out, error) {
	ctx, cancel := context.WithTimeout(p.link.ctx, queryLimit)
	defer cancel()
	return askFor[Out](ctx, p.link, call{op, name, body, queryGrace})
}

// askAction makes an action that ends after actionLimit.
func askAction(p *Provider, op, name string, body any) error {
	ctx, cancel := context.WithTimeout(p.link.ctx, actionLimit)
	defer cancel()
	return act(ctx, p.link, op, name, body)
}

// Start implements runtime.Runner. If the connection is lost during the start, the remote end undoes the start.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return p.launch(ctx, "start", name, cfg)
}

// Relaunch implements runtime.RelaunchProvider.
func (p *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	return p.launch(ctx, "relaunch", name, cfg)
}

// launch uploads the files of cfg and starts or relaunches the session at the remote end.
func (p *Provider) launch(ctx context.Context, op, name string, cfg runtime.Config) error {
	if err := runtime.ValidateName(name); err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	bag := &uploads{link: p.link}
	defer bag.discard()
	cfg, err := bag.rewriteConfig(ctx, cfg)
	if err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	if cfg.Env, err = p.environ(ctx, cfg.Env); err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	_, err = askFor[empty](ctx, p.link, call{op, name, cfg, launchGrace})
	return err
}

// variableProgram is the environment variable of an agent that contains the path of gc.
const variableProgram = "GC_BIN"

// environ replaces this machine's paths in env by those of the remote machine: the socket of the worker API and gc's program.
// It removes a path that the remote end does not have.
func (p *Provider) environ(ctx context.Context, env map[string]string) (map[string]string, error) {
	if _, err := p.link.connected(ctx); err != nil {
		return nil, err
	}
	p.link.mu.Lock()
	far := p.link.reply
	p.link.mu.Unlock()
	env = maps.Clone(env)
	for name, value := range env {
		switch {
		case name == variableProgram:
			value = far.Program
		case value == p.link.opts.Socket && value != "":
			value = far.Worker
		default:
			continue
		}
		if env[name] = value; value == "" {
			delete(env, name)
		}
	}
	return env, nil
}

// Stop implements runtime.Runner.
func (p *Provider) Stop(name string) error { return askAction(p, "stop", name, empty{}) }

// Interrupt implements runtime.Runner.
func (p *Provider) Interrupt(name string) error { return askAction(p, "interrupt", name, empty{}) }

// StopInstance implements runtime.Fencer.
func (p *Provider) StopInstance(ctx context.Context, name, token string) error {
	return act(ctx, p.link, "stop-instance", name, token)
}

// InterruptInstance implements runtime.Fencer.
func (p *Provider) InterruptInstance(ctx context.Context, name, token string) error {
	return act(ctx, p.link, "interrupt-instance", name, token)
}

// Recover implements runtime.Recoverer.
func (p *Provider) Recover(ctx context.Context, name, handle string) error {
	return act(ctx, p.link, "recover", name, handle)
}

// RunLive implements runtime.Stager.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	return askAction(p, "run-live", name, cfg)
}

// CopyTo implements runtime.Stager. src is a path on this machine.
func (p *Provider) CopyTo(name, src, relDst string) error {
	ctx, cancel := context.WithTimeout(p.link.ctx, actionLimit)
	defer cancel()
	bag := &uploads{link: p.link}
	defer bag.discard()
	if err := bag.add(ctx, &src); err != nil {
		return &runtime.Error{Op: "copy to", Session: name, Err: err}
	}
	if len(bag.paths) == 0 {
		return nil // src does not exist
	}
	return act(ctx, p.link, "copy-to", name, copyRequest{src, relDst})
}

// ResetInterruptedTurn implements runtime.InterruptedTurnResetProvider.
func (p *Provider) ResetInterruptedTurn(ctx context.Context, name string) error {
	return act(ctx, p.link, "reset-turn", name, empty{})
}

// ConfigureServer implements runtime.ServerLifecycleProvider.
func (p *Provider) ConfigureServer() error { return askAction(p, "configure-server", "", empty{}) }

// TeardownServer implements runtime.ServerLifecycleProvider.
func (p *Provider) TeardownServer() error { return askAction(p, "teardown-server", "", empty{}) }

// Capabilities implements runtime.Describer.
func (p *Provider) Capabilities() runtime.ProviderCapabilities { return p.link.opts.Capabilities }

// SetMeta implements runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	return askAction(p, "set-meta", name, keyValue{key, value})
}

// GetMeta implements runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	return askBriefly[string](p, "get-meta", name, key)
}

// RemoveMeta implements runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error { return askAction(p, "remove-meta", name, key) }

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.AttachTerminal(p.link.ctx, name, runtime.AttachOptions{})
}

// AttachTerminal implements runtime.Attacher.
func (p *Provider) AttachTerminal(ctx context.Context, name string, opts runtime.AttachOptions) error {
	if o, err := p.Observe(ctx, name); err == nil && o.Session == runtime.Dead {
		return &runtime.Error{Op: "attach to", Session: name, Err: runtime.ErrSessionNotFound}
	}
	if p.link.opts.Attach == nil {
		return &runtime.Error{Op: "attach to", Session: name, Err: runtime.ErrAttachUnsupported}
	}
	return p.link.opts.Attach(ctx, name, opts)
}

// Nudge implements runtime.Input.
func (p *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	return p.nudge("nudge", name, content)
}

// NudgeNow implements runtime.ImmediateNudgeProvider.
func (p *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	return p.nudge("nudge-now", name, content)
}

// nudge uploads the files of content and sends the nudge to the remote end.
func (p *Provider) nudge(op, name string, content []runtime.ContentBlock) error {
	ctx, cancel := context.WithTimeout(p.link.ctx, actionLimit)
	defer cancel()
	bag := &uploads{link: p.link}
	defer bag.discard()
	content, err := bag.rewriteContent(ctx, content)
	if err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	return act(ctx, p.link, op, name, packContent(content))
}

// Deliver implements runtime.Deliverer. Without a connection the prompt is refused and nothing is sent. If the connection is
// lost during the delivery, the outcome is unconfirmed; Settle finds it out later.
func (p *Provider) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	bag := &uploads{link: p.link}
	defer bag.discard()
	content, err := bag.rewriteContent(ctx, d.Content)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: err.Error()}, nil
	}
	d.Content = content
	out, err := ask[runtime.Outcome](ctx, p.link, "deliver", name, packDelivery(d))
	if _, ok := errors.AsType[*unreachableError](err); ok {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: err.Error()}, nil
	}
	if out.State == "" {
		out.State = runtime.OutcomeUnconfirmed
	}
	return out, err
}

// Settle implements runtime.Settler.
func (p *Provider) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	out, err := ask[runtime.Outcome](ctx, p.link, "settle", name, packDelivery(d))
	if out.State == "" {
		out.State = runtime.OutcomeUnconfirmed
	}
	return out, err
}

// Withdraw implements runtime.Withdrawer.
func (p *Provider) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	return ask[bool](ctx, p.link, "withdraw", name, packDelivery(d))
}

// ClearInput implements runtime.InputClearer.
func (p *Provider) ClearInput(ctx context.Context, name, instance string) error {
	return act(ctx, p.link, "clear-input", name, instance)
}

// SetHints implements runtime.Hinter.
func (p *Provider) SetHints(ctx context.Context, name, instance string, h runtime.Hints) error {
	return act(ctx, p.link, "set-hints", name, hints{h, instance})
}

// SendKeys implements runtime.Input.
func (p *Provider) SendKeys(name string, keys ...string) error {
	return askAction(p, "send-keys", name, keys)
}

// Respond implements runtime.InteractionProvider.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	return askAction(p, "respond", name, response)
}

// Exec implements runtime.ExecProvider.
func (p *Provider) Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error) {
	r, err := ask[execResult](ctx, p.link, "exec", name, argv)
	return r.Output, r.Code, err
}

// DismissKnownDialogs implements runtime.DialogProvider.
func (p *Provider) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	return act(ctx, p.link, "dismiss-dialogs", name, waitRequest{Limit: timeout})
}

// ClearScrollback implements runtime.Output.
func (p *Provider) ClearScrollback(name string) error {
	return askAction(p, "clear-scrollback", name, empty{})
}
