package k8s

import (
	"context"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"gascity/runtime"
)

var _ runtime.TerminalOpener = (*Provider)(nil)

// OpenTerminal implements runtime.TerminalOpener. A stop deletes the session's pod, and the connection to it ends. So the lost
// connection to a pod that does not run any more is the end of the terminal; its last output is lost if no frame had it.
func (p *Provider) OpenTerminal(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	conn, err := p.atContext(ctx, "watch", name)
	if err != nil {
		return nil, err
	}
	pod, err := p.view.pod(name)
	if err != nil || pod == nil {
		return nil, &runtime.Error{Op: "watch", Session: name, Err: errors.Join(runtime.ErrSessionNotFound, err)}
	}
	t, err := runtime.OpenTerminal(ctx, conn.client, name, opts)
	if err != nil {
		return nil, err
	}
	return &podTerminal{Terminal: t, provider: p, name: name, pod: pod.UID}, nil
}

// podTerminal is the terminal of one pod.
type podTerminal struct {
	runtime.Terminal

	provider *Provider
	name     string
	pod      types.UID

	// Used only by the caller of Next.
	last  runtime.TerminalFrame // its size
	ended bool
}

// Next implements runtime.Terminal.
func (t *podTerminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	if t.ended {
		return runtime.TerminalFrame{}, io.EOF
	}
	f, err := t.Terminal.Next(ctx)
	if errors.Is(err, runtime.ErrRuntimeUnavailable) && t.isGone() {
		t.ended = true
		return runtime.TerminalFrame{Cols: t.last.Cols, Rows: t.last.Rows, Ended: true}, nil
	}
	if err == nil {
		t.last = f
	}
	return f, err
}

// isGone reports whether the cluster says that the pod does not run any more. It is false if that is unknown.
func (t *podTerminal) isGone() bool {
	pod, err := t.provider.view.pod(t.name)
	if err != nil {
		return false
	}
	if pod == nil || pod.UID != t.pod {
		return true
	}
	phase := Judge(pod, nil).Phase
	return phase == Ended || phase == Leaving
}
