package textfmt

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// LineWriter writes the output of a program that prints line by line as the text that a terminal shows: a program may overwrite and
// erase parts of its current line, as readline does when it draws a line again. It removes control sequences and control
// characters as [Strip] does. What moves to another place of the screen ends the line, so a screen that is
// erased stays in the text. A sequence or a character may be split between several writes. The caller calls Close at the end.
type LineWriter struct {
	Out io.Writer
	// Cols is the width of the terminal, at which it wraps a line; zero: unlimited.
	Cols int
	// Follow writes each part of a line at once, if the program only adds to it and the line is not very long.
	Follow bool

	state   parserState
	begun   []byte // the first bytes of an incomplete character
	params  []byte // of the control sequence that is being read
	line    []lineCell
	at      int    // the cursor: an index of line, or behind its end
	wrapped bool   // the cursor is in the last column of a full row, and the next character is in the next row
	shown   string // the part of the line that is written already
	changed bool   // line has changed since its text was last compared with shown
	open    bool   // what is before the line is written, without a line end
	text    []byte // complete lines that are not written yet
}

// lineCell is a column of a line. A wide character or a tab is followed by cells with filler set.
type lineCell struct {
	char   rune
	joined string // the characters that are drawn over char
	filler bool
}

const (
	// maxLine is the number of columns after which a line without an end is written, and cannot be changed any more.
	maxLine = 1 << 14
	// maxShown is the number of columns above which a line is not written before its end.
	maxShown = 1 << 12
	// maxMove limits the columns of one control sequence.
	maxMove = 1000
	// maxJoined is the largest number of bytes of the characters that are drawn over another one.
	maxJoined = 64
	// maxParams is the longest list of parameters that is read.
	maxParams = 32
	tabStops  = 8
)

// Write implements [io.Writer].
func (w *LineWriter) Write(p []byte) (int, error) {
	text := slices.Concat(w.begun, p)
	w.begun = nil
	for len(text) > 0 {
		if w.state == inText && text[0] >= ' ' && text[0] < 0x7f {
			w.printASCII(rune(text[0]))
			text = text[1:]
			continue
		}
		if !utf8.FullRune(text) {
			w.begun = bytes.Clone(text)
			break
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1 && (isC1(rune(text[0])) || w.state != inText):
			w.step(rune(text[0]))
		case w.state == inText && !unicode.IsControl(r):
			w.print(r)
		default:
			w.step(r)
		}
		text = text[n:]
	}
	return len(p), w.flush(w.Follow && len(w.line) <= maxShown)
}

// Close writes the last line.
func (w *LineWriter) Close() error { return w.flush(true) }

// flush writes the complete lines and, with all, the current one if the part of it that is written already has not changed.
func (w *LineWriter) flush(all bool) error {
	if all && w.changed {
		w.changed = false
		now := strings.TrimRight(w.string(), " ")
		if rest, ok := strings.CutPrefix(now, w.shown); ok {
			w.text = append(w.text, Block(rest)...)
			w.shown = now
		}
	}
	if len(w.text) == 0 {
		return nil
	}
	_, err := w.Out.Write(w.text)
	w.text = w.text[:0]
	return err
}

// end ends the current line.
func (w *LineWriter) end() {
	w.commit(" ")
	w.text = append(w.text, '\n')
	w.open = false
}

// commit writes the current line without the trimmed characters at its end. The program cannot change it any more.
func (w *LineWriter) commit(trimmed string) {
	now := w.string()
	rest, ok := strings.CutPrefix(now, w.shown)
	if !ok {
		w.text = append(w.text, '\n')
		rest = now
	}
	w.text = append(w.text, Block(strings.TrimRight(rest, trimmed))...)
	w.line, w.at, w.wrapped, w.shown, w.changed, w.open = w.line[:0], 0, false, "", false, true
}

// leave ends the current line if it is not empty: the program continues at another place of the screen.
func (w *LineWriter) leave() {
	if len(w.line) > 0 || w.shown != "" || w.open {
		w.end()
	}
}

// string returns the text of the current line.
func (w *LineWriter) string() string {
	var b strings.Builder
	b.Grow(len(w.line))
	for _, c := range w.line {
		if !c.filler {
			b.WriteRune(c.char)
			b.WriteString(c.joined)
		}
	}
	return b.String()
}

// step handles a control character, or a character of a control sequence.
func (w *LineWriter) step(r rune) {
	before := w.state
	w.state = before.next(r)
	switch {
	case before == inText:
		w.control(r)
	case before == inControl && w.state == inControl:
		if len(w.params) < maxParams {
			w.params = utf8.AppendRune(w.params, r)
		}
	case before == inControl && w.state == inText:
		w.sequence(r)
	}
	if w.state != inControl || before != inControl {
		w.params = w.params[:0]
	}
}

// control handles a control character.
func (w *LineWriter) control(r rune) {
	switch r {
	case '\n':
		if w.row() < w.rowOf(len(w.line)-1) {
			w.move(w.at + w.Cols)
			return
		}
		w.end()
	case '\r':
		w.move(w.row() * w.Cols)
	case '\b':
		w.moveInRow(-1)
	case '\t':
		w.tab()
	}
}

