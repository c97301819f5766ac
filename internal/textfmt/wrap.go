package textfmt

import "strings"

// visible returns the width of a text without its colors.
func visible(text string) int {
	if strings.Contains(text, colorStart) {
		text = stripped(text)
	}
	return Width(text)
}

// Wrap breaks a text at blanks into lines of at most some columns, wide characters counted as two.
// Line ends and the indentation of each line stay. A word that is wider than a line has a line of its
// own. A short command such as "gc restart coder" is one word. Zero columns is unlimited.
func Wrap(text string, columns int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if columns <= 0 || visible(line) <= columns {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, wrapLine(line, columns)...)
	}
	if len(lines) == 0 {
		return []string{""}
	}
	return lines
}

// WrapParagraphs joins the lines of each paragraph and wraps them. Indented lines stay lines of their own.
func WrapParagraphs(text string, columns int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, Wrap(strings.Join(paragraph, " "), columns)...)
		}
		paragraph = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, Hanging(line, columns)...)
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// Hanging wraps a line of a list: what follows the first line is indented as far as the text behind
// the last gap of two blanks.
func Hanging(line string, columns int) []string {
	if columns <= 0 || visible(line) <= columns {
		return []string{line}
	}
	at := strings.LastIndex(strings.TrimRight(line, " "), "  ") + len("  ")
	indent := visible(line[:at])
	if at < len("  ") || columns-indent < textColumn {
		return Wrap(line, columns)
	}
	rest := Wrap(line[at:], columns-indent)
	for i := range rest {
		if i == 0 {
			rest[i] = line[:at] + rest[i]
		} else {
			rest[i] = strings.Repeat(" ", indent) + rest[i]
		}
	}
	return rest
}

func wrapLine(line string, columns int) []string {
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	if len(indent) >= columns/2 {
		indent = ""
	}
	var lines []string
	current, width := indent, len(indent)
	for i, word := range glued(body, columns/2) {
		w := visible(word)
		switch {
		case i == 0:
		case width+1+w > columns:
			lines = append(lines, current)
			current, width = indent, len(indent)
		default:
			current += " "
			width++
		}
		current += word
		width += w
	}
	return append(lines, current)
}

// glued splits a line into words. A command of gc is one word if it takes at most some columns.
func glued(line string, most int) []string {
	var words []string
	command := false
	for _, word := range strings.Fields(line) {
		last := len(words) - 1
		if command && visible(words[last])+1+visible(word) <= most {
			words[last] += " " + word
		} else {
			words = append(words, word)
			command = strings.TrimLeft(word, "(\"'`") == "gc"
		}
		if strings.ContainsAny(word[len(word)-1:], ";,:.)") {
			command = false
		}
	}
	return words
}

// minRule is how many times a character is repeated that draws a line.
const minRule = 8

// ShortenRules removes as much from the repeated characters of a line as it is too wide, so that a
// frame that was drawn for a wider terminal fits.
func ShortenRules(line string, columns int) string {
	for over := Width(line) - columns; over > 0; over = Width(line) - columns {
		runes := []rune(line)
		begin, length := 0, 0
		for i := 0; i < len(runes); {
			end := i
			for end < len(runes) && runes[end] == runes[i] {
				end++
			}
			if end-i > length {
				begin, length = i, end-i
			}
			i = end
		}
		if length <= minRule {
			return line
		}
		cut := min(over, length-minRule)
		line = string(runes[:begin]) + string(runes[begin+cut:])
	}
	return line
}
