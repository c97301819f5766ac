package textfmt

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
	"unicode"
	"unicode/utf8"
)

// ourColors are the only control sequences that a Printer may write.
var ourColors = regexp.MustCompile(`\x1b\[(?:0|1|2|31|32|33|36)m`)

// controls returns the first character of a text that acts on a terminal, or that is
// invisible and not a part of an emoji or of a script with joiners.
func controls(out string) (rune, bool) {
	if !utf8.ValidString(out) {
		return utf8.RuneError, true
	}
	before := rune(0)
	for _, r := range out {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || invisible(r) && !joins(before, r) {
			return r, true
		}
		before = r
	}
	return 0, false
}

// FuzzAPrinterLetsNothingThrough writes any bytes in two parts, with and without colors. It
// proves that only line end, tab and our own colors come out, and that plain text does so
// unchanged.
func FuzzAPrinterLetsNothingThrough(f *testing.F) {
	for _, seed := range []string{
		"plain text\n", "\x1b[31mred\x1b[0m", "\x1b]52;c;AAAA\a", "\u009d52;c;AA\u009c", "\x9b31m", "\x1b[2J\x1b[H", "\x1b[31", "\x1b[38;5;1m", "a\rb", "\u202eabc",
		"\x1b\x1b[1m[31m", "ä€😀", "\x1b[1m\x1b]0;t\a\x1b[0m", "👩‍💻", "\x7f", "\x1b[0", "\x1b[;m", "\x1b[mx",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		for _, colors := range []bool{false, true} {
			var out bytes.Buffer
			p := &Printer{Out: &out, Colors: colors}
			for _, part := range [][]byte{data[:cut], data[cut:]} {
				if n, err := p.Write(part); err != nil || n != len(part) {
					t.Fatalf("%d of %d bytes were written: %v", n, len(part), err)
				}
			}
			got := out.String()
			if colors {
				got = ourColors.ReplaceAllString(got, "")
			}
			if r, bad := controls(got); bad {
				t.Errorf("%q came out as %q, with %U", data, out.String(), r)
			}
			if _, bad := controls(string(data)); !bad && out.String() != string(data) {
				t.Errorf("plain text %q came out as %q", data, out.String())
			}
		}
	})
}

// FuzzEscapedJSONIsTheSameValue proves that escapes change no value, and that nothing is left
// that acts on a terminal.
func FuzzEscapedJSONIsTheSameValue(f *testing.F) {
	for _, seed := range []string{"plain", "\u009b31m\x1b[2J\x7f", "\u202eabc\u200b\U000e0041", "👩‍💻", "\ufeff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		doc, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(doc)
		var before, after string
		if err := json.Unmarshal(doc, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(escaped, &after); err != nil || after != before {
			t.Errorf("%q is %s, which reads as %q: %v", value, escaped, after, err)
		}
		for _, r := range string(escaped) {
			if unicode.IsControl(r) || invisible(r) {
				t.Errorf("%q is %s, with %U", value, escaped, r)
			}
		}
	})
}
