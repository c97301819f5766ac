package vt

import "unicode/utf8"

// Color is a terminal colour: the default one, an index of the 256-colour palette
// or a 24-bit value. The zero value is the default colour. Colors compare with ==.
type Color uint32

const (
	colorIndexed Color = 1 << 24
	colorRGB     Color = 2 << 24
	colorKind    Color = 0xff << 24
)

// The standard colours of the palette, without black and white. A terminal's theme decides how they look.
const (
	Red = colorIndexed + 1 + iota
	Green
	Yellow
	Blue
	Magenta
	Cyan
)

// Indexed returns palette colour i; 0-7 are the standard colours, 8-15 the bright ones.
func Indexed(i uint8) Color { return colorIndexed | Color(i) }

// RGB returns a 24-bit colour.
func RGB(r, g, b uint8) Color { return colorRGB | Color(r)<<16 | Color(g)<<8 | Color(b) }

// IsDefault reports whether c is the terminal's default colour.
func (c Color) IsDefault() bool { return c == 0 }

// Index returns the palette index; ok is false for other kinds of colour.
func (c Color) Index() (i uint8, ok bool) { return uint8(c), c&colorKind == colorIndexed }

// RGB returns the components of a 24-bit colour; ok is false for other kinds.
func (c Color) RGB() (rgb [3]uint8, ok bool) {
	return [3]uint8{uint8(c >> 16), uint8(c >> 8), uint8(c)}, c&colorKind == colorRGB
}

// Attr is a set of text attributes.
type Attr uint8

// The text attributes of SGR.
const (
	Bold Attr = 1 << iota
	Dim
	Italic
	Blink
	Reverse
	Conceal
	Strikethrough
	Overline
)

// Underline is the shape of an underline.
type Underline uint8

// The underline shapes of SGR 4:n.
const (
	UnderlineNone Underline = iota
	UnderlineSingle
	UnderlineDouble
	UnderlineCurly
	UnderlineDotted
	UnderlineDashed
)

// Style is how a cell is drawn. The zero value is plain text. Styles compare with ==.
type Style struct {
	FG, BG         Color
	UnderlineColor Color
	Attr           Attr
	Underline      Underline
	Link           string // target of an OSC 8 hyperlink, empty for none
	LinkID         string // its id parameter, empty for none
}

// Has reports whether all attributes of a are set.
func (s Style) Has(a Attr) bool { return s.Attr&a == a }

// Cell is one column of a row.
type Cell struct {
	Text  string // the character with its combining marks; " " when blank, "" in the right half of a wide one
	Width int    // 1, 2 for a wide character, 0 for its right half
	Style Style
}

// cell is the stored form. The zero cell is an erased blank of default colours.
// Pointer-free, so that a screen costs the garbage collector nothing.
type cell struct {
	ch   uint32 // rune, or clusterFlag|index into the cluster table; 0 = erased
	attr uint32 // bits 0-7 Attr, 8-10 Underline, 11-12 shape, 16-31 extra style
	fg   Color
	bg   Color
}

const (
	clusterFlag = 1 << 31

	underlineShift = 8
	underlineMask  = 7 << underlineShift
	shapeMask      = 3 << 11
	shapeWide      = 1 << 11 // left half of a wide character
	shapePad       = 2 << 11 // right half; ch is 0
	extraShift     = 16
	extraMask      = 0xffff << extraShift
	styleMask      = 0xff | underlineMask
)

func (c *cell) isPad() bool  { return c.attr&shapeMask == shapePad }
func (c *cell) isWide() bool { return c.attr&shapeMask == shapeWide }

// sameStyle reports whether the two cells are drawn alike, apart from their text.
func (c *cell) sameStyle(d *cell) bool {
	return c.fg == d.fg && c.bg == d.bg && (c.attr^d.attr)&^uint32(shapeMask) == 0
}

