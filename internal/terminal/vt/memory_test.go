package vt_test

import (
	"bytes"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"gascity/internal/terminal/vt"
)

// TestMemoryOfFullScrollback holds the budget: 10,000 lines of 200 columns under 8 MB,
// plain and in the colours of a diff.
func TestMemoryOfFullScrollback(t *testing.T) {
	const limit = 8 << 20
	coloured := strings.Repeat("\x1b[38;2;160;230;160mfunc \x1b[1mmain\x1b[22m() { \x1b[48;5;52mreturn\x1b[49m }, ", 12)
	tests := map[string]string{
		"plain":    strings.Repeat("0123456789", 20),
		"wide":     strings.Repeat("世界", 50),
		"coloured": coloured,
		"rainbow":  rainbow(200), // every cell its own 24-bit colours: the byte limit holds
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			before := heap()
			s := vt.New(200, 50, nil)
			lines := 10_100
			if name == "rainbow" {
				lines = 3_000 // more than it can keep
			}
			s.Write(bytes.Repeat([]byte(line+"\x1b[m\r\n"), lines))
			used := heap() - before
			t.Logf("%d lines of scrollback in %.2f MB", s.ScrollbackLen(), float64(used)/(1<<20))
			if used > limit {
				t.Errorf("screen and scrollback use %d bytes, want at most %d", used, limit)
			}
			if name != "rainbow" && s.ScrollbackLen() != vt.DefaultScrollback {
				t.Errorf("scrollback keeps %d lines, want %d", s.ScrollbackLen(), vt.DefaultScrollback)
			}
			goruntime.KeepAlive(s)
		})
	}
}

func rainbow(cols int) string {
	var b strings.Builder
	for x := range cols {
		fmt.Fprintf(&b, "\x1b[38;2;%d;0;1;48;2;9;%d;7m▀", x, x)
	}
	return b.String()
}

func heap() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

func BenchmarkWrite(b *testing.B) {
	inputs := map[string][]byte{
		"agent": agentOutput(1 << 20),
		"ascii": bytes.Repeat([]byte(strings.Repeat("The quick brown fox jumps over the dog. ", 3)+"\r\n"), 8000),
		"sgr":   bytes.Repeat([]byte("\x1b[32m+ \x1b[38;2;1;2;3mfunc\x1b[39m \x1b[1mmain\x1b[22m() \x1b[0m{\r\n"), 16000),
		"cjk":   bytes.Repeat([]byte("世界和平 你好 テスト 한국어\r\n"), 20000),
	}
	for name, in := range inputs {
		b.Run(name, func(b *testing.B) {
			s := vt.New(200, 50, nil)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				for p := in; len(p) > 0; { // as a terminal delivers it
					n := min(len(p), 16<<10)
					s.Write(p[:n])
					p = p[n:]
				}
			}
		})
	}
}
