package shim

import "gascity/internal/terminal/inject"

// Records of prompt deliveries.
type (
	// Entry is the record of one delivery of a prompt.
	Entry = inject.DeliveryEntry
	// Account holds the records of the deliveries of one instance.
	Account = inject.DeliveryAccount
)

// OutcomeWithdrawn is the outcome of a delivery whose text was deleted from the input box before it was submitted.
const OutcomeWithdrawn = inject.OutcomeWithdrawn

// ErrTouched reports that a piece of input was not sent, because other input was sent before it.
var ErrTouched = inject.ErrTouched

// ErrChanged reports that a piece of input was not sent, because the terminal has changed since the frame that it was meant
// for.
var ErrChanged = inject.ErrChanged

// touchLocked records that p, which belongs to no delivery, is about to be sent. It returns the keys that must be sent before p
// to delete the text of a delivery.
func (h *host) touchLocked(p []byte) []byte {
	undo := h.deliveries.Touch()
	h.deliveries.Typed(p)
	return undo
}
