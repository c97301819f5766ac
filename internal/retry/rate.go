package retry

import "time"

// Rate is how many events are allowed: Burst at once, then one for each interval of Every.
type Rate struct {
	Burst float64
	Every time.Duration
}

// Bucket is a token bucket. The zero value is full. It is not safe for concurrent use.
type Bucket struct {
	used float64 // tokens that are missing
	at   time.Time
}

// Allow reports whether the rate allows another event now, and counts it if so.
func (b *Bucket) Allow(r Rate, now time.Time) bool {
	if earned := now.Sub(b.at); earned > 0 {
		b.used = max(0, b.used-float64(earned)/float64(r.Every))
	}
	b.at = now
	if b.used+1 > r.Burst {
		return false
	}
	b.used++
	return true
}
