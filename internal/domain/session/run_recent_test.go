package session_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"gascity/internal/domain/session"
)

// TestRecent checks that a name that was added can be removed once, and that the newest 256 names
// are never dropped.
func TestRecent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var names session.RecentNames
		var there []string // the newest last
		for range rapid.IntRange(0, 2000).Draw(t, "steps") {
			name := strconv.Itoa(rapid.IntRange(0, 1000).Draw(t, "name"))
			at := slices.Index(there, name)
			if at >= 0 {
				there = slices.Delete(there, at, at+1)
			}
			if rapid.IntRange(0, 4).Draw(t, "kind") > 0 {
				names.Add(name)
				there = append(there, name)
				continue
			}
			had, newest := names.Remove(name), at >= 0 && at >= len(there)+1-256
			if had && at < 0 || newest && !had {
				t.Fatalf("%q, number %d of %d, was there: %v", name, at, len(there)+1, had)
			}
		}
	})
}
