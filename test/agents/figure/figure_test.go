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

// TestPage draws a row of the newest version only, and says what was not measured.
func TestPage(t *testing.T) {
	sheet := figure.Sheet{}
	sheet.Set("b", "1", "stop", figure.Cell{Text: "of another version"})
	sheet.Set("b", "2", "launch", figure.Cell{Text: "first | second"})
	page := sheet.Page()
	for _, line := range []string{`| launch | first \| second |`, "| guard | not measured |  |", "## b 2"} {
		if !strings.Contains(page, line) {
			t.Errorf("the page lacks %q", line)
		}
	}
	if strings.Contains(page, "another version") {
		t.Error("the page has a figure of another version")
	}
}
