package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

func TestPick(t *testing.T) {
	all := len(runtimetest.Cases())
	for _, tt := range []struct {
		patterns string
		want     int    // at least
		missing  string // what the error says
	}{
		{"", all, ""},
		{"*", all, ""},
		{"stop.twice", 1, ""},
		{"watch.* idle.busy watch.life", 3, ""},
		{"stop.twise", 0, "stop.twice"},
		{"stopp.*", 0, "stop,"},
		{"[", 0, "pattern"},
		{"stop.twice nope", 0, "nope"},
	} {
		got, err := pickCases(strings.Fields(tt.patterns))
		if tt.missing != "" {
			if err == nil || !strings.Contains(err.Error(), tt.missing) {
				t.Errorf("Pick(%s) = %v, want an error with %q", tt.patterns, err, tt.missing)
			}
			continue
		}
		if err != nil || len(got) < tt.want || tt.patterns != "" && tt.patterns != "*" && len(got) == all {
			t.Errorf("Pick(%s) = %d cases, %v, want at least %d", tt.patterns, len(got), err, tt.want)
		}
	}
}

// Results come in the order of the cases, each as soon as it may.
func TestContractReportsInOrder(t *testing.T) {
	gate := make(chan struct{})
	wait := func(t runtimetest.T, w *runtimetest.World) {
		select {
		case <-gate:
		case <-w.Context().Done():
			t.Errorf("%v", context.Cause(w.Context()))
		}
	}
	var ids []string
	err := runCases(t.Context(), fake.Harness(nil), []runtimetest.Case{
		{ID: "a.first", Run: func(runtimetest.T, *runtimetest.World) {}},
		{ID: "b.held", Run: wait},
		{ID: "c.quick", Run: func(runtimetest.T, *runtimetest.World) {}},
	}, func(r runtimetest.Result) {
		if ids = append(ids, r.ID); len(ids) == 1 {
			close(gate)
		}
	})
	if want := []string{"a.first", "b.held", "c.quick"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("reported %q, %v, want %q", ids, err, want)
	}
}

// An interrupt of a check ends the rest of the contract.
func TestContractEndsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := runCases(ctx, fake.Harness(nil), runtimetest.Cases(), func(r runtimetest.Result) { t.Errorf("%s was run", r.ID) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Contract = %v, want that it was interrupted", err)
	}
}
