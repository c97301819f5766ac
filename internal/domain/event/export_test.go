package event

import "context"

// Release appends the deferred events like [Limited.Run].
func (l *Limited) Release(ctx context.Context, end bool) { l.release(ctx, end) }
