// Package inject types prompts into an interactive terminal and confirms that the agent has accepted them. If a
// delivery was interrupted, the package finds out its outcome and removes its text from the input box. It logs these
// steps in a [Journal], whose content is a [DeliveryLog]. All drivers with a terminal use it. Package screen interprets the screen.
//
// A driver acquires a [Lease] and calls [Deliver] and [ResolveDelivery] with it:
//
//	lease := ... // no other caller or process delivers into this session now
//	defer ...    // release the lease
//	outcome, err := inject.Deliver(ctx, lease, inject.DeliveryID(d.ID, text), inject.Prompt{Text: text}, rules)
//
// The process that owns a terminal uses a [Runner]: its deliveries have names and do not end with their clients.
//
// [TextChanges] predicts the changes that the input box of an agent CLI makes to a text. The rules were measured with the real
// agent CLI (agentcli.Input). A change is harmless if a reader sees the same text: other line ends, spaces for tabs, removed
// spaces and line feeds at the edges. Any other change may alter the meaning. gc types a text with such a change only if its
// sender allows it.
//
// There are no fixed sleeps. Every wait is for the next frame, with a deadline.
package inject
