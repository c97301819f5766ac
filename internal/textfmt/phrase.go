package textfmt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Span formats a duration with one or two units: "5s", "12m", "3h07m", "2d04h". A negative duration is "0s".
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < day:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, int(d.Hours())%24)
	}
}

// Duration formats a configured duration without units that are zero: 90s is "1m30s", and 1h is "1h", not "1h0m0s".
func Duration(d time.Duration) string {
	words := d.String()
	if strings.HasSuffix(words, "m0s") {
		words = strings.TrimSuffix(words, "0s")
	}
	if strings.HasSuffix(words, "h0m") {
		words = strings.TrimSuffix(words, "0m")
	}
	return words
}

// Ago returns the time since t, such as "now" or "3m ago"; an empty string for the zero time.
func Ago(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := now.Sub(t)
	if d < time.Second {
		return "now"
	}
	return Span(d) + " ago"
}

// In returns the time until t, rounded up to seconds; an empty string if t is zero or past.
func In(now, t time.Time) string {
	d := t.Sub(now)
	if t.IsZero() || d <= 0 {
		return ""
	}
	return Span(d + time.Second - 1)
}

// Count returns a number with its noun: "1 process", "2 processes".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxListed is the largest number of names that [List] shows.
const maxListed = 8

// List joins names by commas. It shows at most 8 names and the number of the others.
func List(names []string) string {
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

// NonEmpty returns the parts that are not empty.
func NonEmpty(parts ...string) []string {
	return slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" })
}

// Join joins the parts that are not empty, separated by semicolons.
func Join(parts ...string) string { return strings.Join(NonEmpty(parts...), "; ") }

// ParseMoment parses a time that a person has typed. A duration, such as 5m or 7d, means that long before now. Else text is a
// date, or a date and a time, in the time zone of now unless it names another. Empty text is the zero time.
func ParseMoment(now time.Time, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil //nolint:gosec // 16 bits
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a duration such as 5m nor a time such as %s", text, now.Format("2006-01-02T15:04:05"))
}
