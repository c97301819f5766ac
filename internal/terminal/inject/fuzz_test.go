package inject

import (
	"strings"
	"testing"

	"gascity/internal/agentcli"
	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/test/terminal"
)

// FuzzHolds reads input boxes of arbitrary screens with the rules of every profile: nothing
// panics, and an empty line holds no person's text.
func FuzzHolds(f *testing.F) {
	f.Add("────────────\n❯ a\n────────────", "a", 3, 1)
	f.Add("› \n\n", "b", 0, 0)
	f.Add("❯ [Pasted text #1 +9 lines]", "one\ntwo", 2, 0)
	f.Fuzz(func(t *testing.T, screen, text string, x, y int) {
		v := screenreader.NewSnapshot(screenreader.Frame{Seq: 1, Rows: strings.Split(screen, "\n"), Cursor: vt.Cursor{X: max(0, x), Y: max(0, y)}})
		for _, name := range agentcli.Builtin().Names() {
			rules := terminal.Rules(t, name).Screen.InputBox
			c := v.InputBox(rules)
			if got := compareContent(c, want(text), rules); c.Empty() && got != matchEmpty {
				t.Errorf("%s: an empty line is taken to hold %d", name, got)
			}
		}
	})
}
