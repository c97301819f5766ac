package screen

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

const (
	trustWords  = "Quick safety check: Is this a project you trust?"
	bypassWords = "WARNING: running in Bypass Permissions mode"
)

// TestNeverAKeyOnAnUnknownLayout draws menus that no rule describes exactly:
// whatever they look like, they get no key.
func TestNeverAKeyOnAnUnknownLayout(t *testing.T) {
	rules := profileRules(t, "claude")
	known := map[string]bool{}
	for _, d := range rules.Dialogs {
		for _, labels := range d.Want {
			for _, l := range labels {
				known[canonical(l)] = true
			}
		}
	}
	words := rapid.SampledFrom([]string{trustWords, bypassWords, "Do you trust the files in this folder?", "Something new", "Update available!"})
	label := rapid.OneOf(
		rapid.StringMatching(`[A-Z][a-z]{2,8}( [a-z]{2,8}){0,3}`),
		rapid.SampledFrom([]string{"Yes", "No, leave", "Yes, I trust this folder and all below", "Yes, I  trust this folder", "Accept"}),
	).Filter(func(s string) bool { return !known[canonical(s)] })
	rapid.Check(t, func(t *rapid.T) {
		options := rapid.SliceOfN(label, 2, 6).Draw(t, "options")
		at := rapid.IntRange(0, len(options)-1).Draw(t, "at")
		glyph := rapid.SampledFrom([]string{"❯", "›", "●", ">", "*"}).Draw(t, "glyph")
		isNumbered := rapid.Bool().Draw(t, "numbered")
		rows := []string{words.Draw(t, "words"), ""}
		for i, o := range options {
			if isNumbered {
				o = fmt.Sprintf("%d. %s", i+1, o)
			}
			mark := " "
			if i == at {
				mark = glyph
			}
			rows = append(rows, " "+mark+" "+o)
		}
		d := NewSnapshot(Frame{Seq: 1, Rows: append(rows, "", "Enter to confirm")}).Dialog(rules)
		if d == nil {
			return
		}
		if key, _, err := d.NextKey(); err == nil {
			t.Fatalf("would press %s on %q", key, rows)
		}
	})
}
