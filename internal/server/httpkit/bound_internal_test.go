package httpkit

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The context of a handler without a limit ends with its request and with the service, before and after its first use, and
// its cause says which.
func TestBoundWithoutALimit(t *testing.T) {
	ending, gone := errors.New("the service stops"), errors.New("the caller is gone")
	type key struct{}
	for name, c := range map[string]struct {
		end  func(request, service context.CancelCauseFunc)
		want error
	}{
		"the request ends": {func(request, _ context.CancelCauseFunc) { request(gone) }, gone},
		"the service ends": {func(_, service context.CancelCauseFunc) { service(nil) }, ending},
	} {
		for _, used := range []bool{false, true} {
			closing, service := context.WithCancelCause(t.Context())
			parent := context.WithValue(t.Context(), lifetimeKey{}, &Lifetime{closing, t.Context()})
			parent, request := context.WithCancelCause(context.WithValue(parent, key{}, "value"))
			ctx, finish := (&API{Ending: ending}).Bound(parent, 0)
			if used && (ctx.Err() != nil || context.Cause(ctx) != nil || ctx.Value(key{}) != "value") {
				t.Errorf("%s: at first the error is %v and the value %v", name, ctx.Err(), ctx.Value(key{}))
			}
			c.end(request, service)
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
				t.Fatalf("%s (used before: %v): the context has not ended", name, used)
			}
			if got := context.Cause(ctx); !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(got, c.want) {
				t.Errorf("%s (used before: %v): the error is %v with cause %v, want %v", name, used, ctx.Err(), got, c.want)
			}
			finish()
			service(nil)
		}
	}
}

// A context that is used only after its handler has returned does not stay registered with the service.
func TestBoundAfterItsHandler(t *testing.T) {
	parent, request := context.WithCancel(t.Context())
	ctx, finish := (&API{Ending: errors.New("the service stops")}).Bound(parent, 0)
	finish()
	if ctx.Done() != parent.Done() {
		t.Error("the context is not the one of the request")
	}
	request()
	if ctx.Err() == nil {
		t.Error("the context has not ended with the request")
	}
}
