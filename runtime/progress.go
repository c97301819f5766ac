package runtime

import "context"

type progressKey struct{}

// WithProgress returns a context whose start reports its progress. The start calls report at each
// change with a text for people that describes what it waits for, or with "" if it waits for
// nothing in particular. report must not block, and several goroutines may call it.
func WithProgress(ctx context.Context, report func(message string)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// TellProgress sends message, which describes what a start waits for, to the function of
// [WithProgress]. It does nothing if ctx has no such function.
func TellProgress(ctx context.Context, message string) {
	if report, ok := ctx.Value(progressKey{}).(func(string)); ok {
		report(message)
	}
}
