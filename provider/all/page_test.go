package all

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of the reference page")

// drivers returns the rows of the table of runtime providers. A driver without a page of its own
// that only routes is on the page of the router.
func drivers(pages string) string {
	var b strings.Builder
	for i, d := range Drivers() {
		page := d.Name + ".md"
		if _, err := os.Stat(filepath.Join(pages, page)); err != nil && d.Route != nil {
			page = "router.md"
		}
		note := ""
		if i == 0 {
			note = " (default)"
		}
		fmt.Fprintf(&b, "| `%s`%s | [%s](%s) | %s |\n", Names()[i], note, page, page, d.Summary)
	}
	return b.String()
}

// TestReferenceIsCurrent compares the table of docs/reference/providers/README.md with the drivers,
// and finds a driver without a page.
func TestReferenceIsCurrent(t *testing.T) {
	pages := filepath.Join("..", "..", "docs", "reference", "providers")
	path := filepath.Join(pages, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| selection | page | what it is |\n|---|---|---|\n"
	before, rest, found := strings.Cut(string(text), head)
	old, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table with the head %q", path, head)
	}
	want := drivers(pages)
	for row := range strings.Lines(want) {
		_, page, _ := strings.Cut(row, "](")
		page, _, _ = strings.Cut(page, ")")
		if _, err := os.Stat(filepath.Join(pages, page)); err != nil {
			t.Errorf("a driver has no page: %v", err)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+head+want+"\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old+"\n" != want {
		t.Errorf("the table of %s is out of date, run: make gen", path)
	}
}

// TestProviderNamesAreShortEnoughForSockets checks the length that internal/citydir reserves for a driver's directory in
// the path of a socket.
func TestProviderNamesAreShortEnoughForSockets(t *testing.T) {
	for _, d := range Drivers() {
		if d.Where == WhereLocal && len(d.Name) > len("subprocess") {
			t.Errorf("the name %q is longer than the %d letters that citydir.TailLength reserves", d.Name, len("subprocess"))
		}
	}
}
