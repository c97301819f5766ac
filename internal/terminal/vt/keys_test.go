package vt_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"gascity/internal/terminal/vt"
)

func TestKeyBytes(t *testing.T) {
	app := vt.Modes{AppCursorKeys: true, AppKeypad: true}
	kitty := vt.Modes{KittyKeyboard: 1}
	tests := []struct {
		name  string
		modes vt.Modes
		want  string
	}{
		{"a", vt.Modes{}, "a"},
		{"世", vt.Modes{}, "世"},
		{"Enter", vt.Modes{}, "\r"},
		{"enter", vt.Modes{}, "\r"},
		{"Escape", vt.Modes{}, "\x1b"},
		{"C-c", vt.Modes{}, "\x03"},
		{"^C", vt.Modes{}, "\x03"},
		{"C-Space", vt.Modes{}, "\x00"},
		{"M-x", vt.Modes{}, "\x1bx"},
		{"C-M-x", vt.Modes{}, "\x1b\x18"},
		{"Up", vt.Modes{}, "\x1b[A"},
		{"Up", app, "\x1bOA"},
		{"S-Up", app, "\x1b[1;2A"},
		{"C-Left", vt.Modes{}, "\x1b[1;5D"},
		{"F1", vt.Modes{}, "\x1bOP"},
		{"F20", vt.Modes{}, "\x1b[34~"},
		{"DC", vt.Modes{}, "\x1b[3~"},
		{"KP5", app, "\x1bOu"},
		{"KP5", vt.Modes{}, "5"},
		{"BTab", vt.Modes{}, "\x1b[Z"},
		{"-", vt.Modes{}, "-"},
		{"M--", vt.Modes{}, "\x1b-"},
		{"Escape", kitty, "\x1b[27u"},
		{"C-c", kitty, "\x1b[99;5u"},
		{"a", kitty, "a"},
		{"Enter", kitty, "\r"},
		{"M-Enter", kitty, "\x1b[13;3u"},
		{"S-Tab", kitty, "\x1b[9;2u"},
		{"Up", kitty, "\x1b[A"},
		{"a", vt.Modes{KittyKeyboard: 8}, "\x1b[97u"},
	}
	for _, tt := range tests {
		got, err := vt.Key(tt.name, tt.modes)
		if err != nil || string(got) != tt.want {
			t.Errorf("Key(%q, %+v) = %q, %v; want %q", tt.name, tt.modes, got, err, tt.want)
		}
	}
}

func TestUnknownKeySuggests(t *testing.T) {
	tests := map[string]string{
		"Entr": "Enter", "Return": "Enter", "C-Esc": "C-Escape", "PageUP": "", "Backspace": "BSpace", "F21": "F1", "hello world": "", "": "",
		"C-": "", "ab": "", "Dwon": "Down",
	}
	for name, similar := range tests {
		_, err := vt.Key(name, vt.Modes{})
		if name == "PageUP" {
			if err != nil {
				t.Errorf("Key(%q): %v, want names in any case", name, err)
			}
			continue
		}
		var unknown *vt.KeyError
		if !errors.As(err, &unknown) || unknown.Name != name || unknown.Similar != similar {
			t.Errorf("Key(%q) error %v, want a KeyError that suggests %q", name, err, similar)
		}
	}
}

// TestSameKeysAsTmux sends every key through tmux and compares what a program gets.
func TestSameKeysAsTmux(t *testing.T) {
	o := startTmuxReference(t, 80, 24)
	names := vt.KeyNames()
	for r := '!'; r <= '~'; r++ {
		names = append(names, string(r))
	}
	// Home and End follow TERM=xterm-256color, tmux's own terminal has other codes; the
	// keypad's Enter is Enter to us; "~" and ";" mean something else to tmux.
	skip := map[string]bool{"Home": true, "End": true, "KPEnter": true, "~": true, ";": true}
	compared := 0
	for _, mode := range []string{"\x1b[?1l\x1b>", "\x1b[?1h\x1b="} {
		s := vt.New(80, 24, nil)
		s.Write([]byte(mode))
		o.write([]byte(mode))
		for _, prefix := range []string{"", "C-", "M-", "S-", "C-M-", "C-S-", "M-S-"} {
			for _, name := range names {
				if skip[name] {
					continue
				}
				o.command("send-keys %s", quoteKey(prefix+name))
				want := o.typed()
				if len(want) == 0 || string(want) == prefix+name && len(want) > 1 {
					continue // tmux knows no such key, and drops it or types its name
				}
				compared++
				got, err := vt.Key(prefix+name, s.Modes())
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("mode %q key %s%s: tmux sends %q, we %q (%v)", mode, prefix, name, want, got, err)
				}
			}
		}
	}
	if compared < 700 {
		t.Errorf("only %d keys compared", compared)
	}
}

// quoteKey quotes a word for tmux's command language.
func quoteKey(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(name) + `"`
}

func TestPasteArrivesOrIsRefused(t *testing.T) {
	brackets := vt.Modes{BracketedPaste: true}
	got, err := vt.Paste("one\ntwo\t\r\nthree 世界 👍\\", brackets)
	if want := "\x1b[200~one\ntwo\t\r\nthree 世界 👍\\\x1b[201~"; err != nil || string(got) != want {
		t.Errorf("Paste = %q, %v; want %q", got, err, want)
	}
	if got, err := vt.Paste("one line", vt.Modes{}); err != nil || string(got) != "one line" {
		t.Errorf("Paste without brackets = %q, %v", got, err)
	}
	for _, bad := range []string{"\x00", "\x1b", "\x03", "\x7f", "\u0085", "\u009b201~", "\x1b[201~", "\b"} {
		var control *vt.ControlError
		if _, err := vt.Paste("ab"+bad, brackets); !errors.As(err, &control) || control.Offset != 2 {
			t.Errorf("Paste with %q: error %v, want a ControlError at byte 2", bad, err)
		}
	}
	var control *vt.ControlError
	if _, err := vt.Paste("one\ntwo", vt.Modes{}); !errors.As(err, &control) || control.Rune != '\n' || control.Offset != 3 {
		t.Errorf("Paste of two lines without brackets: error %v, want a ControlError for the newline", err)
	}
	if _, err := vt.Paste("a\xffb", brackets); !errors.Is(err, vt.ErrNotText) {
		t.Errorf("Paste of broken UTF-8: error %v, want ErrNotText", err)
	}
}
