package store

import (
	"fmt"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
)

// closer makes sure that an end comes once.
type closer struct {
	once sync.Once
	err  error
}

// Close writes what has not been written, and ends the store. Calls that wait
// are answered, later ones fail with [ErrClosed]. It may be called twice. A disk
// that does not answer is an error after the store's patience; then the writer
// is left behind.
func (d *DB) Close() error {
	d.ending.once.Do(func() {
		close(d.closing)
		patience := time.NewTimer(d.opts.Timeout)
		defer patience.Stop()
		select {
		case <-d.writerDone:
			d.ending.err = d.closeErr
		case <-patience.C:
			d.ending.err = unavailable("close the store", d.path, errSlow)
		}
	})
	return d.ending.err
}

func (d *DB) isClosing() bool {
	select {
	case <-d.closing:
		return true
	default:
		return false
	}
}

// Damage returns what was found damaged or missing when the store was opened, nil
// if it was sound, or this is a first start.
func (d *DB) Damage() *Damage { return d.damage }

// Fault returns what is wrong with the store now, nil if it works. It is a
// glance, and matches [ErrUnavailable]. A store that is not open yet, nil, has none.
func (d *DB) Fault() error {
	if d == nil {
		return nil
	}
	return d.health.fault()
}

// faultChanged reports a fault that begins, changes or ends.
func (d *DB) faultChanged(was, is error, lasted time.Duration) {
	switch {
	case was == nil:
		d.opts.Logger.Error("the city's database is degraded", "error", is)
		_, _ = d.Append(client.Event{ // fails only when closed
			Kind: string(event.StoreDegraded), Text: is.Error(), Data: map[string]string{"error": is.Error()},
		})
	case is == nil:
		d.opts.Logger.Info("the city's database works again", "after", lasted)
		_, _ = d.Append(client.Event{ // fails only when closed
			Kind: string(event.StoreRecovered), Text: "the city's database works again",
			Data: map[string]string{"seconds": fmt.Sprintf("%.1f", lasted.Seconds()), "lost": fmt.Sprint(d.events.resetLost())},
		})
	}
	d.wakeWriter()
	if d.opts.OnFault != nil {
		d.opts.OnFault(is)
	}
}
