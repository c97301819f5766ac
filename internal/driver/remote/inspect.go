package remote

import (
	"context"
	"time"

	"gascity/runtime"
)

// IsRunning implements runtime.Inspector. It returns false if the remote end cannot be asked.
func (p *Provider) IsRunning(name string) bool {
	yes, err := askBriefly[bool](p, "is-running", name, empty{})
	return yes && err == nil
}

// IsAttached implements runtime.Inspector. It returns false if the remote end cannot be asked.
func (p *Provider) IsAttached(name string) bool {
	yes, err := askBriefly[bool](p, "is-attached", name, empty{})
	return yes && err == nil
}

// ProcessAlive implements runtime.Inspector. It returns false if the remote end cannot be asked.
func (p *Provider) ProcessAlive(name string, processNames []string) bool {
	if len(processNames) == 0 {
		return true // no check is possible
	}
	yes, err := askBriefly[bool](p, "process-alive", name, processNames)
	return yes && err == nil
}

// ListRunning implements runtime.Inspector.
func (p *Provider) ListRunning(prefix string) ([]string, error) {
	return askBriefly[[]string](p, "list-running", "", prefix)
}

// GetLastActivity implements runtime.Inspector.
func (p *Provider) GetLastActivity(name string) (time.Time, error) {
	return askBriefly[time.Time](p, "last-activity", name, empty{})
}

// Observe implements runtime.Observer.
func (p *Provider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	o, err := askFor[observation](ctx, p.link, call{"observe", name, empty{}, queryGrace})
	if o.At.IsZero() { // no answer
		o.At = time.Now()
	}
	return o.unpack(), err
}

// Sense implements runtime.Sensor.
func (p *Provider) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	r, err := askFor[reading](ctx, p.link, call{"sense", name, empty{}, queryGrace})
	return r.unpack(), err
}

// Peek implements runtime.Output.
func (p *Provider) Peek(name string, lines int) (string, error) {
	return askBriefly[string](p, "peek", name, lines)
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	return askBriefly[*runtime.PendingInteraction](p, "pending", name, empty{})
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	_, err := askFor[empty](ctx, p.link, call{"wait-for-idle", name, waitRequest{Limit: timeout}, queryGrace})
	return err
}

// WaitForInterruptBoundary implements runtime.InterruptBoundaryWaitProvider.
func (p *Provider) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	_, err := askFor[empty](ctx, p.link, call{"wait-for-boundary", name, waitRequest{since, timeout}, queryGrace})
	return err
}

// FindRuntimesBySessionID implements runtime.ProcessTableScanner for the processes of the remote machine.
func (p *Provider) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	return askBriefly[[]runtime.LiveRuntime](p, "find-runtimes", "", id)
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(r runtime.LiveRuntime) error {
	return askAction(p, "terminate", "", r)
}

// SupportsTransport implements runtime.TransportCapabilityProvider. Its time limit is that of an action, because the first call
// over a slow connection also sets up the remote end. It returns false if the remote end cannot be asked.
func (p *Provider) SupportsTransport(transport string) bool {
	ctx, cancel := context.WithTimeout(p.link.ctx, actionLimit)
	defer cancel()
	yes, err := askFor[bool](ctx, p.link, call{"supports-transport", "", transport, queryGrace})
	return yes && err == nil
}
