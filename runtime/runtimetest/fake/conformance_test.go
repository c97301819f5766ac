package fake_test

import (
	"testing"

	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

func TestConformance(t *testing.T) {
	for _, r := range runtimetest.Run(t, fake.Harness(nil)) {
		if r.Status != runtimetest.Passed {
			t.Errorf("%s %s, but the fake has everything: %v", r.ID, r.Status, r.Detail)
		}
	}
}
