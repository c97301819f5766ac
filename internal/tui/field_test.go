package tui

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFieldKeys(t *testing.T) {
	f := field{lines: true}
	f.insert("one two\nthree")
	for _, step := range []struct {
		key  string
		want string
		at   int
	}{
		{"ctrl+w", "one two\n", 8}, {"left", "one two\n", 7}, {"alt+b", "one two\n", 4}, {"ctrl+k", "one \n", 4}, {"ctrl+u", "\n", 0}, {"delete", "", 0}, {"backspace", "", 0},
	} {
		if f.edit(step.key); f.String() != step.want || f.at != step.at {
			t.Fatalf("after %s the text is %q with the cursor at %d, want %q and %d", step.key, f.String(), f.at, step.want, step.at)
		}
	}
}

// TestFieldRows checks that the visual rows of any text fit the width and contain all of it, and that the cursor is on one of them.
func TestFieldRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := field{lines: true}
		width := rapid.IntRange(2, 12).Draw(t, "width")
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch key := rapid.SampledFrom([]string{"", "left", "right", "up", "down", "backspace", "home", "end", "alt+b"}).Draw(t, "key"); key {
			case "":
				f.insert(rapid.StringOf(rapid.RuneFrom([]rune("ab 日e\u0301\n"))).Draw(t, "text"))
			case "up":
				f.move(-1, width)
			case "down":
				f.move(1, width)
			default:
				f.edit(key)
			}
			rows := f.wrap(width)
			next := 0
			for _, r := range rows {
				if r.begin != next && (r.begin != next+1 || f.text[next] != '\n') {
					t.Fatalf("rows %v of %q leave out text", rows, f.String())
				}
				if n := textWidth(string(f.text[r.begin:r.end])); n > width {
					t.Fatalf("a row of %q has %d columns, want at most %d", f.String(), n, width)
				}
				next = r.end
			}
			if next != len(f.text) {
				t.Fatalf("rows %v of %q end at %d", rows, f.String(), next)
			}
			if row, _ := f.find(rows); f.at < rows[row].begin || f.at > rows[row].end {
				t.Fatalf("the cursor at %d is not on its row %v", f.at, rows[row])
			}
		}
	})
}
