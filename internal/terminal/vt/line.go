package vt

import (
	"encoding/binary"
	"unicode/utf8"
)

// A line of scrollback is stored as
//
//	flags  byte     bit 0: wrapped
//	used   uvarint  columns printed on
//	runs            until the end of the line:
//	  cells  uvarint  columns of the run
//	  style  byte     bits 0-1 foreground, 2-3 background, 5-6 underline colour (0 none,
//	                  1 palette, 2 RGB), bit 4: attributes follow
//	  colours and attributes as announced: 1 or 3 bytes each, attributes 2
//	  text            UTF-8 of the cells; markErased stands for an erased cell,
//	                  markCluster+length+bytes for a cluster, markWideCluster for a wide one
//
// The right half of a wide character is not stored: the width follows from the rune.
const (
	markErased      = 0x00
	markCluster     = 0x01
	markWideCluster = 0x02

	lineWrapped = 1
	styleAttr   = 1 << 4
)

// appendLine appends the stored form of a row to dst.
func appendLine(dst []byte, t *interned, cells []cell, l line) []byte {
	flags := byte(0)
	if l.wrapped {
		flags = lineWrapped
	}
	cells = withoutErased(cells[:l.extent])
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(l.used))
	for x := 0; x < len(cells); {
		end := runEnd(cells, x)
		dst = binary.AppendUvarint(dst, uint64(end-x))
		dst = appendStyle(dst, t, &cells[x])
		dst = appendCells(dst, t, cells[x:end])
		x = end
	}
	return dst
}

// runEnd returns the end of the run of cells that are drawn like the one at x, with the same
// colors and attributes. A wide character is never cut.
func runEnd(cells []cell, x int) int {
	first := cells[x]
	mask := ^uint32(shapeMask)
	end := x + 1
	for end < len(cells) {
		c := &cells[end]
		if !c.isPad() && (c.fg != first.fg || c.bg != first.bg || (c.attr^first.attr)&mask != 0) {
			break
		}
		end++
	}
	return end
}

// appendStyle appends the encoded style of a cell: a byte that says which parts follow, then colors
// and attributes.
func appendStyle(dst []byte, t *interned, c *cell) []byte {
	if c.fg|c.bg == 0 && c.attr&^uint32(shapeMask) == 0 {
		return append(dst, 0)
	}
	ul := t.extraOf(c.attr).underline
	attr := c.attr & styleMask
	head := byte(c.fg>>24) | byte(c.bg>>24)<<2 | byte(ul>>24)<<5
	if attr != 0 {
		head |= styleAttr
	}
	dst = append(dst, head)
	dst = appendColor(dst, c.fg)
	dst = appendColor(dst, c.bg)
	if attr != 0 {
		dst = append(dst, byte(attr), byte(attr>>8))
	}
	return appendColor(dst, ul)
}

// appendColor appends the bytes of a color: one for an index, three for RGB, none for the default
// color.
func appendColor(dst []byte, c Color) []byte {
	if i, ok := c.Index(); ok {
		return append(dst, i)
	}
	if rgb, ok := c.RGB(); ok {
		return append(dst, rgb[:]...)
	}
	return dst
}

// appendCells appends the encoded characters of cells. The right half of a wide character takes no
// bytes.
func appendCells(dst []byte, t *interned, cells []cell) []byte {
	for i := range cells {
		c := &cells[i]
		switch {
		case c.ch-1 < 0x7f: // ASCII
			dst = append(dst, byte(c.ch))
		case c.isPad():
		case c.ch == 0:
			dst = append(dst, markErased)
		case c.ch&clusterFlag != 0:
			text := t.clusters[c.ch&^clusterFlag]
			mark := byte(markCluster)
			if c.isWide() {
				mark = markWideCluster
			}
			dst = append(dst, mark, byte(len(text)))
			dst = append(dst, text...)
		default:
			dst = utf8.AppendRune(dst, rune(c.ch))
		}
	}
	return dst
}

// lineReader walks over a stored line, column by column.
type lineReader struct {
	rest []byte // what follows the current cell
	left int    // columns left in the current run
	pen  cell   // style of the current run
	used int
	wrap bool
}

// readLine reads the head of a stored line: the number of columns that were printed on, and whether the line goes on in the next row.
func readLine(stored []byte) lineReader {
	used, n := binary.Uvarint(stored[1:])
	return lineReader{rest: stored[1+n:], used: int(used), wrap: stored[0]&lineWrapped != 0}
}

// next returns the next character: its bytes ("" for an erased cell) and columns. Columns
// 0 means the end. The style is r.pen.
func (r *lineReader) next(t *interned) (text []byte, cols int) {
	if r.left <= 0 {
		if len(r.rest) == 0 {
			return nil, 0
		}
		r.run(t)
	}
	switch b := r.rest[0]; {
	case b == markErased:
		text, cols, r.rest = nil, 1, r.rest[1:]
	case b == markCluster || b == markWideCluster:
		n := int(r.rest[1])
		text, cols, r.rest = r.rest[2:2+n], int(b), r.rest[2+n:]
	case b < utf8.RuneSelf:
		text, cols, r.rest = r.rest[:1], 1, r.rest[1:]
	default:
		ch, n := utf8.DecodeRune(r.rest)
		text, cols, r.rest = r.rest[:n], max(1, runeWidth(ch)), r.rest[n:]
	}
	r.left -= cols
	return text, cols
}

// run reads the head of the next run of a stored line: the number of cells with the same style, and that style.
func (r *lineReader) run(t *interned) {
	n, k := binary.Uvarint(r.rest)
	r.left = int(n)
	head := r.rest[k]
	b := r.rest[k+1:]
	r.pen = cell{}
	r.pen.fg, b = readColor(b, head)
	r.pen.bg, b = readColor(b, head>>2)
	if head&styleAttr != 0 {
		r.pen.attr = uint32(b[0]) | uint32(b[1])<<8
		b = b[2:]
	}
	var ul Color
	ul, b = readColor(b, head>>5)
	if ul != 0 && t != nil {
		r.pen.attr |= t.extra(extra{underline: ul})
	}
	r.rest = b
}

// readColor reads a color of the given kind (1 index, 2 RGB, else the default) and returns the
// remaining bytes.
func readColor(b []byte, kind byte) (Color, []byte) {
	switch kind & 3 {
	case 1:
		return Indexed(b[0]), b[1:]
	case 2:
		return RGB(b[0], b[1], b[2]), b[3:]
	}
	return 0, b
}

// cells appends the cells of the stored line to dst.
func (r *lineReader) cells(dst []cell, t *interned) []cell {
	for {
		text, cols := r.next(t)
		if cols == 0 {
			return dst
		}
		c := r.pen
		c.ch = charOf(text, t)
		if cols == 2 {
			pad := r.pen
			c.attr |= shapeWide
			pad.attr |= shapePad
			dst = append(dst, c, pad)
			continue
		}
		dst = append(dst, c)
	}
}

// charOf returns the ch value of a character's text.
func charOf(text []byte, t *interned) uint32 {
	if len(text) == 0 {
		return 0
	}
	ch, n := utf8.DecodeRune(text)
	if n < len(text) {
		return t.cluster(text)
	}
	return uint32(ch)
}
