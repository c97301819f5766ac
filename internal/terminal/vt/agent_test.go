package vt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// agentOutput returns what an agent's terminal interface writes: a transcript that scrolls, diffs
// in colour, and below it a box with a spinner that is erased and painted again and again.
func agentOutput(size int) []byte {
	r := rand.New(rand.NewPCG(7, 7))
	words := []string{
		"reading", "internal/terminal/vt/screen.go", "the", "tests", "pass", "└──", "世界", "修正", "✓", "é", "func (s *Screen) Write(p []byte)",
		"return nil, fmt.Errorf(\"cannot open %s: %w\", name, err)", "👍", "a", "of", "and", "=>", "…", "12,345", "//",
	}
	spinner := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"}
	var b bytes.Buffer
	box := func(frame int) {
		fmt.Fprintf(&b, "\x1b[38;5;205m%s\x1b[39m \x1b[2mThinking… (%ds · esc to interrupt)\x1b[22m\x1b[K\r\n", spinner[frame%len(spinner)], frame/10)
		b.WriteString("\x1b[38;2;136;136;136m╭──────────────────────────────────────────────────────────╮\x1b[39m\r\n")
		fmt.Fprintf(&b, "\x1b[38;2;136;136;136m│\x1b[39m > \x1b[7m \x1b[27mtype your message%*s\x1b[38;2;136;136;136m│\x1b[39m\r\n", 38, "")
		b.WriteString("\x1b[38;2;136;136;136m╰──────────────────────────────────────────────────────────╯\x1b[39m\r\n")
	}
	box(0)
	for frame := 1; b.Len() < size; frame++ {
		b.WriteString("\x1b[?2026h\x1b[?25l")
		if frame%16 == 0 {
			fmt.Fprintf(&b, "\x1b]0;%s agent\x07", spinner[frame/16%len(spinner)])
		}
		b.WriteString("\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G")
		if frame%3 == 0 {
			for range 1 + r.IntN(4) {
				switch r.IntN(4) {
				case 0:
					b.WriteString("\x1b[48;2;33;58;43m\x1b[38;2;160;230;160m+ ")
				case 1:
					b.WriteString("\x1b[48;5;52m\x1b[38;5;217m- ")
				case 2:
					b.WriteString("\x1b[1m● \x1b[22m")
				}
				for range 3 + r.IntN(14) {
					if r.IntN(6) == 0 {
						fmt.Fprintf(&b, "\x1b[3%dm", r.IntN(8))
					}
					b.WriteString(words[r.IntN(len(words))])
					b.WriteByte(' ')
				}
				b.WriteString("\x1b[0m\r\n")
			}
		}
		box(frame)
		b.WriteString("\x1b[?25h\x1b[?2026l")
	}
	return b.Bytes()[:size]
}
