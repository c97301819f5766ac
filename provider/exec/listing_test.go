package exec

import (
	"testing"
	"time"

	"gascity/runtime"
)

// A slow listing is not followed by another at once. A session that needs one for another reason still gets it.
func TestListingsArePaced(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := now.Add
	tests := map[string]struct {
		wanted, again, began, least, most time.Time
	}{
		"quick":              {again: in(time.Second), began: now, least: in(time.Second), most: in(time.Second)},
		"slow":               {again: in(time.Second), began: in(-3 * time.Second), least: in(9 * time.Second), most: in(time.Hour)},
		"sooner for another": {wanted: in(time.Second), again: in(5 * time.Second), began: now, least: in(time.Second), most: in(time.Second)},
		"nothing changes":    {wanted: in(time.Minute), began: in(-time.Hour), least: in(time.Minute), most: in(time.Minute)},
		"no reason at all":   {began: in(-time.Hour)},
	}
	for name, tt := range tests {
		if got := nextSample(tt.wanted, tt.again, tt.began); got.Before(tt.least) || got.After(tt.most) {
			t.Errorf("%s: the next look is at %v, want %v to %v", name, got, tt.least, tt.most)
		}
	}
}

// The result of a slow listing is used to avoid calls of the script for sessions that are gone.
func TestRecentListing(t *testing.T) {
	t.Parallel()
	found := map[string]runtime.Observation{"one": {Session: runtime.Alive}, "two": {Session: runtime.Unknown}}
	tests := map[string]struct {
		last  *listing
		fresh time.Duration
		name  string
		want  bool
	}{
		"none":          {nil, time.Second, "one", false},
		"young":         {&listing{at: time.Now(), found: found}, time.Hour, "one", true},
		"not in it":     {&listing{at: time.Now(), found: found}, time.Hour, "three", false},
		"not known":     {&listing{at: time.Now(), found: found}, time.Hour, "two", false},
		"old":           {&listing{at: time.Now().Add(-time.Hour), took: time.Second, found: found}, time.Minute, "one", false},
		"old, but dear": {&listing{at: time.Now().Add(-time.Hour), took: time.Hour, found: found}, time.Minute, "one", true},
		"never twice":   {&listing{at: time.Now(), took: time.Hour, found: found}, -1, "one", false},
	}
	for name, tt := range tests {
		l := &listingCache{p: &Provider{cfg: Config{Fresh: tt.fresh}}, last: tt.last}
		if got := l.recent(tt.name); got != tt.want {
			t.Errorf("%s: recent = %v, want %v", name, got, tt.want)
		}
	}
}
