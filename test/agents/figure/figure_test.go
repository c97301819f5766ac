package figure_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/test/agents/figure"
)

var update = flag.Bool("update", false, "rewrite the page")

const page = "../../../docs/reference/agents.md"

// TestPageIsCurrent compares the page with the figures.
func TestPageIsCurrent(t *testing.T) {
	sheet, err := figure.Load("figures.json")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(sheet.Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sheet.Page(), string(got)); diff != "" {
		t.Errorf("run scripts/gen write: %s", diff)
	}
}

// TestMerge keeps what was not measured again, and drops what was measured of
// another version.
func TestMerge(t *testing.T) {
	kept, run := figure.Sheet{}, figure.Sheet{}
	kept.Set("a", "1", "stop", figure.Cell{Text: "old"})
	kept.Set("a", "1", "launch", figure.Cell{Text: "kept"})
	kept.Set("b", "1", "stop", figure.Cell{Text: "of another version"})
	run.Set("a", "1", "stop", figure.Cell{Text: "new"})
	run.Set("b", "2", "launch", figure.Cell{Text: "first | second"})
	kept.Merge(run)
	want := figure.Sheet{
		"a": {Version: "1", Cells: map[string]figure.Cell{"stop": {Text: "new"}, "launch": {Text: "kept"}}},
		"b": {Version: "2", Cells: map[string]figure.Cell{"launch": {Text: "first | second"}}},
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{`| launch | first \| second |`, "| guard | not measured |  |", "## b 2"} {
		if !strings.Contains(kept.Page(), line) {
			t.Errorf("the page lacks %q", line)
		}
	}
}
