// Package tier lets a test of a package in the unit tier say that it is not in that tier itself,
// or that it makes fewer runs there.
package tier

import (
	"os"
	"testing"
)

// Process skips a test that starts another process, in the unit tier. scripts/tests sets
// GC_TEST_TIER=unit when it runs that tier alone; every other run of the test goes on.
func Process(tb testing.TB) {
	tb.Helper()
	if unit() {
		tb.Skip("starts other processes, which the unit tier does not do")
	}
}

// Runs returns the number of runs of a property test: few in the unit tier and if GC_TEST_RUNS=few,
// as make test sets it, because these answer quickly. It is all in CI and every other run of the test.
func Runs(few, all int) int {
	if unit() || os.Getenv("GC_TEST_RUNS") == "few" {
		return few
	}
	return all
}

func unit() bool { return os.Getenv("GC_TEST_TIER") == "unit" }
