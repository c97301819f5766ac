package store

import (
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
)

// Close writes all pending changes and closes the store. Calls in progress are completed; later
// calls fail with [ErrClosed]. Close may be called twice. If the disk does not respond within
// Options.Timeout, Close returns an error and the writer goroutine keeps waiting for the disk.
func (d *DB) Close() error { return d.closeOnce() }

// close does the work of [DB.Close], which calls it once.
func (d *DB) close() error {
	close(d.closing)
	select {
	case <-d.writerDone:
		return d.closeErr
	case <-time.After(d.opts.Timeout):
		return unavailable("close the store", d.path, errSlow)
	}
}

// isClosing reports whether Close was called.
func (d *DB) isClosing() bool {
	select {
	case <-d.closing:
		return true
	default:
		return false
	}
}

// Damage returns what was damaged or missing when the store was opened; nil if it was intact or is
// new.
func (d *DB) Damage() *Damage { return d.damage }

// Fault returns the current fault of the store, nil if it works. The fault matches
// [ErrUnavailable]. Fault does not access the disk.
func (d *DB) Fault() error {
	return d.health.fault()
}

// faultChanged logs that a fault of the store has begun, changed or ended, emits an event for it,
// and calls Options.OnFault. was and is are the fault before and now; nil means none.
func (d *DB) faultChanged(was, is error, lasted time.Duration) {
	switch {
	case was == nil:
		d.opts.Logger.Error("the city's database is degraded", "error", is)
		_, _ = d.Append(d.base, client.Event{ // fails only when closed
			Kind: string(event.StoreDegraded), Text: is.Error(), Data: map[string]string{"error": is.Error()},
		})
	case is == nil:
		d.opts.Logger.Info("the city's database works again", "after", lasted)
		_, _ = d.Append(d.base, client.Event{ // fails only when closed
			Kind: string(event.StoreRecovered), Text: "the city's database works again",
			Data: map[string]string{"seconds": fmt.Sprintf("%.1f", lasted.Seconds()), "lost": fmt.Sprint(d.events.resetLost())},
		})
	}
	signal(d.wake)
	if d.opts.OnFault != nil {
		d.opts.OnFault(is)
	}
}
