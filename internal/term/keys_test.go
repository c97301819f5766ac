package term_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"gascity/internal/term"
)

func TestKeyBytes(t *testing.T) {
	app := term.Modes{AppCursorKeys: true, AppKeypad: true}
	kitty := term.Modes{KittyKeyboard: 1}
	tests := []struct {
		name  string
		modes term.Modes
		want  string
	}{
		{"a", term.Modes{}, "a"},
		{"世", term.Modes{}, "世"},
		{"Enter", term.Modes{}, "\r"},
		{"enter", term.Modes{}, "\r"},
		{"Escape", term.Modes{}, "\x1b"},
		{"C-c", term.Modes{}, "\x03"},
		{"^C", term.Modes{}, "\x03"},
		{"C-Space", term.Modes{}, "\x00"},
		{"M-x", term.Modes{}, "\x1bx"},
		{"C-M-x", term.Modes{}, "\x1b\x18"},
		{"Up", term.Modes{}, "\x1b[A"},
		{"Up", app, "\x1bOA"},
		{"S-Up", app, "\x1b[1;2A"},
		{"C-Left", term.Modes{}, "\x1b[1;5D"},
		{"F1", term.Modes{}, "\x1bOP"},
		{"F20", term.Modes{}, "\x1b[34~"},
		{"DC", term.Modes{}, "\x1b[3~"},
		{"KP5", app, "\x1bOu"},
		{"KP5", term.Modes{}, "5"},
		{"BTab", term.Modes{}, "\x1b[Z"},
		{"-", term.Modes{}, "-"},
		{"M--", term.Modes{}, "\x1b-"},
		{"Escape", kitty, "\x1b[27u"},
		{"C-c", kitty, "\x1b[99;5u"},
		{"a", kitty, "a"},
		{"Enter", kitty, "\r"},
		{"M-Enter", kitty, "\x1b[13;3u"},
		{"S-Tab", kitty, "\x1b[9;2u"},
		{"Up", kitty, "\x1b[A"},
		{"a", term.Modes{KittyKeyboard: 8}, "\x1b[97u"},
	}
	for _, tt := range tests {
		got, err := term.Key(tt.name, tt.modes)
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
		_, err := term.Key(name, term.Modes{})
		if name == "PageUP" {
			if err != nil {
				t.Errorf("Key(%q): %v, want names in any case", name, err)
			}
			continue
		}
		var unknown *term.KeyError
		if !errors.As(err, &unknown) || unknown.Name != name || unknown.Similar != similar {
			t.Errorf("Key(%q) error %v, want a KeyError that suggests %q", name, err, similar)
		}
	}
}

// TestSameKeysAsTmux sends every key through tmux and compares what a program gets.
func TestSameKeysAsTmux(t *testing.T) {
	o := startOracle(t, 80, 24)
	names := term.KeyNames()
	for r := '!'; r <= '~'; r++ {
		names = append(names, string(r))
	}
	// Home and End follow TERM=xterm-256color, tmux's own terminal has other codes; the
	// keypad's Enter is Enter to us; "~" and ";" mean something else to tmux.
	skip := map[string]bool{"Home": true, "End": true, "KPEnter": true, "~": true, ";": true}
	compared := 0
	for _, mode := range []string{"\x1b[?1l\x1b>", "\x1b[?1h\x1b="} {
		s := term.New(80, 24, nil)
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
				got, err := term.Key(prefix+name, s.Modes())
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
	brackets := term.Modes{BracketedPaste: true}
	got, err := term.Paste("one\ntwo\t\r\nthree 世界 👍\\", brackets)
	if want := "\x1b[200~one\ntwo\t\r\nthree 世界 👍\\\x1b[201~"; err != nil || string(got) != want {
		t.Errorf("Paste = %q, %v; want %q", got, err, want)
	}
	if got, err := term.Paste("one line", term.Modes{}); err != nil || string(got) != "one line" {
		t.Errorf("Paste without brackets = %q, %v", got, err)
	}
	for _, bad := range []string{"\x00", "\x1b", "\x03", "\x7f", "\u0085", "\u009b201~", "\x1b[201~", "\b"} {
		var control *term.ControlError
		if _, err := term.Paste("ab"+bad, brackets); !errors.As(err, &control) || control.Offset != 2 {
			t.Errorf("Paste with %q: error %v, want a ControlError at byte 2", bad, err)
		}
	}
	var control *term.ControlError
	if _, err := term.Type("one\ntwo"); !errors.As(err, &control) || control.Rune != '\n' || control.Offset != 3 {
		t.Errorf("Type of two lines: error %v, want a ControlError for the newline", err)
	}
	if _, err := term.Paste("a\xffb", brackets); !errors.Is(err, term.ErrNotText) {
		t.Errorf("Paste of broken UTF-8: error %v, want ErrNotText", err)
	}
	if got, err := term.TypeLines("one\r\ntwo\n"); err != nil || string(got) != "one\rtwo\r" {
		t.Errorf("TypeLines = %q, %v", got, err)
	}
}
