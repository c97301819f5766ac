package shimdriver

import (
	"context"
	"errors"
	"testing"

	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// What a deliverer found out stands, also where another instance runs by then: only who
// sent nothing may say that nothing was sent.
func TestReplacedWhileDelivering(t *testing.T) {
	s, dir := openTest(t)
	start := func(token string) {
		t.Helper()
		cfg := runtime.Config{Command: "exec sleep 300", WorkDir: dir, Env: map[string]string{"GC_INSTANCE_TOKEN": token}}
		if err := s.Start(t.Context(), "one", cfg); err != nil {
			t.Fatal(err)
		}
	}
	start("first-token-aaaaaaaa")
	s.deliver = func(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error) {
		if err := l.Terminal.Send(ctx, []byte(p.Text+"\r")); err != nil {
			return runtime.Outcome{}, err
		}
		if err := s.Stop("one"); err != nil {
			t.Error(err)
		}
		start("second-token-bbbbbbb")
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, runtime.ErrStaleInstance
	}
	d := runtime.Delivery{ID: "id", Instance: "first-token-aaaaaaaa", Content: runtime.TextContent("hello")}
	if out, err := s.Deliver(t.Context(), "one", d); out.State != runtime.OutcomeUnconfirmed || !errors.Is(err, runtime.ErrStaleInstance) {
		t.Errorf("after the text was sent: %+v, %v, want unconfirmed", out, err)
	}
	if out, err := s.Deliver(t.Context(), "one", d); out.State != runtime.OutcomeAbsent || !errors.Is(err, runtime.ErrStaleInstance) {
		t.Errorf("before the text was sent: %+v, %v, want absent", out, err)
	}
}
