package providerprobe

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

// atOnce is how many cases of the contract run at a time.
const atOnce = 4

// Pick returns the cases of the contract whose id matches one of the patterns ("watch.*"),
// in the order of the reference, all of them without a pattern. A pattern that matches none
// is an error.
func Pick(patterns []string) ([]runtimetest.Case, error) {
	cases := runtimetest.Cases()
	if len(patterns) == 0 {
		return cases, nil
	}
	wanted := make([]bool, len(cases))
	for _, pattern := range patterns {
		hits := 0
		for i, c := range cases {
			hit, err := path.Match(pattern, c.ID)
			if err != nil {
				return nil, fmt.Errorf("%q is not a pattern of cases: %w", pattern, err)
			}
			if hit {
				wanted[i] = true
				hits++
			}
		}
		if hits == 0 {
			return nil, fmt.Errorf("the contract has no case %q; %s", pattern, alike(pattern, cases))
		}
	}
	picked := []runtimetest.Case{}
	for i, c := range cases {
		if wanted[i] {
			picked = append(picked, c)
		}
	}
	return picked, nil
}

// alike names the cases of the facet that was meant, or the facets.
func alike(pattern string, cases []runtimetest.Case) string {
	facets := map[string][]string{}
	for _, c := range cases {
		facet, _, _ := strings.Cut(c.ID, ".")
		facets[facet] = append(facets[facet], c.ID)
	}
	facet, _, _ := strings.Cut(pattern, ".")
	if ids := facets[facet]; ids != nil {
		return "there are " + strings.Join(ids, ", ")
	}
	return "they begin with " + strings.Join(slices.Sorted(maps.Keys(facets)), ", ")
}

// Contract tries the cases, some at a time, and reports each in their order as soon as those
// before it are done. No case begins after the end of ctx, which is the error then.
func Contract(ctx context.Context, h runtimetest.Harness, cases []runtimetest.Case, report func(runtimetest.Result)) error {
	results := make([]chan runtimetest.Result, len(cases))
	for i := range results {
		results[i] = make(chan runtimetest.Result, 1)
	}
	slots := make(chan struct{}, atOnce)
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
