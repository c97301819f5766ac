package inject

import (
	"context"
	"errors"
	"testing"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// pipe is the journal of a pipe. A write fails with err.
type pipe struct {
	DeliveryLog

	written string
	err     error
}

func (p *pipe) Begin(_ context.Context, id, text string, undo []byte) error {
	p.DeliveryLog.Begin(id, []byte(text), undo)
	return nil
}

func (p *pipe) Type(_ context.Context, in Input, b []byte) error {
	if errors.Is(p.err, screen.ErrExited) {
		return p.err
	}
	if err := p.Send(in, b); err != nil {
		return err
	}
	p.written += string(b)
	return p.err
}

func (p *pipe) Account(_ context.Context, id string) (DeliveryAccount, error) {
	return p.DeliveryLog.Account(id), nil
}

func (p *pipe) RecordOutcome(_ context.Context, e DeliveryEntry) error {
	p.DeliveryLog.RecordOutcome(e)
	return nil
}

// What a pipe proves: that no byte was written, and never that the agent has read one.
func TestDeliverInput(t *testing.T) {
	broken := errors.New("broken pipe")
	for name, test := range map[string]struct {
		err     error
		want    runtime.OutcomeState
		settled runtime.OutcomeState
	}{
		"written":    {nil, runtime.OutcomeUnconfirmed, runtime.OutcomeUnconfirmed},
		"broken":     {broken, runtime.OutcomeUnconfirmed, runtime.OutcomeUnconfirmed},
		"has exited": {screen.ErrExited, runtime.OutcomeAbsent, runtime.OutcomeRefused},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pipe{err: test.err}
			out, err := DeliverInput(t.Context(), p, "a", []byte("text\n"))
			if out.State != test.want || (err != nil) != errors.Is(test.err, broken) {
				t.Errorf("%+v, %v", out, err)
			}
			if (p.written == "text\n") != (test.want == runtime.OutcomeUnconfirmed) {
				t.Errorf("written: %q", p.written)
			}
			for id, want := range map[string]runtime.OutcomeState{"a": test.settled, "another": runtime.OutcomeRefused} {
				if out, err := ResolveInput(t.Context(), p, id); err != nil || out.State != want {
					t.Errorf("%s: %+v, %v, want %s", id, out, err, want)
				}
			}
		})
	}
}
