// Package tier lets a test say what it needs, where its package is in the unit tier and the
// test itself is not.
package tier

import (
	"os"
	"testing"
)

// Process skips a test that starts another process, in the unit tier. scripts/tests sets
// GC_TEST_TIER=unit when it runs that tier alone; every other run of the test goes on.
func Process(tb testing.TB) {
	tb.Helper()
	if os.Getenv("GC_TEST_TIER") == "unit" {
		tb.Skip("starts other processes, which the unit tier does not do")
	}
}
