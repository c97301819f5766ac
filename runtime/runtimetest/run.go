package runtimetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Subtester is what [Run] needs of a test beyond [T]; *testing.T is one. It
// keeps package testing out of programs that call [Check].
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
	Skipped       Status = "skipped"        // by Harness.Skip
	NotApplicable Status = "not applicable" // a need is not met
)

// Result is the result of one case, with its id.
type Result struct {
	ID       string        `json:"id"`
	Sentence string        `json:"sentence"`
	Status   Status        `json:"status"`
	Detail   []string      `json:"detail,omitempty"` // failures and log lines, the reason of a skip, or the unmet need
	Took     time.Duration `json:"took"`
}

// Run tries every case as a parallel subtest of t, "case/<ID>", and returns the
// results in the order of [Cases] when all have ended. t is a *testing.T.
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

// report ends the subtest as the case ended.
func report[X Subtester[X]](t X, r Result) {
	t.Helper()
	say := t.Logf
	switch r.Status {
	case Skipped, NotApplicable:
		t.Skipf("%s: %s", r.Status, strings.Join(r.Detail, " "))
	case Failed:
		t.Logf("%s promises: %s", r.ID, r.Sentence)
		say = t.Errorf
	case Passed:
	}
	for _, line := range r.Detail {
		say("%s", line)
	}
}

// validate finds mistakes in the harness itself.
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
			return fmt.Errorf("the harness skips %q, which is no case", id)
		}
		if h.Skip[id] == "" {
			return fmt.Errorf("the harness skips %q without a reason", id)
		}
	}
	return nil
}
