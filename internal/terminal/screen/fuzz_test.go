package screen

import (
	"strings"
	"testing"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/vt"
)

// FuzzScreen reads arbitrary screens with the rules of every profile: nothing
// panics, and a dialog that may get a key has its wanted option on the screen.
func FuzzScreen(f *testing.F) {
	f.Add("❯ 1. Yes\n  2. No", 0, 1)
	f.Add(trustWords+"\n\n ❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm", 2, 2)
	f.Add("────────────\n❯ a\n────────────", 3, 1)
	f.Add("› \n\n", 0, 0)
	f.Fuzz(func(t *testing.T, text string, x, y int) {
		rows := strings.Split(text, "\n")
		frame := Frame{Seq: 1, Rows: rows, Cursor: vt.Cursor{X: max(0, x), Y: max(0, y)}}
		for _, name := range agentcli.Builtin().Names() {
			rules := profileRules(t, name)
			v := NewSnapshot(frame)
			v.activity(rules)
			v.ready(rules)
			v.InputBox(rules.Screen.InputBox)
			d := v.Dialog(rules)
			if d == nil {
				continue
			}
			if _, _, err := d.NextKey(); err == nil && !d.rule.IsForm() && !strings.Contains(clean(rows[d.Options[d.Want].Row]), d.Options[d.Want].Label) {
				t.Errorf("%s: option %+v is not on the screen", name, d.Options[d.Want])
			}
		}
	})
}
