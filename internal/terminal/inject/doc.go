// Package inject writes to an interactive terminal: one prompt with its confirmation, its
// way back out of the input box where it was cut off, and the account of all that. It is
// written once, for every driver that has a terminal; what is on the screen is read by
// package screen.
//
// A driver brings a [Lease] and calls [Deliver] and [ResolveDelivery] with it:
//
//	lease := ... // no other caller or process delivers into this session now
//	defer ...    // and gives it back
//	outcome, err := inject.Deliver(ctx, lease, inputlog.ID(d.ID, text), inject.Prompt{Text: text}, rules)
//
// Nothing here waits for a fixed time. Every wait is for the next frame, with a deadline.
package inject
