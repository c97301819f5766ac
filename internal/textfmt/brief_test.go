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

func TestAPictureFitsItsTerminal(t *testing.T) {
	const picture = "head\n\x1b[31mwide wide\x1b[0m\nthree\nfour\nfive\n"
	for _, c := range []struct {
		rows, columns int
		want          string
	}{
		{0, 0, picture},
		{5, 0, picture},
		{5, 9, picture},
		{6, 8, picture},
		{4, 0, "head\n\x1b[31mwide wide\x1b[0m\nthree\n… 2 lines more\n"},
		{5, 8, "head\n\x1b[31mwide wide\x1b[0m\nthree\n… 2 lines more\n"},
		{4, 8, "head\n\x1b[31mwide wide\x1b[0m\n… 3 lines more\n"},
	} {
		if got := Fit(picture, c.rows, c.columns); got != c.want {
			t.Errorf("in %d rows of %d columns it is %q, want %q", c.rows, c.columns, got, c.want)
		}
	}
}
