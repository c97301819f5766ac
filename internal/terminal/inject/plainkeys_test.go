package inject

import (
	"strings"
	"testing"
)

// TestALongTextIsNoReply: text behind the beginning of an answer of the terminal that was cut off is a person's.
func TestALongTextIsNoReply(t *testing.T) {
	long := "\x1b]11;" + strings.Repeat("typed ", 300) + "\a"
	for input, want := range map[string]string{"\x1b]11;rgb:1/2/3\ax": "x", "\x1b[?62;22cx": "x", long: long} {
		if got := plainKeys(input); got != want {
			t.Errorf("plainKeys(%.40q) = %.40q, want %.40q", input, got, want)
		}
	}
}
