package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// InputBox is the input box of a program on a screen.
type InputBox struct {
	Found bool
	// Above: the row with the mark is above the cursor, so the rows between may be content or output. Only for
	// [agentcli.FrameLine].
	Above   bool
	Content string // the entered text; empty if the box shows only suggestions

	top, bottom int  // its rows, [top, bottom)
	plain       bool // its edges contain no text
}

// Empty reports whether the input box was found and is certainly empty.
func (c InputBox) Empty() bool { return c.Found && !c.Above && strings.TrimSpace(c.Content) == "" }

// InputBox returns the lowest input box on the screen. Its Found is false if there is none.
func (v Snapshot) InputBox(rules agentcli.InputBox) InputBox {
	var c InputBox
	switch rules.Frame {
	case agentcli.FrameRules, agentcli.FrameBox:
		c = v.framed(rules)
	case agentcli.FrameOpen:
		c = v.open(rules)
	case agentcli.FrameLine:
		c = v.line(rules)
	}
	if c.Found && c.Content != "" && agentcli.MatchAny(rules.Placeholders, strings.TrimSpace(c.Content)) && !v.cursorBehind(c, rules) {
		c.Content = ""
	}
	return c
}

// InputRefusal returns why the program accepts no text in its input box while it shows this screen, with a detail for people. The
// reason is empty if it accepts text.
func (v Snapshot) InputRefusal(rules Rules) (reason runtime.RefusalReason, detail string) {
	if v.Unready(rules) {
		return runtime.RefusedUnready, "the input box is not on the screen"
	}
	s := rules.Screen
	c := v.InputBox(s.InputBox)
	switch busy := v.Busy(s, c); {
	case s.EnterWhileBusy == agentcli.BusyIgnores && busy != "":
		return runtime.RefusedBusy, "the program accepts no input during a turn"
	case s.EnterWhileBusy == agentcli.BusyMerges && busy != "":
		return runtime.RefusedBusy, fmt.Sprintf("the program would join all input during a turn into one prompt (%s)", busy)
	case s.EnterWhileBusy == agentcli.BusyMerges && v.TitleUnknown(s):
		return runtime.RefusedBusy, fmt.Sprintf("the title %q does not show whether a turn is in progress", v.Title)
	}
	if c.Above && len(s.InputBox.Marks) > 0 {
		return runtime.RefusedDraft, "the cursor is below the row of the prompt sign: the text between them may be a draft"
	}
	if c.Found && !c.Above && strings.TrimSpace(c.Content) != "" {
		return runtime.RefusedDraft, fmt.Sprintf("the input box contains %d characters", utf8.RuneCountInString(c.Content))
	}
	return "", ""
}

// cursorBehind reports whether the cursor is after the first character in the input box. In an empty box with a suggestion
// the cursor is at the beginning.
func (v Snapshot) cursorBehind(c InputBox, rules agentcli.InputBox) bool {
	if v.Cells == nil || v.Cursor.Y < c.top || v.Cursor.Y >= c.bottom {
		return false
	}
	rest, ok := cutAnyMark(v.rows[c.top], rules.Marks)
	if !ok || v.Cursor.Y > c.top {
		return ok
	}
	before := strings.TrimSuffix(v.rows[c.top], rest)
	return v.Cursor.X > columnsOf(v.Cells(c.top), utf8.RuneCountInString(before))
}

// framed finds the lowest input box that is between two horizontal rules, as the profile of the agent CLI describes it.
func (v Snapshot) framed(rules agentcli.InputBox) InputBox {
	lower, plainLower := -1, false
	for y, v0 := range slices.Backward(v.rows) {
		rule, plain := ruleRow(v0)
		if !rule || rules.Frame == agentcli.FrameRules && len(rules.Marks) == 0 && cornered(v0) {
			continue // without a mark, any box could match
		}
		if lower > y+1 && (len(rules.Marks) == 0 || hasMark(v.rows[y+1], rules.Marks)) {
			return InputBox{
				Found: true, top: y + 1, bottom: lower, plain: plain && plainLower,
				Content: v.content(y+1, lower, rules),
			}
		}
		lower, plainLower = y, plain
	}
	return InputBox{}
}

// open finds an input box without a frame: the lowest row with a mark, and the rows after it up to a rule or a blank row
// below the cursor.
func (v Snapshot) open(rules agentcli.InputBox) InputBox {
	y := v.lastRow(func(row string) bool { return hasMark(row, rules.Marks) })
	if y < 0 {
		return InputBox{}
	}
	end := y + 1
	for ; end < len(v.rows); end++ {
		rule, _ := ruleRow(v.rows[end])
		if rule || v.rows[end] == "" && end > v.Cursor.Y {
			break
		}
	}
	return InputBox{Found: true, top: y, bottom: end, plain: true, Content: v.content(y, end, rules)}
}

// line finds a plain prompt: the row of the cursor, or the nearest row above it, that has a mark.
func (v Snapshot) line(rules agentcli.InputBox) InputBox {
	if v.Cursor.Y >= len(v.rows) {
		return InputBox{}
	}
	for y := v.Cursor.Y; y >= 0; y-- {
		if hasMark(v.rows[y], rules.Marks) {
			end := v.Cursor.Y + 1
			return InputBox{
				Found: true, Above: y < v.Cursor.Y, top: y, bottom: end, plain: true,
				Content: v.content(y, end, rules),
			}
		}
	}
	return InputBox{}
}

// content returns the text of rows [top, bottom) after the mark, without suggestions and without blank rows at the end. A
// placeholder for a paste is content, whatever its style.
func (v Snapshot) content(top, bottom int, rules agentcli.InputBox) string {
	lines := make([]string, 0, bottom-top)
	for y := top; y < bottom; y++ {
		text := v.rows[y]
		if y == top {
			if rest, ok := cutAnyMark(text, rules.Marks); ok {
				text = rest
			}
		}
		if v.Cells != nil && !agentcli.MatchAny(rules.Pasted, text) {
			text = v.withoutPlaceholders(y, text)
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// withoutPlaceholders returns text, which is the end of row y, without the program's suggestions.
func (v Snapshot) withoutPlaceholders(y int, text string) string {
	before := strings.TrimSuffix(v.rows[y], text)
	typed := v.typed(y, columnsOf(v.Cells(y), utf8.RuneCountInString(before)))
	return clean(typed)
}
