package shimdriver

import (
	"context"

	"gascity/internal/driver"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// Deliver implements runtime.Deliverer.
func (s *Sessions) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var out runtime.Outcome
	err := s.Drive(ctx, "nudge", name, inject.Fence(d.Instance), func(l Live) (err error) {
		out, err = inject.Submit(d, l.WorkDir, func(id string, p inject.Prompt) (runtime.Outcome, error) {
			l.Delivery, l.Attempt, l.Once = id, d.Attempt, d.ID != ""
			return s.deliver(ctx, l, p)
		})
		return err
	})
	return inject.DeliveryResult(out, err)
}

// Nudge implements runtime.Input.
func (s *Sessions) Nudge(name string, content []runtime.ContentBlock) error {
	return ErrorOf("nudge", name, driver.Nudge(s, name, content))
}
