package doctor

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"gascity/runtime/runtimetest"
)

// casesAtOnce is the maximum number of cases that run at a time.
const casesAtOnce = 4

// pickCases returns the cases of the contract whose ID matches one of the patterns ("watch.*"), in
// the order of the reference. Without patterns it returns all cases. A pattern that matches no case
// is an error.
func pickCases(patterns []string) ([]runtimetest.Case, error) {
	cases := runtimetest.Cases()
	if len(patterns) == 0 {
		return cases, nil
	}
	matches := func(pattern string, c runtimetest.Case) bool {
		hit, err := path.Match(pattern, c.ID)
		return err == nil && hit
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q is not a valid pattern for cases: %w", pattern, err)
		}
		if !slices.ContainsFunc(cases, func(c runtimetest.Case) bool { return matches(pattern, c) }) {
			return nil, fmt.Errorf("the contract has no case %q; %s", pattern, findSimilarCase(pattern, cases))
		}
	}
	return slices.DeleteFunc(cases, func(c runtimetest.Case) bool {
		return !slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, c) })
	}), nil
}

// findSimilarCase returns a hint for a pattern that matches no case: the names of similar cases, or, if there are none, the
// first parts of all names.
func findSimilarCase(pattern string, cases []runtimetest.Case) string {
	facets := map[string][]string{}
	for _, c := range cases {
		facet, _, _ := strings.Cut(c.ID, ".")
		facets[facet] = append(facets[facet], c.ID)
	}
	facet, _, _ := strings.Cut(pattern, ".")
	if ids := facets[facet]; ids != nil {
		return "there are " + strings.Join(ids, ", ")
	}
	return "their names begin with " + strings.Join(slices.Sorted(maps.Keys(facets)), ", ")
}

// runCases runs the cases, up to [casesAtOnce] at a time, and reports the results in order. After
// the end of ctx no case starts, and it returns the cause of ctx.
func runCases(ctx context.Context, h runtimetest.Harness, cases []runtimetest.Case, report func(runtimetest.Result)) error {
	results := make([]chan runtimetest.Result, len(cases))
	for i := range results {
		results[i] = make(chan runtimetest.Result, 1)
	}
	slots := make(chan struct{}, casesAtOnce)
	var wait sync.WaitGroup
	wait.Go(func() {
		for i, c := range cases {
			slots <- struct{}{}
			wait.Go(func() {
				defer close(results[i])
				if ctx.Err() == nil {
					results[i] <- c.Check(ctx, h)
				}
				<-slots
			})
		}
	})
	for _, result := range results {
		if r, ok := <-result; ok {
			report(r)
		}
	}
	wait.Wait()
	return context.Cause(ctx)
}
