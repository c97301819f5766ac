package shimdriver

import (
	"context"
	"time"

	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// Deliver implements runtime.Deliverer.
func (s *Sessions) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var token *string
	if d.Instance != "" {
		token = &d.Instance
	}
	var out runtime.Outcome
	err := s.Drive(ctx, "nudge", name, token, func(l Live) (err error) {
		out, err = inject.Submit(d, l.WorkDir, func(id string, p inject.Prompt) (runtime.Outcome, error) {
			l.Delivery, l.Once = id, d.ID != ""
			return s.deliver(ctx, l, p)
		})
		return err
	})
	return inject.DeliveryResult(out, err)
}

// nudgeTime bounds a nudge, whose method has no context. It is long, because a long text takes as long as the agent takes to
// read it.
const nudgeTime = 5 * time.Minute

// Nudge implements runtime.Input.
func (s *Sessions) Nudge(name string, content []runtime.ContentBlock) error {
	ctx, cancel := context.WithTimeout(context.Background(), nudgeTime) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	out, err := s.Deliver(ctx, name, runtime.Delivery{Content: content})
	if err == nil {
		err = runtime.NudgeError(out)
	}
	return ErrorOf("nudge", name, err)
}
