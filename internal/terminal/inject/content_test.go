package inject

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzSkeleton: what is compared of a text is what the slow and plain description of it says,
// for every text.
func FuzzSkeleton(f *testing.F) {
	for _, s := range []string{"", "a b", " \t\n", "e\u0301 \u0301x", "a\u00ad\u0301", "作業 7٣", "🚀", "\xff\x80a\u0300\u0301b", "\x7f\x1b[A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f || unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, s)
		if want == "" {
			want = strings.Join(strings.Fields(s), "")
		}
		if got := skeleton(s); got != want {
			t.Errorf("the skeleton of %q is %q, want %q", s, got, want)
		}
		var ascii []rune
		runes := []rune(s)
		for i, r := range runes {
			if r > ' ' && r < 0x7f && (i+1 == len(runes) || !unicode.Is(unicode.M, runes[i+1])) {
				ascii = append(ascii, r)
			}
		}
		if got := plain(s); got != string(ascii) {
			t.Errorf("%q has the plain characters %q, want %q", s, got, string(ascii))
		}
	})
}
