// Package inject types prompts into an interactive terminal and confirms that the agent has accepted them. If a
// delivery was interrupted, the package finds out its outcome and removes its text from the input box. It logs these
// steps in a journal. All drivers with a terminal use it. Package screen interprets the screen.
//
// A driver acquires a [Lease] and calls [Deliver] and [ResolveDelivery] with it:
//
//	lease := ... // no other caller or process delivers into this session now
//	defer ...    // release the lease
//	outcome, err := inject.Deliver(ctx, lease, inputlog.ID(d.ID, text), inject.Prompt{Text: text}, rules)
//
// There are no fixed sleeps. Every wait is for the next frame, with a deadline.
package inject
