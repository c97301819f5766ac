package vt_test

import (
	"testing"

	"pgregory.net/rapid"

	"gascity/internal/terminal/vt"
)

func TestScannerModes(t *testing.T) {
	for output, want := range map[string]vt.Scanner{
		"text":                               {},
		"\x1b[?2004h":                        {Paste: true, Known: true},
		"\x1b[?2004h\x1b[?2004l":             {Known: true},
		"\x1b[?1;2004;25h":                   {Paste: true, Known: true},
		"\x1b[?12004h\x1b[2004h\x1b[?2004$p": {},
		"\x1b[?2026h":                        {Synchronized: true},
		"\x1b[?2026h\x1b[?2026l":             {},
		"\x1b[?2004h\x1bc":                   {Known: true},
		"\x1b[?2004h\x1b[!p":                 {Paste: true, Known: true},
		"\x1b[?\x1b[?2004h":                  {Paste: true, Known: true},
		"\x1b[?99999999999999999999;2004h":   {Paste: true, Known: true},
	} {
		m := vt.NewScanner(func(vt.Notice) {})
		_, _ = m.Write([]byte(output))
		if m.Paste != want.Paste || m.Synchronized != want.Synchronized || m.Known != want.Known {
			t.Errorf("%q: %v, %v, %v", output, m.Paste, m.Synchronized, m.Known)
		}
	}
}

// However output is cut into pieces, it means the same.
func TestScannerModesInPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		output := rapid.SliceOfN(rapid.SampledFrom([]byte("\x1b[?!2004026;hlpc")), 0, 60).Draw(rt, "output")
		whole, pieces := vt.NewScanner(func(vt.Notice) {}), vt.NewScanner(func(vt.Notice) {})
		_, _ = whole.Write(output)
		for rest := output; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			_, _ = pieces.Write(rest[:n])
			rest = rest[n:]
		}
		if whole.Paste != pieces.Paste || whole.Synchronized != pieces.Synchronized || whole.Known != pieces.Known {
			rt.Fatalf("%q: in pieces it means something else", output)
		}
	})
}
