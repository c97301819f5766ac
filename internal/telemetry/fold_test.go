package telemetry

import (
	"testing"

	"gascity/worker"
)

func TestInputCountsTheCacheOnce(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	for name, row := range map[string]struct {
		usage worker.Usage
		want  *int64
	}{
		"disjoint buckets":          {worker.Usage{InputTokens: count(10), CacheReadTokens: count(200), CacheCreationTokens: count(3000)}, count(3210)},
		"named so":                  {worker.Usage{Semantics: worker.Disjoint, InputTokens: count(10), CacheReadTokens: count(200)}, count(210)},
		"the cache is in the input": {worker.Usage{Semantics: worker.CacheInInput, InputTokens: count(10), CacheReadTokens: count(4)}, count(10)},
		"thinking inside":           {worker.Usage{Semantics: worker.ThinkingInside, InputTokens: count(10), CacheReadTokens: count(4)}, count(10)},
		"unknown stays unknown":     {worker.Usage{CacheReadTokens: count(4)}, nil},
	} {
		got := allInput(&row.usage)
		if (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}
