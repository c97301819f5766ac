package screen

import (
	"testing"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/vt"
)

// TestLineQuestion: the line of the cursor is a question if it ends like one, the cursor is behind it and it has no
// prompt sign.
func TestLineQuestion(t *testing.T) {
	shell := Rules{Screen: agentcli.Screen{InputBox: agentcli.InputBox{Frame: agentcli.FrameLine, Marks: []string{"$ "}}}}
	plain := Rules{Screen: agentcli.Screen{InputBox: agentcli.InputBox{Frame: agentcli.FrameLine}}}
	framed := Rules{Screen: agentcli.Screen{InputBox: agentcli.InputBox{Frame: agentcli.FrameRules}}}
	for _, c := range []struct {
		output string
		rules  Rules
		want   string
	}{
		{"Continue? ", shell, "Continue?"},
		{"Continue?", shell, "Continue?"},
		{"Continue? ", plain, "Continue?"},
		{"Continue? ", framed, ""},
		{"$ read x\r\nContinue? [y/N] ", shell, "Continue? [y/N]"},
		{"Sure (yes/no) ", shell, "Sure (yes/no)"},
		{"Password for root: ", shell, "Password for root:"},
		{"日本語？ 続けますか? ", shell, "日本語？ 続けますか?"},
		{"Press Enter to continue . . . ", shell, "Press Enter to continue . . ."},
		{":", shell, ":"},
		{"Continue? yes", shell, ""},
		{"Continue?\r\n", shell, ""},
		{"Continue? \x1b[H", shell, ""},
		{"Continue? \x1b[20C", shell, ""},
		{"$ echo what?", shell, ""},
		{"$ ", shell, ""},
		{"[root/home] ", plain, ""},
		{"~/src/city> ", plain, ""},
		{"press enter> ", plain, ""},
		{"half of a line ", shell, ""},
		{"", plain, ""},
	} {
		s := vt.New(40, 5, &vt.Options{Scrollback: -1})
		s.Write([]byte(c.output))
		if got := NewSnapshot(Frame{Seq: 1, Rows: s.Rows(), Cells: s.Row, Cursor: s.Cursor()}).LineQuestion(c.rules); got != c.want {
			t.Errorf("%q: %q, want %q", c.output, got, c.want)
		}
	}
}