// extra is the rare part of a style, interned so that a cell stays small.
type extra struct {
	underline Color
	link, id  string
}

// minSweep is the number of interned entries below which a sweep is not worth it.
const minSweep = 1 << 12

// interned holds the texts of grapheme clusters and the rare styles that cells refer
// to by number. Number 0 of extras means none.
type interned struct {
	clusters  []string
	clusterNo map[string]uint32
	extras    []extra
	extraNo   map[extra]uint32
	limit     int // entries from which a sweep is due
}

func (t *interned) init() {
	*t = interned{
		clusterNo: map[string]uint32{}, extraNo: map[extra]uint32{}, extras: make([]extra, 1),
		limit: minSweep,
	}
}

// cluster returns the ch value for text.
func (t *interned) cluster(text []byte) uint32 {
	if n, ok := t.clusterNo[string(text)]; ok {
		return clusterFlag | n
	}
	s := string(text)
	n := uint32(len(t.clusters))
	t.clusters = append(t.clusters, s)
	t.clusterNo[s] = n
	return clusterFlag | n
}

// extra returns the attr bits for e; a full table yields none.
func (t *interned) extra(e extra) uint32 {
	if e == (extra{}) {
		return 0
	}
	if n, ok := t.extraNo[e]; ok {
		return n << extraShift
	}
	if len(t.extras) >= 1<<16 {
		return 0
	}
	n := uint32(len(t.extras))
	t.extras = append(t.extras, e)
	t.extraNo[e] = n
	return n << extraShift
}

func (t *interned) extraOf(attr uint32) extra { return t.extras[attr>>extraShift] }

// full reports whether a sweep is due.
func (t *interned) full() bool { return max(len(t.clusters), len(t.extras)) >= t.limit }

// withoutErased returns the cells without the erased ones of default colours at the end.
func withoutErased(cells []cell) []cell {
	for len(cells) > 0 && cells[len(cells)-1] == (cell{}) {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// appendText appends the UTF-8 text of c, a space for a blank and nothing for a right half.
func (t *interned) appendText(dst []byte, c *cell) []byte {
	switch {
	case c.isPad():
		return dst
	case c.ch == 0:
		return append(dst, ' ')
	case c.ch < 0x80:
		return append(dst, byte(c.ch))
	case c.ch&clusterFlag != 0:
		return append(dst, t.clusters[c.ch&^clusterFlag]...)
	}
	return utf8.AppendRune(dst, rune(c.ch))
}

// style returns the public form of c's style.
func (t *interned) style(c *cell) Style {
	e := t.extraOf(c.attr)
	return Style{
		FG: c.fg, BG: c.bg, UnderlineColor: e.underline,
		Attr: Attr(c.attr), Underline: Underline(c.attr & underlineMask >> underlineShift),
		Link: e.link, LinkID: e.id,
	}
}

// public converts a stored cell to its public form: its text, width and style. The second cell of a wide character has
// width 0 and no text.
func (t *interned) public(c *cell) Cell {
	out := Cell{Width: 1, Style: t.style(c)}
	switch {
	case c.isPad():
		out.Width = 0
		return out
	case c.isWide():
		out.Width = 2
	}
	var buf [8]byte
	out.Text = string(t.appendText(buf[:0], c))
	return out
}

// sweep drops every cluster and style that none of the cells uses, and renumbers the rest.
func (t *interned) sweep(sets ...[]cell) {
	old := *t
	t.init()
	for _, cells := range sets {
		for i := range cells {
			c := &cells[i]
			if c.ch&clusterFlag != 0 {
				c.ch = t.cluster([]byte(old.clusters[c.ch&^clusterFlag]))
			}
			if c.attr&extraMask != 0 {
				c.attr = c.attr&^uint32(extraMask) | t.extra(old.extraOf(c.attr))
			}
		}
	}
	t.limit = max(minSweep, 2*len(t.clusters), 2*len(t.extras))
}
