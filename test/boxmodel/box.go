package boxmodel

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The author of a typed character. Prompts are counted from 1.
const (
	ByNobody = 0 // keys that remove text
	ByPerson = -1
	ByMark   = -2
)

// Char is a character in a box.
type Char struct {
	Rune rune
	By   int // who typed it
	Fold int // number of the paste that stands for it; 0: it is shown
	Text int // number of the text that was inserted with it
}

// Box is the text in an input box. The zero value with Options is an empty box.
type Box struct {
	Options

	Content  []Char
	Behind   int  // how many of them are behind the cursor
	Pastes   int  // placeholders so far
	Normal   bool // vim's mode for commands
	Texts    int  // texts that were inserted so far
	Menu     bool // the last change has opened a menu, see Swallows
	LastText time.Time

	// Submitted is called with what Enter submits, before the box is emptied. Nil: no call.
	Submitted func(text string, chars []Char)
	// Removing is called before chars are removed by a key of by. Nil: no call.
	Removing func(chars []Char, by int)
}

// Type lets the box read keys that by typed. A bracketed paste must be whole.
func (b *Box) Type(s string, by int) {
	for s != "" {
		if text, ok := strings.CutPrefix(s, "\x1b[200~"); ok {
			inner, rest, _ := strings.Cut(text, "\x1b[201~")
			b.insert(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(inner), by, true)
			s = rest
			continue
		}
		if move, rest, ok := cutMove(s); ok {
			b.move(move)
			s = rest
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		b.key(r, by)
	}
}

// The keys that move the cursor.
const (
	Left = "\x1b[D"
	Home = "\x1b[H" // to the beginning of the line
	End  = "\x1b[F" // to the end of the line
)

// endKey is another key for [End].
const endKey = "\x05"

// cutMove cuts a key that moves the cursor off the beginning of s.
func cutMove(s string) (move, rest string, ok bool) {
	for _, key := range []string{Left, Home, End, endKey} {
		if rest, ok := strings.CutPrefix(s, key); ok {
			return key, rest, true
		}
	}
	return "", s, false
}

func (b *Box) move(key string) {
	at := b.at()
	switch key {
	case Left:
		at = b.before(at)
	case Home:
		if !b.NoHome {
			at = b.lineStart(at)
		}
	default:
		if key == End && b.NoHome {
			return
		}
		from := at
		for at < len(b.Content) && !b.isBreak(at) && !b.isTrailing(at) {
			at++
		}
		if b.EndAgain && at == from && at < len(b.Content) && b.isBreak(at) {
			at++
		}
	}
	b.Behind = len(b.Content) - at
}

// isBreak reports whether the character with index i begins a new line. A line feed in a placeholder
// does not.
func (b *Box) isBreak(i int) bool { return b.Content[i].Rune == '\n' && b.Content[i].Fold == 0 }

// isTrailing reports whether all characters from index i to the end of the line have no column.
func (b *Box) isTrailing(i int) bool {
	for ; i < len(b.Content) && !b.isBreak(i); i++ {
		if !b.hasNoColumn(b.Content[i].Rune) {
			return false
		}
	}
	return true
}

// hasNoColumn reports whether the box shows r in no column of its own.
func (b *Box) hasNoColumn(r rune) bool {
	return b.NoColumn && (unicode.Is(unicode.M, r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Bidi_Control, r))
}

// at returns the number of the character behind the cursor.
func (b *Box) at() int { return max(0, len(b.Content)-b.Behind) }

// before returns the index at which the unit before index i begins. A unit is a character with its
// combining characters, or a whole paste.
func (b *Box) before(i int) int {
	from := max(0, i-1)
	if i > 0 && b.Content[from].Fold == 0 && b.hasNoColumn(b.Content[from].Rune) && !unicode.Is(unicode.M, b.Content[from].Rune) {
		return i
	}
	for from > 0 && (unicode.Is(unicode.M, b.Content[from].Rune) || b.Content[from].Fold > 0 && b.Content[from-1].Fold == b.Content[from].Fold) {
		from--
	}
	return from
}

// lineStart returns the index at which the line with index i begins.
func (b *Box) lineStart(i int) int {
	for i > 0 && !b.isBreak(i-1) {
		i--
	}
	return i
}

func (b *Box) key(r rune, by int) {
	switch {
	case b.Normal && r == 'i':
		b.Normal = false
	case r == '\r':
		b.enter()
	case r == '\x1b':
		b.Normal = b.Vim
	case b.Normal:
	case r == '\x7f' && !b.NoBack:
		at := b.at()
		from := b.before(at)
		if b.BackAlone && at > 0 && b.Content[at-1].Fold == 0 {
			from = at - 1
		}
		b.remove(from, by)
	case r == '\x15' && b.Clears == ClearsAll:
		b.remove(0, by)
	case r == '\x15' && b.Clears == ClearsLine:
		from := b.lineStart(b.at())
		if from == b.at() && b.Joins {
			from--
		}
		b.remove(from, by)
	case r >= ' ' && r != '\x7f' || r == '\n' || r == '\t':
		b.insert(string(r), by, false)
	}
}

// remove removes what is between from and the cursor; a paste goes as a whole.
func (b *Box) remove(from, by int) {
	to := b.at()
	if from < 0 || from >= to {
		return
	}
	for from > 0 && b.Content[from].Fold > 0 && b.Content[from-1].Fold == b.Content[from].Fold {
		from--
	}
	if b.Removing != nil {
		b.Removing(b.Content[from:to], by)
	}
	line := b.DropsLine && from > 0 && to == len(b.Content) && b.isBreak(from-1) && !b.isBreak(to-1) &&
		!slices.ContainsFunc(b.Content[from:to], func(c Char) bool { return c.Text != b.Content[from-1].Text })
	b.Content = slices.Delete(slices.Clone(b.Content), from, to)
	if line {
		b.Content = b.Content[:from-1]
		b.Behind = from - 1 - b.lineStart(from-1)
	}
	b.Menu = b.hasMenu()
}

// hasMenu reports whether the word before the cursor begins with a character of Completes.
func (b *Box) hasMenu() bool {
	var word []rune
	for _, c := range b.Content[:b.at()] {
		if word = append(word, c.Rune); c.Fold == 0 && unicode.IsSpace(c.Rune) {
			word = nil
		}
	}
	return b.Swallows && len(word) > 0 && strings.ContainsRune(b.Completes, word[0])
}

func (b *Box) insert(s string, by int, paste bool) {
	b.LastText = time.Now()
	b.Texts++
	fold := 0
	trimmed := s
	if b.FoldTrims {
		trimmed = strings.TrimSpace(s)
	}
	if paste && (b.Folds > 0 && len(trimmed) >= b.Folds || b.FoldLines > 0 && strings.Count(trimmed, "\n")+1 >= b.FoldLines) {
		b.Pastes++
		fold = b.Pastes
		s = trimmed
	}
	for _, r := range s {
		switch {
		case b.Replaces && unicode.Is(unicode.Bidi_Control, r):
			r = unicode.ReplacementChar
		case b.Strips && unicode.Is(unicode.Cf, r):
			continue
		case b.Composes && r == '\u0301' && b.at() > 0 && b.Content[b.at()-1].Rune == 'e':
			b.Content[b.at()-1].Rune = 'é'
			continue
		}
		b.Content = slices.Insert(b.Content, b.at(), Char{r, by, fold, b.Texts})
		if !paste && b.hasNoColumn(r) {
			b.Behind++
		}
	}
	if fold > 0 && b.FoldBlank {
		b.Content = slices.Insert(b.Content, b.at(), Char{' ', by, 0, b.Texts})
	}
	b.Menu = b.hasMenu()
}

func (b *Box) enter() {
	whole := Text(b.Content)
	before := Text(b.Content[:b.at()])
	word := before[strings.LastIndexAny(before, " \n")+1:]
	switch {
	case b.DropEnters > 0:
		b.DropEnters--
	case b.FastLine > 0 && time.Since(b.LastText) < b.FastLine:
		b.insert("\n", b.last(), false)
	case b.Continues && strings.HasSuffix(before, `\`):
		by := b.Content[b.at()-1].By
		b.Content = slices.Delete(b.Content, b.at()-1, b.at())
		b.insert("\n", by, false)
	case b.Replaces && strings.ContainsRune(whole, unicode.ReplacementChar):
		b.Behind = 0
		b.Content = slices.DeleteFunc(b.Content, func(c Char) bool { return c.Rune == unicode.ReplacementChar })
	case b.Menu:
	case b.DropsBlank && strings.TrimSpace(whole) == "":
		b.Content, b.Behind = nil, 0
	case b.Behind == 0 && b.Completes != "" && word != "" && (b.Unmatched == "" || !strings.HasPrefix(word, b.Unmatched)) && strings.ContainsRune(b.Completes, rune(word[0])):
		by := b.last()
		b.Content = b.Content[:len(b.Content)-len([]rune(word))]
		b.insert("$chosen ", by, false)
	case strings.TrimSpace(whole) != "":
		switch b.Trims {
		case TrimsEnd:
			whole = strings.TrimRightFunc(whole, unicode.IsSpace)
		case TrimsBoth:
			whole = strings.TrimSpace(whole)
		case TrimsNothing:
		}
		if b.Submitted != nil {
			b.Submitted(whole, b.Content)
		}
		b.Content, b.Behind = nil, 0
	}
}

func (b *Box) last() int {
	if len(b.Content) == 0 {
		return ByNobody
	}
	return b.Content[len(b.Content)-1].By
}

// Text returns the text of characters.
func Text(content []Char) string {
	runes := make([]rune, len(content))
	for i, c := range content {
		runes[i] = c.Rune
	}
	return string(runes)
}

const (
	// Cols is the width of the terminal.
	Cols = 100
	// Placeholder is what an empty box shows with Box.Suggests.
	Placeholder = "Type your message or @path/to/file"
)

// Screen draws the whole screen: its rows, and the number of the row with the cursor.
func (b *Box) Screen(busy bool) (rows []string, y int) {
	if busy {
		rows = append(rows, "working (esc to interrupt)")
		if b.TurnHides {
			return rows, 0
		}
	}
	lines := b.Rows()
	for i := range lines {
		if i == 0 {
			lines[i] = b.mark() + lines[i]
		} else {
			lines[i] = "  " + lines[i]
		}
	}
	rule := strings.Repeat("─", Cols)
	switch b.Style {
	case "rules":
		rows = append(append(append(rows, rule), lines...), rule, "  ? for shortcuts")
	case "open":
		rows = append(append(append(rows, ""), lines...), "", "  model default")
	default:
		rows = append(rows, lines...)
	}
	return rows, slices.Index(rows, lines[0]) + len(lines) - 1 - b.rowsBehind(len(lines))
}

// rowsBehind returns how many of n rows are below the cursor.
func (b *Box) rowsBehind(n int) int {
	if b.Behind == 0 || b.Hides {
		return 0
	}
	short := *b
	short.Content, short.Behind = b.Content[:b.at()], 0
	short.Height, short.Suggests = 0, false
	whole := *b
	whole.Height = 0
	return min(n-1, max(0, len(whole.Rows())-len(short.Rows())))
}

// mark returns what stands before the text.
func (b *Box) mark() string {
	switch b.Style {
	case "rules":
		return "❯ "
	case "open":
		return "› "
	default:
		return "> "
	}
}

// Rows returns the rows that the box shows.
func (b *Box) Rows() []string {
	if b.Hides || len(b.Content) == 0 {
		if b.Suggests && b.Style != "line" && !b.Hides {
			return []string{Placeholder}
		}
		return []string{""}
	}
	var s strings.Builder
	last := 0
	for _, c := range b.Content {
		switch {
		case c.Fold > 0 && c.Fold == last:
			continue
		case c.Fold > 0 && b.OddFold:
			fmt.Fprintf(&s, "(block %d)", c.Fold)
		case c.Fold > 0:
			s.WriteString(map[string]string{
				"line": "[pasted 40]", "open": "[Pasted Content 1234 chars]", "rules": "[Pasted text #1 +9 lines]",
			}[b.Style])
		default:
			s.WriteRune(c.Rune)
		}
		last = c.Fold
	}
	var rows []string
	for line := range strings.SplitSeq(s.String(), "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		for runes := []rune(line); ; runes = runes[Cols-4:] {
			if len(runes) <= Cols-4 {
				rows = append(rows, string(runes))
				break
			}
			rows = append(rows, string(runes[:Cols-4]))
		}
	}
	if b.Height > 0 && len(rows) > b.Height {
		rows = rows[len(rows)-b.Height:]
	}
	return rows
}
