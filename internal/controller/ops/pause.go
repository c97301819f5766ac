package ops

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pause returns the pause after n failures in a row: 1 s, 3 s, 9 s, up to 5 minutes.
func Pause(n int) time.Duration {
	b := backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 3, MaxInterval: 5 * time.Minute}
	b.Reset()
	pause := b.NextBackOff()
	for range min(n, 20) - 1 {
		pause = b.NextBackOff()
	}
	return pause
}
