package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Status returns the status of the city.
func (c *Controller) Status(context.Context) (client.Status, error) {
	status, targets := c.published.City().Status, c.published.Targets()
	status.Agents = make([]client.Agent, 0, len(targets))
	for _, t := range targets {
		status.Agents = append(status.Agents, t.agent())
	}
	return status, nil
}

// StatusChanged returns a channel that is closed when the status of the city may have changed.
func (c *Controller) StatusChanged() <-chan struct{} { return c.published.renewed.Wait() }

// Plan returns the next actions of the controller and their reasons.
func (c *Controller) Plan(context.Context) (client.Plan, error) {
	targets := c.published.Targets()
	actions := make([]plan.Action, 0, len(targets))
	for _, t := range targets {
		actions = append(actions, t.Action)
	}
	return explain.Plan(actions, c.published.City().Account.At), nil
}

// Config returns the current configuration.
func (c *Controller) Config(context.Context) (client.Config, error) {
	return c.published.City().Config, nil
}

// Providers returns the runtime providers that can be selected.
func (c *Controller) Providers(ctx context.Context) ([]client.Provider, error) {
	return c.opts.Providers(ctx)
}

// Events returns the events after an event ID, whether some are missing, and a channel of later
// events. The channel is closed when ctx ends or when its reader is too slow.
func (c *Controller) Events(ctx context.Context, after uint64) ([]client.Event, bool, <-chan client.Event, error) { //nolint:revive // the signature is the API's
	s, err := event.Subscribe(ctx, c.opts.Events, after)
	return s.Past, s.Gap, s.Next, err
}

// Snapshot returns the snapshot of a session, by its name or its agent's name.
func (c *Controller) Snapshot(name string) (session.Snapshot, error) {
	t, err := c.published.Find(name)
	if err != nil {
		return session.Snapshot{}, err
	}
	return t.Snapshot, nil
}

// HasSynced reports whether every session of the city is known and has been reported to
// Options.Changed.
func (c *Controller) HasSynced() bool { return c.published.synced.Load() }

// Snapshots returns the snapshot of every session, in the order of the status.
func (c *Controller) Snapshots() []session.Snapshot {
	targets := c.published.Targets()
	out := make([]session.Snapshot, 0, len(targets))
	for _, t := range targets {
		out = append(out, t.Snapshot)
	}
	return out
}

// Session returns the details of one session.
func (c *Controller) Session(_ context.Context, name string) (client.Session, error) {
	t, err := c.published.Find(name)
	if err != nil {
		return client.Session{}, err
	}
	stored := &t.Record.Stored
	out := client.Session{
		Agent: t.agent(), Title: t.Seen.Title, LastScreen: explain.LastScreen(&t.Record),
		Fingerprints: map[string]string{
			"core": stored.Core, "provision": stored.Provision, "launch": stored.Launch, "live": stored.Live,
		},
	}
	out.Exit = explain.LastExit(out.Exit, &t.Record)
	if t.Config != nil {
		out.WorkDir, out.Command = t.Config.WorkDir, t.Config.Command
	}
	if !t.Running {
		return out, nil
	}
	out.Processes = ops.Processes(&t.Seen)
	out.Meta = ops.Shown(t.Provider, t.Record.Session)
	return out, nil
}

// Explain returns the observed state of one agent, the decision about it and the reasons. The
// caller adds questions and queued prompts.
func (c *Controller) Explain(ctx context.Context, name string) (client.Explanation, error) {
	t, err := c.published.Find(name)
	if err != nil {
		return client.Explanation{}, err
	}
	city := c.published.City().Account
	current := t.Case
	current.Agent = t.agent()
	out := explain.Explain(&city, &current)
	out.Recent, err = explain.Recent(ctx, c.opts.Events, city.At, t.Record.Session)
	return out, err
}

// DrainState returns the drain of an agent's current instance.
func (c *Controller) DrainState(_ context.Context, name string) (client.Drain, error) {
	t, err := c.published.Find(name)
	if err != nil {
		return client.Drain{}, err
	}
	return explain.Drain(&t.Record), nil
}

// Peek returns the last lines of a session's output, also of a session that has stopped.
func (c *Controller) Peek(_ context.Context, name string, lines int) (client.Output, error) {
	t, err := c.reachable(name)
	if err != nil {
		return client.Output{}, err
	}
	text, err := t.Provider.Peek(t.Record.Session, lines)
	if runtime.IsSessionGone(err) {
		return lastOutput(&t.Record, lines)
	}
	out := client.Output{Session: t.Record.Session, Text: text}
	if !t.Running && t.UnknownReason == "" { // the provider still has the screen
		out.EndedAt = explain.EndedAt(&t.Record)
	}
	return out, ops.Wire(err)
}

// lastOutput returns the last lines of the screen that gc saved when the session stopped; lines = 0 means all of it. It returns
// an error if no screen was saved.
func lastOutput(r *session.Record, lines int) (client.Output, error) {
	screen := strings.TrimRight(explain.LastScreen(r), "\n")
	if strings.TrimSpace(screen) == "" {
		agent := cmp.Or(r.Agent, r.Session)
		return client.Output{}, fmt.Errorf("%w: %s does not run and has no screen; to read its recorded output: gc logs %s", client.ErrRefused, agent, agent)
	}
	if rows := strings.Split(screen, "\n"); lines > 0 && len(rows) > lines {
		screen = strings.Join(rows[len(rows)-lines:], "\n")
	}
	return client.Output{Session: r.Session, Text: screen + "\n", EndedAt: explain.EndedAt(r)}, nil
}

