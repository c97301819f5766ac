package render

import (
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

const (
	// resultLines and thinkingLines are how many lines of a tool's result and of the model's thinking are shown.
	resultLines   = 8
	thinkingLines = 4
)

// Conversation formats entries of a conversation for people. It shows new entries after old ones: call it with each part.
type Conversation struct {
	Formatter

	day   string // of the last entry
	turn  int
	begun bool
	tools map[uint64]bool // tool calls that were shown without their result
}

// Entries returns entries as text. A tool call without a result is shown again when it has one.
func (c *Conversation) Entries(entries []client.ConversationEntry) string {
	if c.tools == nil {
		c.tools = map[uint64]bool{}
	}
	var out strings.Builder
	for i := range entries {
		e := &entries[i]
		out.WriteString(c.gap(e))
		out.WriteString(c.entry(e))
		c.begun, c.turn = true, e.Turn
	}
	return out.String()
}

// gap returns what is between the last entry and this one: a line at the beginning of a turn, and the date of a new day.
func (c *Conversation) gap(e *client.ConversationEntry) string {
	var out strings.Builder
	if c.begun && (e.Turn != c.turn || e.Kind == client.EntryPrompt || e.Kind == client.EntryAnswer) {
		out.WriteString("\n")
	}
	if e.Time.IsZero() {
		return out.String()
	}
	if day := e.Time.Local().Format(time.DateOnly); day != c.day {
		if c.day != "" || day != c.Now.Local().Format(time.DateOnly) {
			out.WriteString(c.Paint(textfmt.Faint, day) + "\n")
		}
		c.day = day
	}
	return out.String()
}

// entry returns one entry: a heading and its text.
func (c *Conversation) entry(e *client.ConversationEntry) string {
	clock := "        "
	if !e.Time.IsZero() {
		clock = e.Time.Local().Format(time.TimeOnly)
	}
	head := c.Paint(textfmt.Faint, clock) + " "
	switch e.Kind {
	case client.EntryPrompt:
		return head + c.Paint(textfmt.Bold, "prompt") + c.promptNote(e) + "\n" + c.body(e.Text, e.Bytes)
	case client.EntryAnswer:
		return head + c.Paint(textfmt.Green, "answer") + "\n" + c.body(e.Text, e.Bytes)
	case client.EntryThinking:
		return head + c.Paint(textfmt.Faint, "thinking") + "\n" + c.firstLines(e.Text, thinkingLines)
	case client.EntryTool:
		if e.Tool != nil {
			return c.tool(head, e)
		}
	case client.EntryError:
		return head + c.Paint(textfmt.Red, "error") + "\n" + c.body(e.Text, e.Bytes)
	case client.EntryCompaction:
		return head + c.Paint(textfmt.Yellow, "conversation compacted") + "\n" + c.firstLines(e.Text, thinkingLines)
	}
	return c.wrap(head + textfmt.OneLine(FirstLine(e.Text)))
}

// promptNote returns who sent a prompt, and its delivery status.
func (c *Conversation) promptNote(e *client.ConversationEntry) string {
	var words []string
	switch e.From {
	case client.PromptByReceipt:
		words = append(words, textfmt.OneLine(e.Receipt))
		if e.Sender != "" {
			words = append(words, "from "+textfmt.OneLine(e.Sender))
		}
		if e.State != client.ReceiptConsumed && e.State != "" {
			words = append(words, textfmt.OneLine(e.State))
		}
	case client.PromptByStart:
		words = append(words, "start of the agent")
	case client.PromptByTerminal:
		words = append(words, "typed in the terminal")
	}
	if len(words) == 0 {
		return ""
	}
	return c.Paint(textfmt.Faint, "  "+strings.Join(words, ", "))
}

// tool returns a tool call: its name and argument, and the first lines of its result.
func (c *Conversation) tool(head string, e *client.ConversationEntry) string {
	t := e.Tool
	color, status := textfmt.Yellow, ""
	switch {
	case t.Status == client.ToolFailed:
		color, status = textfmt.Red, "failed"
	case t.Status == client.ToolRunning:
		status = "running"
	case c.tools[e.ID]:
		status = "done"
	}
	line := c.Paint(color, textfmt.OneLine(t.Name))
	if t.Argument != "" {
		line += " " + textfmt.OneLine(t.Argument)
	}
	if status != "" {
		line += c.Paint(textfmt.Faint, "  "+status)
	}
	c.tools[e.ID] = t.Status == client.ToolRunning
	width := 0
	if c.Columns > 0 {
		width = max(1, c.Columns-indent)
	}
	rows := textfmt.Wrap(head+line, width)
	for i := range rows[1:] {
		rows[i+1] = strings.Repeat(" ", indent) + rows[i+1]
	}
	return strings.Join(rows, "\n") + "\n" + c.firstLines(t.Result, resultLines)
}

// body returns a whole text, indented. Lines of code blocks are broken at the width, other lines at blanks.
func (c *Conversation) body(text string, size int) string {
	var out strings.Builder
	code := false
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code {
			out.WriteString(c.exact(line))
		} else {
			out.WriteString(c.lines(strings.ReplaceAll(line, "\t", "    "), indent))
		}
	}
	if size > len(text) {
		out.WriteString(c.rest(fmt.Sprintf("%d of %d bytes shown; the agent CLI has the rest", len(text), size)))
	}
	return out.String()
}

// firstLines returns the first lines of a text as they are.
func (c *Conversation) firstLines(text string, most int) string {
	var out strings.Builder
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	shown := min(len(lines), most)
	if len(lines) == most+1 {
		shown++ // the line that says so would take as much
	}
	for _, line := range lines[:shown] {
		out.WriteString(c.exact(line))
	}
	if n := len(lines) - shown; n > 0 {
		out.WriteString(c.rest(textfmt.Count(n, "more line")))
	}
	return out.String()
}

// rest returns the line below a shortened text that says how much is not shown.
func (c *Conversation) rest(words string) string {
	return strings.Repeat(" ", indent) + c.Paint(textfmt.Faint, "... "+words) + "\n"
}

// exact returns one line, indented and broken at the width.
func (c *Conversation) exact(line string) string {
	margin := strings.Repeat(" ", indent)
	line = textfmt.OneLine(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
	width := c.Columns - indent
	if c.Columns == 0 || textfmt.Width(line) <= width || width < 2 {
		return margin + line + "\n"
	}
	var out, row strings.Builder
	used := 0
	for _, r := range line {
		w := textfmt.Width(string(r))
		if used+w > width {
			out.WriteString(margin + row.String() + "\n")
			row.Reset()
			used = 0
		}
		row.WriteRune(r)
		used += w
	}
	return out.String() + margin + row.String() + "\n"
}
