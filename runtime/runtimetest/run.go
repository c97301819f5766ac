package runtimetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Subtester is the part of *testing.T that [Run] needs in addition to [T]. With it, programs that
// call [Check] do not import package testing.
type Subtester[X any] interface {
	T
	Run(name string, f func(X)) bool
	Parallel()
	Skipf(format string, args ...any)
	Context() context.Context
}

// Status is the result of a case.
type Status string

// The statuses.
const (
	Passed        Status = "passed"
	Failed        Status = "failed"
	Skipped       Status = "skipped"        // listed in Harness.Skip
	NotApplicable Status = "not applicable" // a need is not met
)

// Result is the result of one case.
type Result struct {
	ID       string        `json:"id"`
	Sentence string        `json:"sentence"`
	Status   Status        `json:"status"`
	Detail   []string      `json:"detail,omitempty"` // failures and log lines, the reason of a skip, or the unmet need
	Took     time.Duration `json:"took"`
}

// Run runs every case as a parallel subtest of t with the name "case/<ID>". It returns the results
// in the order of [Cases] when all cases have ended. t is a *testing.T.
func Run[X Subtester[X]](t X, h Harness) []Result {
	t.Helper()
	if err := h.validate(); err != nil {
		t.Errorf("%v", err)
	}
	cases := Cases()
	results := make([]Result, len(cases))
	t.Run("case", func(group X) {
		for i, c := range cases {
			group.Run(c.ID, func(t X) {
				t.Parallel()
				results[i] = try(t.Context(), &h, c)
				report(t, results[i])
			})
		}
	})
	return results
}

// report ends the subtest with the result of the case.
func report[X Subtester[X]](t X, r Result) {
	t.Helper()
	log := t.Logf
	switch r.Status {
	case Skipped, NotApplicable:
		t.Skipf("%s: %s", r.Status, strings.Join(r.Detail, " "))
	case Failed:
		t.Logf("%s promises: %s", r.ID, r.Sentence)
		log = t.Errorf
	case Passed:
	}
	for _, line := range r.Detail {
		log("%s", line)
	}
}

// validate returns an error for a mistake in the harness.
func (h *Harness) validate() error {
	if h.New == nil || h.Agent == nil {
		return fmt.Errorf("the harness needs New and Agent")
	}
	known := map[string]bool{}
	for _, c := range Cases() {
		known[c.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(h.Skip)) {
		if !known[id] {
			return fmt.Errorf("the harness skips %q, which is not a case", id)
		}
		if h.Skip[id] == "" {
			return fmt.Errorf("the harness skips %q without a reason", id)
		}
	}
	return nil
}
