package render_test

import (
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// The colors of a diff are those of gc: a color in a file is replaced like every other control sequence.
func TestDiffsHaveOnlyTheColorsOfGC(t *testing.T) {
	diff := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ func \x1b[31mmain()\n-\x1b[32mold\r\n+new \x1b]52;c;AAAA\a\n++++ plus\n same\x1b[0m\r\n\\ No newline at end of file\n"
	s := render.Formatter{Painter: textfmt.Painter{On: true}}
	got := s.Diffs(client.Changes{Files: []client.ChangedFile{{Path: "x", Diff: diff}}})
	want := "\x1b[1mdiff --git a/x b/x\x1b[0m\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\x1b[36m@@ -1,2 +1,2 @@\x1b[0m func \uFFFD[31mmain()\n" +
		"\x1b[31m-\uFFFD[32mold␍\x1b[0m\n\x1b[32m+new \uFFFD]52;c;AAAA\uFFFD\x1b[0m\n\x1b[32m++++ plus\x1b[0m\n same\uFFFD[0m\n\x1b[2m\\ No newline at end of file\x1b[0m\n"
	if got != want {
		t.Errorf("the diff is\n%q\nwant\n%q", got, want)
	}
	plain := render.Formatter{}.Diffs(client.Changes{Files: []client.ChangedFile{{Path: "x", Diff: diff}}})
	if strings.Contains(plain, "\x1b") {
		t.Errorf("without colors the diff is %q", plain)
	}
}
