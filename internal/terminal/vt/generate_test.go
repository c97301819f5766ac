package vt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes random terminal output out of the sequences that the model and tmux 3.3a
// both implement. It stays off what tmux gets wrong; see exceptions.
type generator struct {
	r          *rand.Rand
	cols, rows int
	wide       bool // print wide and combining characters, and no edits inside a row
}

func (g *generator) n(limit int) int { return g.r.IntN(limit) }

func (g *generator) pick(choices ...string) string { return choices[g.n(len(choices))] }

func (g *generator) sequence(items int) []byte {
	var b strings.Builder
	for range items {
		switch g.n(10) {
		case 0, 1, 2, 3:
			b.WriteString(g.text())
		case 4, 5:
			b.WriteString(g.move())
		case 6:
			b.WriteString(g.style())
		case 7:
			if g.wide {
				b.WriteString(g.pick("\r", "\r\n", "\r\x1bM"))
				continue
			}
			b.WriteString(g.pick("\r", "\n", "\r\n", "\r\n", "\t", "\b", "\x1bD", "\x1bM", "\x1bE"))
		case 8:
			b.WriteString(g.edit())
		case 9:
			b.WriteString(g.mode())
		}
	}
	return []byte(b.String())
}

func (g *generator) text() string {
	if g.wide && g.n(2) == 0 {
		return g.pick("世界", "é", "e\u0301", "👍", "👩\u200d💻", "☀\ufe0f", "─│┌", "한글", "…", "ｆ", "🇩🇪", "⠋")
	}
	words := []string{"a", "hello ", "    ", "x y", "0123456789", "The quick brown fox jumps over"}
	w := words[g.n(len(words))]
	return w[:1+g.n(len(w))]
}

func (g *generator) move() string {
	n := 1 + g.n(g.cols)
	if g.wide { // column 1 and 3 on: tmux mishandles the right half of a wide character in column 1
		x := 1
		if g.n(3) > 0 {
			x = 3 + g.n(g.cols-2)
		}
		return fmt.Sprintf("\x1b[%d;%dH", 1+g.n(g.rows), x)
	}
	switch g.n(12) {
	case 0, 1, 2:
		return fmt.Sprintf("\x1b[%d;%dH", 1+g.n(g.rows+1), 1+g.n(g.cols+1))
	case 3:
		return g.pick("\x1b[H", "\x1b[;5H", "\x1b[3H", "\x1b7", "\x1b8", "\x1b[s", "\x1b[u")
	case 4:
		return fmt.Sprintf("\x1b[%dG", n)
	case 5:
		return fmt.Sprintf("\x1b[%dd", 1+g.n(g.rows+1))
	case 6:
		return fmt.Sprintf("\x1b[%d%s", 1+g.n(3), g.pick("Z", "Z", "E", "F"))
	default:
		return fmt.Sprintf("\x1b[%d%s", g.n(7), g.pick("A", "B", "C", "D"))
	}
}

func (g *generator) style() string {
	switch g.n(6) {
	case 0:
		return g.pick("\x1b[m", "\x1b[0m", "\x1b[39;49m", "\x1b[49m")
	case 1:
		return fmt.Sprintf("\x1b[%dm", 30+g.n(8)+10*g.n(2)+60*g.n(2))
	case 2:
		return fmt.Sprintf("\x1b[%s;5;%dm", g.pick("38", "48"), g.n(256))
	case 3:
		return fmt.Sprintf("\x1b[%s;2;%d;%d;%dm", g.pick("38", "48"), g.n(256), g.n(256), g.n(256))
	case 4:
		return fmt.Sprintf("\x1b[%s:2::%d:%d:%dm", g.pick("38", "48", "58"), g.n(256), g.n(256), g.n(256))
	}
	return g.pick("\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[4m", "\x1b[5m", "\x1b[7m", "\x1b[8m", "\x1b[9m", "\x1b[21m",
		"\x1b[22m", "\x1b[23m", "\x1b[24m", "\x1b[25m", "\x1b[27m", "\x1b[28m", "\x1b[29m", "\x1b[4:0m", "\x1b[4:3m",
		"\x1b[4:5m", "\x1b[1;31;42m", "\x1b[58;5;9m", "\x1b[59m", "\x1b[0;7;93m")
}

func (g *generator) edit() string {
	if g.wide {
		return g.pick("\x1b[2K", "\x1b[2J", "\x1b[2S", "\x1b[T", "\x1b[1;3r", "\x1b[r", "\x1b[3J", "\r\x1b[K", "\r\x1b[J")
	}
	half := 1 + g.n(g.cols/4)
	switch g.n(10) {
	case 0:
		return g.pick("\x1b[K", "\x1b[0K", "\x1b[1K", "\x1b[2K")
	case 1:
		return g.pick("\x1b[J", "\x1b[1J", "\x1b[2J", "\x1b[3J", "\x1b[J")
	case 2:
		return fmt.Sprintf("\x1b[%dP", half)
	case 3: // tmux leaves old cells behind when it inserts more than half of the rest
		return fmt.Sprintf("\x1b[%dG\x1b[%d@", 1+g.n(g.cols/2), half)
	case 4:
		return fmt.Sprintf("\x1b[%dX", half)
	case 5: // and so with lines outside the scroll region
		return fmt.Sprintf("\x1b[r\x1b[%dH\x1b[%dL", 1+g.n(g.rows/2), 1+g.n(g.rows/4))
	case 6:
		return fmt.Sprintf("\x1b[%dM", 1+g.n(3))
	case 7:
		return fmt.Sprintf("\x1b[%d%s", 1+g.n(3), g.pick("S", "T"))
	case 8:
		return fmt.Sprintf("\x1b[%d;%dr", 1+g.n(g.rows), 1+g.n(g.rows+2))
	}
	return fmt.Sprintf("a\x1b[%db", 1+g.n(9))
}

func (g *generator) mode() string {
	if g.wide {
		return g.pick("\x1b[?25l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?2004h", "\x1b[r")
	}
	return g.pick("\x1b[?1h", "\x1b[?1l", "\x1b=", "\x1b>", "\x1b[?6h", "\x1b[?6l", "\r\x1b[?7l", "\x1b[?7h", "\x1b[?7h",
		"\r\x1b[4hins\x1b[4l", "\r\x1b[C\x1b[4hx\x1b[4l", "\x1b[?25l", "\x1b[?25h", "\x1b[?1000h", "\x1b[?1002h", "\x1b[?1003h", "\x1b[?1006h", "\x1b[?1000l",
		"\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[?1047h", "\x1b[?1047l", "\x1b[?2004h", "\x1b(0", "\x1b(B",
		"\x1b)0", "\x0e", "\x0f", "\x1bH", "\x1b[g", "\x1b[3g", "\x1b#8", "\x1b]2;title\x07", "\x1b]999;x\x1b\\", "\x1b[?9999h",
		"\x1b[12;34y", "\x1bP1;2|x\x1b\\", "\x1b_x\x1b\\", "\x1b[>4;1m", "\x1b[1$t", "\x1b[1;2;3;4<x", "\x1b%G")
}
