package textfmt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAReasonIsOneLineWithTheCause(t *testing.T) {
	usage := "usage: agent [flags]\n" + strings.Repeat("  --flag  does this\n", 60) + "error: unknown flag --frobnicate\n\n"
	for given, want := range map[string]string{
		"": "", "  it sleeps\n": "it sleeps",
		"alive: the agent exit code 2; it printed:\n" + usage: "alive: the agent exit code 2, saying: error: unknown flag --frobnicate",
		"out of memory\nat line 3":                            "out of memory … at line 3",
		"the agent exit code 2; it printed:\n\n":              "the agent exit code 2",
		"a\x1b[2Jb\r\n\tc\x07":                                "a\ufffd[2Jb … c\ufffd",
	} {
		if got := Brief(given); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

func TestAReasonIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 3000)
	for _, given := range []string{long, long + "\n" + long, "x; it printed:\n" + long} {
		got := Brief(given)
		if n := utf8.RuneCountInString(got); n > maxBrief+16 || !strings.HasSuffix(got, "…") || !utf8.ValidString(got) {
			t.Errorf("a reason of %d bytes becomes %d characters: %q", len(given), n, got)
		}
	}
}

// TestCut: a line that is too wide ends with an ellipsis, colors stay complete, and wide characters are not split.
func TestCut(t *testing.T) {
	red := Painter{On: true}.Paint(Red, "abcdef")
	for _, c := range []struct {
		line    string
		columns int
		want    string
	}{
		{"abcdef", 0, "abcdef"},
		{"abcdef", 6, "abcdef"},
		{"abcdef", 4, "abc…"},
		{red, 6, red},
		{red, 4, Painter{On: true}.Paint(Red, "abc…")},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		if got := Cut(c.line, c.columns); got != c.want {
			t.Errorf("Cut(%q, %d) = %q; want %q", c.line, c.columns, got, c.want)
		}
	}
}
