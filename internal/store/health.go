package store

import (
	"errors"
	"sync"
	"time"
)

// side is reading or writing; each has its own fault.
type side int

const (
	writing side = iota
	reading
	sides
)

// health contains the current faults. Safe for concurrent use.
type health struct {
	now    func() time.Time
	change func(was, is error, lasted time.Duration) // called without the lock, one call at a time

	calls sync.Mutex // locked during change, so that its calls are in order

	mu     sync.Mutex
	faults [sides]error
	since  time.Time // when the first of them began
}

// report records the result of the last read or write; nil means that it worked. If the fault of
// the store changed by that, it calls h.change.
func (h *health) report(s side, err error) {
	h.mu.Lock()
	idle := h.faults[s] == nil && err == nil
	h.mu.Unlock()
	if idle {
		return
	}
	h.calls.Lock()
	defer h.calls.Unlock()
	h.mu.Lock()
	was := h.faultLocked()
	h.faults[s] = err
	is := h.faultLocked()
	if was == nil {
		h.since = h.now()
	}
	lasted := h.now().Sub(h.since)
	h.mu.Unlock()
	if reasonOf(was) != reasonOf(is) {
		h.change(was, is, lasted)
	}
}

// faultOf returns the fault of reading or of writing; nil if it works.
func (h *health) faultOf(s side) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.faults[s]
}

// fault returns the fault that the store has now; nil if it works.
func (h *health) fault() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.faultLocked()
}

// faultLocked returns the current fault; the caller holds mu.
func (h *health) faultLocked() error {
	for _, err := range h.faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// reasonOf returns the short reason of a fault. Two faults with the same reason count as one.
func reasonOf(err error) string {
	var known *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &known):
		return known.Reason
	}
	return err.Error()
}
