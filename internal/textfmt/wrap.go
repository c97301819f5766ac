package textfmt

import "strings"

// Wrap breaks a text at blanks into lines of at most columns columns. Wide characters count as two. Existing line ends and the
// indentation of lines are kept. A word that is wider than a line is on a line of its own. A short command such as "gc restart
// coder" counts as one word. Zero columns means unlimited.
func Wrap(text string, columns int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if columns <= 0 || Visible(line) <= columns {
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

// WrapParagraphs joins the lines of each paragraph and wraps them. Indented lines are not joined.
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

// Hanging wraps a line of a list. The continuation lines are indented to the text after the last gap of two blanks.
func Hanging(line string, columns int) []string {
	if columns <= 0 || Visible(line) <= columns {
		return []string{line}
	}
	at := strings.LastIndex(strings.TrimRight(line, " "), "  ") + len("  ")
	indent := Visible(line[:at])
	if at < len("  ") || columns-indent < textColumn {
		return Wrap(line, columns)
	}
	rest, margin := Wrap(line[at:], columns-indent), line[:at]
	for i := range rest {
		rest[i] = margin + rest[i]
		margin = strings.Repeat(" ", indent)
	}
	return rest
}

// wrapLine wraps one line and keeps its indentation.
func wrapLine(line string, columns int) []string {
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	if len(indent) >= columns/2 {
		indent = ""
	}
	var lines []string
	current, width := indent, len(indent)
	for i, word := range splitWords(body, columns/2) {
		w := Visible(word)
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

// splitWords splits a line into words. A command that begins with gc counts as one word if it is not wider than maxWidth.
func splitWords(line string, maxWidth int) []string {
	var words []string
	command := false
	for word := range strings.FieldsSeq(line) {
		last := len(words) - 1
		if command && Visible(words[last])+1+Visible(word) <= maxWidth {
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

// minRule is the number of repeated characters to which [ShortenRules] shortens a line.
const minRule = 8

// ShortenRules shortens runs of a repeated character until the line is at most columns wide, so that a frame for a wider
// terminal fits. No run gets shorter than 8 characters.
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
