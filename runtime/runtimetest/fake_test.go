package runtimetest_test

import (
	"testing"

	"gascity/runtime/runtimetest"
)

func TestConformance(t *testing.T) {
	runtimetest.Run(t, runtimetest.FakeHarness(nil))
}
