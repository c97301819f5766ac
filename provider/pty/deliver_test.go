package pty

import (
	"slices"
	"strings"
	"testing"
)

// What is remembered of deliveries that were cut off always fits into a request.
func TestLatestLeftovers(t *testing.T) {
	big := strings.Repeat("x", maxLeftBytes-1)
	for _, c := range []struct {
		texts []string
		want  []string
	}{
		{nil, nil},
		{[]string{"a", "new", "b"}, []string{"a", "b"}},
		{[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, []string{"3", "4", "5", "6", "7", "8", "9"}},
		{[]string{"a", big, "b"}, []string{big, "b"}},
		{[]string{"a", big + big}, nil},
	} {
		if got := latest(c.texts, "new"); !slices.Equal(got, c.want) {
			t.Errorf("latest of %.30q has %d texts, want %d", c.texts, len(got), len(c.want))
		}
	}
}
