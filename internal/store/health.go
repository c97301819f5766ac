package store

import (
	"errors"
	"sync"
	"time"
)

// side is which half of the store is in trouble.
type side int

const (
	writing side = iota
	reading
	sides
)

// health is what is wrong now. Safe for concurrent use.
type health struct {
	now    func() time.Time
	change func(was, is error, lasted time.Duration) // called without the lock, one call at a time

	calls sync.Mutex // held during change, so that calls come in order

	mu     sync.Mutex
	faults [sides]error
	since  time.Time // of the first of them
}

// report records how the last attempt on one side went; nil: it works.
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

// faultOf returns what is wrong with one side.
func (h *health) faultOf(s side) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.faults[s]
}

// fault returns what is wrong, nil if nothing is.
func (h *health) fault() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.faultLocked()
}

func (h *health) faultLocked() error {
	for _, err := range h.faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// reasonOf returns what a fault is in a few words: those with the same are one.
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
