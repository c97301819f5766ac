package runtime

import "context"

type progressKey struct{}

// WithProgress returns a context whose start reports its progress: it calls the function, as
// often as that changes, with what it waits for, in words for people; empty: with nothing in
// particular. It must not block, and may be called by several goroutines.
func WithProgress(ctx context.Context, told func(words string)) context.Context {
	return context.WithValue(ctx, progressKey{}, told)
}

// TellProgress reports what a start waits for to the caller that made its context with
// [WithProgress]. It does nothing without such a caller.
func TellProgress(ctx context.Context, words string) {
	if told, ok := ctx.Value(progressKey{}).(func(string)); ok {
		told(words)
	}
}
