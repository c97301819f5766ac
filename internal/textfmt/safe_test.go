package textfmt_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"gascity/internal/textfmt"
)

// checkHarmless fails if a terminal could do anything with the text but draw it.
func checkHarmless(t *testing.T, what, given, got string) {
	t.Helper()
	for _, r := range got {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || strings.ContainsRune("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff\u2028\u2029", r) {
			t.Errorf("%s of %q holds %q", what, given, r)
		}
	}
	if strings.ToValidUTF8(got, "") != got {
		t.Errorf("%s of %q is no UTF-8: %q", what, given, got)
	}
}

// TestNothingInvisibleReachesATerminal shows characters that hide or reorder text as escapes, and
// leaves emoji and scripts that are written with joiners alone.
func TestNothingInvisibleReachesATerminal(t *testing.T) {
	for given, want := range map[string]string{
		"rm \u202etxt.exe\u2069":                  `rm \u202etxt.exe\u2069`,
		"a\u200bb\u00adc\u2028d\ufeff":            `a\u200bb\u00adc\u2028d\ufeff`,
		"a\u200db":                                `a\u200db`,
		"\U000e0041":                              `\ue0041`,
		"\u26a0\ufe0f \U0001f468\u200d\U0001f469": "\u26a0\ufe0f \U0001f468\u200d\U0001f469",
		"\u0645\u06cc\u200c\u062e":                "\u0645\u06cc\u200c\u062e",
		"caf\u00e9 \u4e2d\u6587":                  "caf\u00e9 \u4e2d\u6587",
		"\x9d52;c;QQ==\x9c":                       "\ufffd52;c;QQ==\ufffd",
	} {
		if got := textfmt.Block(given); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", given, got, want)
		}
		if got := textfmt.OneLine(given); got != want {
			t.Errorf("%+q is shown in one line as %+q, want %+q", given, got, want)
		}
	}
}

// TestControlSequencesOfEightBitsAreLeftOut strips C1 controls as UTF-8 and as bare bytes, in pieces of
// any size.
func TestControlSequencesOfEightBitsAreLeftOut(t *testing.T) {
	for given, want := range map[string]string{
		"a\xc2\x9d52;c;QQ==\xc2\x9cb": "ab",
		"a\x9d52;c;QQ==\x9cb":         "ab",
		"a\x9b31mb\xc2\x9b0mc":        "abc",
		"a\x1b]52;c;QQ==\x1b\\b":      "ab",
		"\xc3\xa9\xe2\x80\xae\xff!\n": "\u00e9\\u202e\ufffd!\n",
	} {
		if got := textfmt.Strip([]byte(given)); got != want {
			t.Errorf("%q reads %q, want %q", given, got, want)
		}
		for size := 1; size <= len(given); size++ {
			var out bytes.Buffer
			s := &textfmt.LineWriter{Out: &out}
			for rest := []byte(given); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				if _, err := s.Write(rest[:min(size, len(rest))]); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil || out.String() != want {
				t.Errorf("%q in pieces of %d reads %q, want %q", given, size, out.String(), want)
			}
		}
	}
}

// FuzzNothingControlsATerminal has random bytes of an agent rendered in each of the ways that there are.
func FuzzNothingControlsATerminal(f *testing.F) {
	f.Add([]byte("\x1b]52;c;QQ==\x07\x9b31m\xc2\x9dx\u202e"))
	f.Fuzz(func(t *testing.T, given []byte) {
		checkHarmless(t, "the log", string(given), textfmt.Strip(given))
		checkHarmless(t, "the block", string(given), textfmt.Block(string(given)))
		checkHarmless(t, "the line", string(given), textfmt.OneLine(string(given)))
	})
}