// sequence handles a control sequence with its last character.
func (w *LineWriter) sequence(last rune) {
	n := w.param()
	switch last {
	case 'C', 'a':
		w.moveInRow(n)
	case 'D':
		w.moveInRow(-n)
	case 'G', '`':
		w.move(w.row()*w.Cols + w.limit(n-1))
	case 'A':
		column := w.column()
		w.move(max(0, w.row()-n)*w.Cols + column)
	case 'K':
		w.erase()
	case 'J':
		if string(w.params) == "" || string(w.params) == "0" {
			w.cut(w.at)
			return
		}
		w.leave()
	case 'P':
		w.deleteCells(n)
	case '@':
		w.insertCells(n)
	case 'X':
		w.blank(w.at, min(w.at+n, len(w.line)))
	case 'B':
		if rows := w.rowOf(len(w.line)-1) - w.row(); n <= rows {
			w.move(w.at + n*w.Cols)
			return
		}
		w.leave()
	case 'H', 'f', 'd', 'E', 'F', 'S', 'T', 'L', 'M':
		w.leave()
	case 'h':
		if string(w.params) == "?1049" || string(w.params) == "?47" || string(w.params) == "?1047" {
			w.leave()
		}
	}
}

// param returns the first parameter of a control sequence, at least 1.
func (w *LineWriter) param() int {
	first, _, _ := strings.Cut(string(w.params), ";")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxMove)
}

// print writes a character at the cursor.
func (w *LineWriter) print(r rune) {
	size := displaywidth.Rune(r)
	if i := w.at - 1; size == 0 && i >= 0 && i < len(w.line) {
		for i > 0 && w.line[i].filler {
			i--
		}
		if len(w.line[i].joined) < maxJoined {
			w.line[i].joined += string(r)
			w.changed = true
		}
		return
	}
	w.put(r, max(size, 1))
	w.advanced()
}

// printASCII writes a character of one column at the cursor.
func (w *LineWriter) printASCII(r rune) {
	if w.at == len(w.line) {
		w.line = append(w.line, lineCell{char: r})
		w.at++
		w.changed = true
	} else {
		w.put(r, 1)
	}
	w.advanced()
}

// advanced follows the cursor after a character was written.
func (w *LineWriter) advanced() {
	w.wrapped = w.Cols > 0 && w.at%w.Cols == 0
	if w.at >= maxLine {
		w.commit("")
	}
}

// put writes a character of some columns at the cursor, and moves the cursor.
func (w *LineWriter) put(r rune, size int) {
	w.fill(w.at + size)
	w.blank(w.at, w.at+size)
	w.line[w.at] = lineCell{char: r}
	for i := 1; i < size; i++ {
		w.line[w.at+i] = lineCell{filler: true}
	}
	w.at += size
	w.changed = true
}

// tab moves the cursor to the next tab stop. At the end of the line the text gets a tab.
func (w *LineWriter) tab() {
	if w.at < len(w.line) {
		w.move(w.at + tabStops - w.column()%tabStops)
		return
	}
	w.put('\t', tabStops-w.column()%tabStops)
	w.advanced()
	w.wrapped = false
}

// fill adds blanks until the line has n columns.
func (w *LineWriter) fill(n int) {
	for len(w.line) < n {
		w.line = append(w.line, lineCell{char: ' '})
	}
}

// blank writes blanks into columns [from, to), and into the other columns of characters that are partly in it.
func (w *LineWriter) blank(from, to int) {
	if from >= to {
		return
	}
	for from > 0 && w.line[from].filler {
		from--
	}
	for to < len(w.line) && w.line[to].filler {
		to++
	}
	for i := from; i < to; i++ {
		w.line[i] = lineCell{char: ' '}
	}
	w.changed = true
}

// cut removes the line's text from column n on.
func (w *LineWriter) cut(n int) {
	if n < len(w.line) {
		w.blank(n, len(w.line))
		w.line = w.line[:n]
		w.changed = true
	}
}

// erase erases a part of the row of the cursor, by the parameter of EL. Behind a full row there is nothing to erase: the character in
// its last column stays, because programs such as grep write EL behind colored text.
func (w *LineWriter) erase() {
	first, end := 0, len(w.line)
	if w.Cols > 0 {
		first = w.row() * w.Cols
		end = min(end, first+w.Cols)
	}
	switch string(w.params) {
	case "", "0":
		if w.wrapped {
			return
		}
		first = w.column() + first
	case "1":
		end = min(end, w.at+1)
	case "2":
	default:
		return
	}
	if end == len(w.line) {
		w.cut(first)
		return
	}
	w.blank(first, end)
}

func (w *LineWriter) deleteCells(n int) {
	if w.at < len(w.line) {
		end := min(w.at+n, len(w.line))
		w.blank(w.at, end)
		w.line = append(w.line[:w.at], w.line[end:]...)
	}
}

func (w *LineWriter) insertCells(n int) {
	if w.at < len(w.line) && len(w.line) < maxMove {
		rest := slices.Clone(w.line[w.at:])
		w.line = w.line[:w.at]
		w.fill(w.at + n)
		w.line = append(w.line, rest...)
		w.changed = true
	}
}

// row returns the row of the cursor, inside the rows of a line that the terminal wraps.
func (w *LineWriter) row() int {
	if w.wrapped {
		return w.rowOf(w.at - 1)
	}
	return w.rowOf(w.at)
}

func (w *LineWriter) rowOf(column int) int {
	if w.Cols <= 0 || column < 0 {
		return 0
	}
	return column / w.Cols
}

// column returns the column of the cursor in its row.
func (w *LineWriter) column() int {
	if w.wrapped {
		return w.Cols - 1
	}
	return w.at - w.row()*w.Cols
}

// limit returns a column that is inside a row.
func (w *LineWriter) limit(column int) int {
	if w.Cols > 0 {
		return max(0, min(column, w.Cols-1))
	}
	return max(0, min(column, max(len(w.line), w.at, maxMove)))
}

// moveInRow moves the cursor by n columns; it stays in its row.
func (w *LineWriter) moveInRow(n int) { w.move(w.row()*w.Cols + w.limit(w.column()+n)) }

func (w *LineWriter) move(at int) { w.at, w.wrapped = min(at, maxLine-1), false }
