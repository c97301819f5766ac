package screen

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"gascity/internal/agentcli"
)

// questionEnd matches the end of a line in which a program asks: "?", ":", "[y/N]", "(yes/no)" or a request to press a key.
var questionEnd = regexp.MustCompile(`(?i)([?:]|[[(]y(es)?/n(o)?(/[^][() ]+)*[])]|\bpress (enter|return|a key|any key)\b[^>$%#]*)$`)

// maxGap is the largest number of blank columns between a question and the cursor.
const maxGap = 2

// SeemsToAsk is the text before a [Snapshot.LineQuestion] in messages for people.
const SeemsToAsk = "the program seems to ask: "

// LineQuestion returns the text with which a program seems to ask on the line of the cursor, such as "Continue? [y/N]" of
// `read -p`; empty if there is none. The line has no prompt sign, ends like a question, and the cursor is directly behind it.
// It is empty for a program whose input box has a frame. What looks like a question may be other output.
func (v Snapshot) LineQuestion(rules Rules) string {
	box := rules.Screen.InputBox
	if box.Frame != agentcli.FrameLine || v.Cursor.Y >= len(v.rows) {
		return ""
	}
	row := v.rows[v.Cursor.Y]
	if hasMark(row, box.Marks) {
		return ""
	}
	end := utf8.RuneCountInString(row)
	if v.Cells != nil {
		end = columnsOf(v.Cells(v.Cursor.Y), end)
	}
	text := strings.TrimSpace(row)
	if v.Cursor.X < end || v.Cursor.X > end+maxGap || !questionEnd.MatchString(text) {
		return ""
	}
	return text
}
