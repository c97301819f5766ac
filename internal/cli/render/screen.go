package render

import (
	"strconv"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// StyledScreen returns the lines of a screen with control sequences for their colors and styles, each moved indent columns to the
// right. The sequences are made here: the text of the agent itself controls nothing.
func StyledScreen(s client.Screen, indent int) string {
	var out strings.Builder
	y := 0
	for _, line := range s.Lines {
		for ; y < line.Y; y++ {
			out.WriteByte('\n')
		}
		out.WriteString(strings.Repeat(" ", indent))
		for _, span := range line.Spans {
			code := styleOf(span)
			text := textfmt.OneLine(span.Text)
			if code == "" {
				out.WriteString(text)
				continue
			}
			out.WriteString("\x1b[" + code + "m" + text + "\x1b[m")
		}
		out.WriteByte('\n')
		y = line.Y + 1
	}
	return out.String()
}

// styleOf returns the parameters of the sequence that selects a style; empty for plain text.
func styleOf(s client.ScreenSpan) string {
	var codes []string
	for _, attr := range []struct {
		on   bool
		code string
	}{{s.Bold, "1"}, {s.Dim, "2"}, {s.Italic, "3"}, {s.Underline, "4"}, {s.Reverse, "7"}, {s.Strike, "9"}} {
		if attr.on {
			codes = append(codes, attr.code)
		}
	}
	codes = append(codes, colorCode("38", s.Foreground)...)
	return strings.Join(append(codes, colorCode("48", s.Background)...), ";")
}

// colorCode returns the parameters of a color. It ignores what is none.
func colorCode(kind, color string) []string {
	if hex, ok := strings.CutPrefix(color, "#"); ok {
		rgb, err := strconv.ParseUint(hex, 16, 24)
		if err != nil || len(hex) != 6 {
			return nil
		}
		codes := []string{kind, "2"}
		for _, shift := range []int{16, 8, 0} {
			codes = append(codes, strconv.FormatUint(rgb>>shift&0xff, 10))
		}
		return codes
	}
	if i, err := strconv.ParseUint(color, 10, 8); err == nil {
		return []string{kind, "5", strconv.FormatUint(i, 10)}
	}
	return nil
}
