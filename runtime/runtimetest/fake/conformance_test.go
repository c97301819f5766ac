package fake_test

import (
	"testing"

	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

func TestConformance(t *testing.T) {
	runtimetest.Run(t, fake.Harness(nil))
}