// OpenTerminal opens a live terminal of a session, see [runtime.OpenTerminal].
func (c *Controller) OpenTerminal(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	t, err := c.live(name, "")
	if err != nil {
		return nil, err
	}
	terminal, err := runtime.OpenTerminal(ctx, t.Provider, t.Record.Session, opts)
	return terminal, ops.Wire(err)
}

// Interrupt asks an agent to abandon its turn, and waits a few seconds for the end of the turn.
func (c *Controller) Interrupt(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	t, err := c.live(name, req.Instance)
	if err != nil {
		return client.Done{}, err
	}
	ended, err := ops.Abandon(ctx, t.Provider, t.Record.Session, t.Record.Token)
	if err != nil {
		return client.Done{}, ops.Wire(err)
	}
	c.appendEvent(ctx, event.SessionInterrupted, &t.Record, "gc asked the agent to abandon its turn", nil)
	detail := "interrupted; the agent has not confirmed it"
	if ended {
		detail = "interrupted; its turn has ended"
	}
	return client.Done{Session: t.Record.Session, Changed: true, Detail: detail}, nil
}

// Keys sends key events to a session.
func (c *Controller) Keys(_ context.Context, name string, req client.KeysRequest) (client.Done, error) {
	t, err := c.live(name, req.Instance)
	if err != nil {
		return client.Done{}, err
	}
	if err := t.Provider.SendKeys(t.Record.Session, req.Keys...); err != nil {
		return client.Done{}, ops.Wire(err)
	}
	return client.Done{Session: t.Record.Session, Changed: len(req.Keys) > 0}, nil
}

// ClearInput removes all text from a session's input box.
func (c *Controller) ClearInput(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	t, err := c.live(name, req.Instance)
	if err != nil {
		return client.Done{}, err
	}
	switch err := runtime.ClearInput(ctx, t.Provider, t.Record.Session, t.Record.Token); {
	case errors.Is(err, errors.ErrUnsupported):
		return client.Done{}, fmt.Errorf("%w: %s has no input box that gc can clear; look with: gc peek %s", client.ErrUnsupported, name, name)
	case err != nil:
		return client.Done{}, ops.Wire(err)
	}
	return client.Done{Session: t.Record.Session, Changed: true, Detail: "the input box is empty"}, nil
}

// Copy copies a file or folder into a session's working directory.
func (c *Controller) Copy(_ context.Context, name string, req client.CopyRequest) (client.Done, error) {
	t, err := c.live(name, req.Instance)
	if err != nil {
		return client.Done{}, err
	}
	if req.RelDst != "" && !filepath.IsLocal(req.RelDst) {
		return client.Done{}, fmt.Errorf("%w: the destination %q is not a relative path inside the working directory of %s", client.ErrInvalid, req.RelDst, name)
	}
	if err := t.Provider.CopyTo(t.Record.Session, req.Src, req.RelDst); err != nil {
		return client.Done{}, ops.Wire(err)
	}
	return client.Done{Session: t.Record.Session, Changed: true}, nil
}

// CopyOut writes a file or directory of a session's working directory to w as a tar archive.
func (c *Controller) CopyOut(ctx context.Context, name string, req client.CopyOutRequest, w io.Writer) error {
	t, err := c.live(name, req.Instance)
	if err != nil {
		return err
	}
	err = runtime.CopyFrom(ctx, t.Provider, t.Record.Session, cmp.Or(req.Path, "."), w)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: the runtime provider %s cannot copy files from its sessions; use its own tool", client.ErrUnsupported, t.Record.Provider)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", client.ErrNotFound, err)
	case errors.Is(err, fs.ErrInvalid):
		return fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return ops.Wire(err)
}

// reachable returns the session with this name, running or not. It returns an error if there is none or if its provider is not
// open.
func (c *Controller) reachable(name string) (*publishedSession, error) {
	t, err := c.published.Find(name)
	if err != nil {
		return nil, err
	}
	if t.Provider == nil {
		return nil, fmt.Errorf("%w: cannot reach %s: %s", client.ErrUnavailable, name, t.UnknownReason)
	}
	return t, nil
}

// live returns the session with this name for a request that needs a running agent. It returns an error if the agent is known not
// to run, or if instance is not empty and another instance runs.
func (c *Controller) live(name, instance string) (*publishedSession, error) {
	t, err := c.reachable(name)
	if err != nil {
		return nil, err
	}
	if !t.Running && t.UnknownReason == "" {
		return nil, fmt.Errorf("%w: %s does not run: %s", client.ErrRefused, name, t.Agent.Reason)
	}
	return t, checkInstance(&t.Record, name, instance)
}

// checkInstance returns an error if instance is neither empty nor the running instance of r.
func checkInstance(r *session.Record, name, instance string) error {
	if instance != "" && (instance != r.Instance || !r.Running) {
		return fmt.Errorf("%w: stale instance: %s of %s is not running any more", client.ErrRefused, instance, name)
	}
	return nil
}

// appendEvent appends an event about a session, or about the city if r is nil, and logs it.
func (c *Controller) appendEvent(ctx context.Context, kind event.Kind, r *session.Record, text string, data map[string]string) {
	ev := client.Event{Kind: string(kind), Text: text, Data: data}
	if r != nil {
		ev.Agent, ev.Session, ev.Data = r.Agent, r.Session, explain.InstanceData(kind, r, data)
	}
	if _, err := c.opts.Events.Append(context.WithoutCancel(ctx), ev); err != nil {
		c.opts.Logger.Error("cannot save an event", "kind", kind, "session", ev.Session, "error", err)
	}
	c.opts.Logger.Info(text, explain.LogAttrs(&ev)...)
}
