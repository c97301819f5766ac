package textfmt

import (
	"slices"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"pgregory.net/rapid"
)

func TestWrapBreaksAtBlanks(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"", 14, []string{""}},
		{"short", 14, []string{"short"}},
		{"one two three four", 14, []string{"one two three", "four"}},
		{"one two three four", 0, []string{"one two three four"}},
		{"  one two three four", 14, []string{"  one two", "  three four"}},
		{"run: gc start x; then go", 22, []string{"run: gc start x; then", "go"}},
		{"a\nb", 14, []string{"a", "b"}},
		{"a-word-wider-than-that b", 14, []string{"a-word-wider-than-that", "b"}},
	} {
		if got := Wrap(c.text, c.columns); !slices.Equal(got, c.want) {
			t.Errorf("%q is wrapped into %q, want %q", c.text, got, c.want)
		}
	}
	if got := Wrap("to start it again: gc start worker", 30); !slices.Equal(got, []string{"to start it again:", "gc start worker"}) {
		t.Errorf("a command is broken: %q", got)
	}
	if got := WrapParagraphs("one two\nthree four five six\n\n  a  text of a list that is long\nlast", 30); got != "one two three four five six\n\n  a  text of a list that is\n     long\nlast" {
		t.Errorf("paragraphs become\n%s", got)
	}
}

func TestRulesAreShortened(t *testing.T) {
	for line, want := range map[string]string{
		strings.Repeat("─", 200):                  strings.Repeat("─", 40),
		"│ text" + strings.Repeat(" ", 150) + "│": "│ text" + strings.Repeat(" ", 33) + "│",
		"short": "short",
		"words that are no rule and take forty-one col.": "words that are no rule and take forty-one col.",
	} {
		if got := ShortenRules(line, 40); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
}

// TestWrappedTablesFitAndLoseNothing renders tables of words in terminals of any width.
func TestWrappedTablesFitAndLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &Table{Heads: []string{"A", "B", "C"}}
		var words []string
		longest := 0
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			var row []Cell
			for range table.Heads {
				cell := rapid.SliceOfN(rapid.StringMatching(`[a-z漢]{1,9}`), 0, 20).Draw(t, "words")
				words = append(words, cell...)
				for _, w := range cell {
					longest = max(longest, displaywidth.String(w))
				}
				row = append(row, Cell{Text: strings.Join(cell, " ")})
			}
			table.Add(row...)
		}
		columns := rapid.IntRange(80, 200).Draw(t, "columns")
		got := table.Render(Painter{}, columns)
		for line := range strings.Lines(got) {
			if w := displaywidth.String(strings.TrimRight(line, "\n")); w > columns {
				t.Fatalf("a line has %d of %d columns: %q in\n%s", w, columns, line, got)
			}
		}
		shown := strings.Fields(got)
		for _, w := range words {
			at := slices.Index(shown, w)
			if at < 0 {
				t.Fatalf("%q is lost in\n%s", w, got)
			}
			shown = slices.Delete(shown, at, at+1)
		}
	})
}
