package cli

import (
	"fmt"
	"time"

	"gascity/client"
)

// moment returns the time that --since means: a duration back from now, or a
// time of its own. Empty is the zero time.
func moment(now time.Time, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: --since %q is neither a duration such as 5m nor a time such as %s", client.ErrInvalid, text, now.Format(time.RFC3339))
}
