package console

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gascity/internal/agentcli"
)

// composer is a program's input line as it stands on a screen.
type composer struct {
	found bool
	// above: the cursor has left the row with the mark, so the rows between may
	// be content or output. Only for [agentcli.FrameLine].
	above       bool
	top, bottom int    // its rows, [top, bottom)
	content     string // what somebody put in; empty if it shows only ghosts
	plain       bool   // its edges hold no text
}

// readComposer finds the program's input line, the lowest one on the screen.
func (v view) readComposer(rules agentcli.Composer) composer {
	var c composer
	switch rules.Frame {
	case agentcli.FrameRules, agentcli.FrameBox:
		c = v.framed(rules)
	case agentcli.FrameOpen:
		c = v.open(rules)
	case agentcli.FrameLine:
		c = v.line(rules)
	}
	if c.found && c.content != "" && agentcli.MatchAny(rules.Ghosts, strings.TrimSpace(c.content)) {
		c.content = ""
	}
	return c
}

// framed finds a composer between two rules.
func (v view) framed(rules agentcli.Composer) composer {
	lower, plainLower := -1, false
	for y, v0 := range slices.Backward(v.rows) {
		rule, plain := ruleRow(v0)
		if !rule || rules.Frame == agentcli.FrameRules && len(rules.Marks) == 0 && cornered(v0) {
			continue // without a mark, any box could be one
		}
		if lower > y+1 && v.marked(y+1, rules.Marks) {
			return composer{
				found: true, top: y + 1, bottom: lower, plain: plain && plainLower,
				content: v.content(y+1, lower, rules),
			}
		}
		lower, plainLower = y, plain
	}
	return composer{}
}

// marked reports whether row y begins with one of the marks; without marks
// every row does.
func (v view) marked(y int, marks []string) bool {
	_, ok := v.mark(y, marks)
	return ok || len(marks) == 0
}

// mark returns the rest of row y behind its mark.
func (v view) mark(y int, marks []string) (rest string, ok bool) {
	for _, mark := range marks {
		if rest, ok := cutMark(v.rows[y], mark); ok {
			return rest, true
		}
	}
	return "", false
}

// open finds a composer without a frame: the lowest row with a mark, and what
// follows it up to a blank row below the cursor, or a rule.
func (v view) open(rules agentcli.Composer) composer {
	for y := range slices.Backward(v.rows) {
		if _, ok := v.mark(y, rules.Marks); !ok {
			continue
		}
		end := y + 1
		for ; end < len(v.rows); end++ {
			rule, _ := ruleRow(v.rows[end])
			if rule || v.rows[end] == "" && end > v.Cursor.Y {
				break
			}
		}
		return composer{found: true, top: y, bottom: end, plain: true, content: v.content(y, end, rules)}
	}
	return composer{}
}

// line finds the row of the cursor, or the nearest one above it with a mark.
func (v view) line(rules agentcli.Composer) composer {
	if v.Cursor.Y >= len(v.rows) {
		return composer{}
	}
	for y := v.Cursor.Y; y >= 0; y-- {
		if _, ok := v.mark(y, rules.Marks); ok {
			end := v.Cursor.Y + 1
			return composer{
				found: true, above: y < v.Cursor.Y, top: y, bottom: end, plain: true,
				content: v.content(y, end, rules),
			}
		}
	}
	return composer{}
}

// content returns the text of rows [top, bottom) behind the mark, without
// ghosts and without blank rows at its end. What stands for a paste is content,
// however it is drawn.
func (v view) content(top, bottom int, rules agentcli.Composer) string {
	lines := make([]string, 0, bottom-top)
	for y := top; y < bottom; y++ {
		text := v.rows[y]
		if y == top {
			if rest, ok := v.mark(y, rules.Marks); ok {
				text = rest
			}
		}
		if v.Cells != nil && !agentcli.MatchAny(rules.Pasted, text) {
			text = v.withoutGhosts(y, text)
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// withoutGhosts returns the part of row y that shows text, the end of that row,
// as somebody typed it.
func (v view) withoutGhosts(y int, text string) string {
	before := strings.TrimSuffix(v.rows[y], text)
	typed := v.typed(y, columnsOf(v.Cells(y), utf8.RuneCountInString(before)))
	return clean(typed)
}

// skeleton returns the letters, digits and ASCII punctuation of a text: what
// survives wrapping, indenting and a font's idea of an emoji.
func skeleton(s string) string {
	kept := strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
	if kept != "" {
		return kept
	}
	return strings.Join(strings.Fields(s), "")
}

// holding is whose text a composer holds.
type holding uint8

const (
	holdsNothing holding = iota
	holdsOurs            // exactly our text, or what stands for it
	holdsMore            // our text and somebody else's
	holdsOther           // something that cannot be told
)

// minPart is the least visible part of a long text that identifies it.
const minPart = 16

// holds compares a composer's content with the text that was pasted.
func (c composer) holds(text string, rules agentcli.Composer) holding {
	switch {
	case !c.found:
		return holdsOther
	case strings.TrimSpace(c.content) == "":
		return holdsNothing
	}
	got, want := skeleton(c.content), skeleton(text)
	if got == want {
		return holdsOurs
	}
	if n := placeholders(c.content, rules); n > 0 {
		return holdsPasted(c.content, want, n, rules)
	}
	switch {
	case strings.Contains(got, want):
		return holdsMore
	case rules.Scrolls && len(got) >= minPart && strings.Contains(want, got):
		return holdsOurs
	}
	return holdsOther
}

// holdsPasted is holds for content with n placeholders.
func holdsPasted(content, want string, n int, rules agentcli.Composer) holding {
	before, after := content, ""
	for _, p := range rules.Pasted {
		if cut := p.Replace(content, "\x00"); cut != content {
			before, after, _ = strings.Cut(cut, "\x00")
		}
	}
	before, after = skeleton(before), skeleton(after)
	switch {
	case n > 1:
		return holdsMore
	case before+after == "":
		return holdsOurs
	case len(before)+len(after) < len(want) && strings.HasPrefix(want, before) && strings.HasSuffix(want, after):
		return holdsOurs // both ends of a long text are shown
	}
	return holdsMore
}

// bracketed is how programs write what stands for a paste.
var bracketed = regexp.MustCompile(`\[[^\[\]]*\]`)

// placeholders counts what stands for a paste.
func placeholders(content string, rules agentcli.Composer) (n int) {
	for _, part := range bracketed.FindAllString(content, -1) {
		if agentcli.MatchAny(rules.Pasted, part) {
			n++
		}
	}
	if n == 0 && replaceAll(rules.Pasted, content) != content {
		return 1
	}
	return n
}

func replaceAll(patterns []agentcli.Pattern, s string) string {
	for _, p := range patterns {
		s = p.Replace(s, "")
	}
	return s
}
