package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/textfmt"
)

func TestAConversationFitsTheTerminal(t *testing.T) {
	t.Parallel()
	at := noon.Local()
	entries := []client.ConversationEntry{
		{ID: 1, Time: at, Turn: 1, Kind: client.EntryPrompt, Text: "list the files", From: client.PromptByReceipt, Receipt: "p-1", State: client.ReceiptSubmitted, Sender: "maria"},
		{ID: 2, Time: at, Turn: 1, Kind: client.EntryThinking, Text: "a\nb\nc\nd\ne\nf"},
		{ID: 3, Time: at, Turn: 1, Kind: client.EntryTool, Tool: &client.ConversationTool{Name: "Bash", Argument: strings.Repeat("word ", 30), Status: client.ToolFailed, Result: strings.Repeat("x", 100) + "\n\ttab"}},
		{ID: 4, Time: at, Turn: 1, Kind: client.EntryAnswer, Text: "Two:\n```go\nfunc  f()  {}\n```\n" + strings.Repeat("blah ", 30), Bytes: 99999},
		{ID: 5, Time: at, Turn: 1, Kind: client.EntryNotice, Text: "interrupted"},
	}
	c := Conversation{Formatter: Formatter{Now: noon, Columns: 60}}
	page := c.Entries(entries)
	clock := at.Format(time.TimeOnly)
	for _, line := range []string{
		clock + " prompt  p-1, from maria, submitted", "  list the files", "  d", "  ... 2 more lines", "      tab", "  func  f()  {}", clock + " interrupted",
		"  ... 179 of 99999 bytes shown; the agent CLI has the rest",
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("%q is missing", line)
		}
	}
	for line := range strings.Lines(page) {
		if textfmt.Width(strings.TrimSuffix(line, "\n")) > 60 {
			t.Errorf("too wide: %q", line)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestAResultComesLater shows a tool call that runs, and its result in the next part.
func TestAResultComesLater(t *testing.T) {
	t.Parallel()
	c := Conversation{Formatter: Formatter{Now: noon}}
	tool := client.ConversationEntry{ID: 3, Kind: client.EntryTool, Tool: &client.ConversationTool{Name: "Bash", Argument: "ls", Status: client.ToolRunning}}
	first := c.Entries([]client.ConversationEntry{tool})
	tool.Tool = &client.ConversationTool{Name: "Bash", Argument: "ls", Status: client.ToolDone, Result: "a.go"}
	second := c.Entries([]client.ConversationEntry{tool})
	if diff := cmp.Diff("         Bash ls  running\n         Bash ls  done\n  a.go\n", first+second); diff != "" {
		t.Error(diff)
	}
}
