package cityservice

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/worker"
)

// beacon is the first line of a prompt with which gc starts an agent, see runtime.FormatBeacon.
var beacon = regexp.MustCompile(`^\[[^\]\n]+\] \S.* • \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`)

// attribute sets who sent each prompt in a transcript: gc, with the receipt, or the start of the agent. Any other prompt was
// typed in the terminal or sent by another program.
func attribute(entries []client.ConversationEntry, receipts []client.Receipt) {
	open := make([]sentPrompt, 0, len(receipts))
	for _, r := range receipts {
		switch r.State {
		case client.ReceiptInjected, client.ReceiptSubmitted, client.ReceiptConsumed, client.ReceiptUnconfirmed:
			open = append(open, sentPrompt{Receipt: r, words: words(r.Text)})
		}
	}
	slices.SortStableFunc(open, func(a, b sentPrompt) int { return b.CreatedAt.Compare(a.CreatedAt) })
	for i := range slices.Backward(entries) {
		e := &entries[i]
		if e.Kind != client.EntryPrompt {
			continue
		}
		text := words(e.Text)
		at := slices.IndexFunc(open, func(p sentPrompt) bool { return p.isIn(e, text) })
		switch {
		case at >= 0:
			r := open[at]
			e.From, e.Receipt, e.State, e.Sender = client.PromptByReceipt, r.ID, r.State, r.Source
			open = slices.Delete(open, at, at+1)
		case beacon.MatchString(e.Text):
			e.From = client.PromptByStart
		}
	}
}

// withoutTerminal removes the sender "terminal" from the prompts of an agent without a terminal: they were sent by gc, but their
// receipts are deleted.
func withoutTerminal(entries []client.ConversationEntry) {
	for i := range entries {
		if entries[i].From == client.PromptByTerminal {
			entries[i].From = ""
		}
	}
}

// sentPrompt is a prompt that gc sent.
type sentPrompt struct {
	client.Receipt

	words string // the beginning of its text, without the white space that agent CLIs change
}

// clockSlack is how much earlier than its receipt a prompt may appear in a transcript.
const clockSlack = 2 * time.Second

// isIn reports whether the entry e of a transcript is this prompt. text is the text of the entry in the form of words.
func (p *sentPrompt) isIn(e *client.ConversationEntry, text string) bool {
	switch {
	case !e.Time.IsZero() && e.Time.Before(p.CreatedAt.Add(-clockSlack)):
		return false
	case p.ByFile != "":
		return strings.Contains(e.Text, p.ByFile)
	case p.words == "" || !strings.HasPrefix(text, p.words):
		return false
	case p.Bytes <= len(p.Text): // the whole text is known
		return len(text) == len(p.words)
	}
	size := cmp.Or(e.Bytes, len(e.Text))
	return size <= p.Bytes && size*10 >= p.Bytes*9 // white space may be missing
}

// words returns the words of a text with one space between them.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// fromReceipts fills in the entries of a conversation whose transcript gc does not know: the prompts with their delivery status,
// and the tool calls and failures that hooks reported. It contains no text of the agent, and nothing that is older than since.
func fromReceipts(c *client.Conversation, receipts []client.Receipt, reported []client.ConversationEntry, since time.Time) {
	entries := slices.Clone(reported)
	for _, r := range receipts {
		e := client.ConversationEntry{
			Kind: client.EntryPrompt, Time: r.CreatedAt, Text: r.Text, From: client.PromptByReceipt, Receipt: r.ID, State: r.State, Sender: r.Source,
		}
		if r.Bytes > len(r.Text) {
			e.Bytes = r.Bytes
		}
		entries = append(entries, e)
	}
	entries = slices.DeleteFunc(entries, func(e client.ConversationEntry) bool { return e.Time.Before(since) })
	slices.SortStableFunc(entries, func(a, b client.ConversationEntry) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Receipt, b.Receipt))
	})
	last := uint64(0)
	for i := range entries {
		e := &entries[i]
		if e.Kind == client.EntryPrompt {
			c.Turns++
		}
		e.Turn = c.Turns
		e.ID = max(last+1, uint64(max(0, e.Time.UnixMilli()))*linePlaces) //nolint:gosec // not negative
		last = e.ID
	}
	c.Entries = entries
}

const (
	// linePlaces is how many entries of one millisecond have IDs of their own.
	linePlaces = 64
	// reportsSince is how old reports of hooks may be that are shown.
	reportsSince = 24 * time.Hour
	// maxReported is how many reports of hooks are shown, the newest ones.
	maxReported = 500
)

// reports are the tool calls and failures that the hooks or the worker of a session reported.
type reports struct {
	begun   bool
	last    uint64 // ID of the last event that was read
	entries []client.ConversationEntry
}

// readReports adds the reports of a session since the last call; the first call reads those of [reportsSince].
func (f Service) readReports(ctx context.Context, name string, r *reports) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the channel of later events
	if !r.begun {
		last, err := f.Since(ctx, time.Now().Add(-reportsSince))
		if err != nil {
			return err
		}
		r.begun, r.last = true, last
	}
	past, _, _, err := f.Events(ctx, r.last)
	if err != nil {
		return err
	}
	for i := range past {
		e := &past[i]
		if r.last = e.ID; e.Session == name && e.Kind == string(event.WorkerTelemetry) {
			r.entries = append(r.entries, reportedEntries(e)...)
		}
	}
	r.entries = slices.Clone(r.entries[max(0, len(r.entries)-maxReported):])
	return nil
}

// reportedEntries returns the tool calls and failures in the event of one telemetry report.
func reportedEntries(e *client.Event) []client.ConversationEntry {
	var report worker.Telemetry
	if json.Unmarshal([]byte(e.Data["body"]), &report) != nil {
		return nil
	}
	var out []client.ConversationEntry
	for i := range report.Events {
		t := &report.Events[i]
		switch t.Type {
		case worker.ToolUsed:
			for _, call := range t.ToolsCalled {
				status := client.ToolDone
				if !call.Success {
					status = client.ToolFailed
				}
				out = append(out, client.ConversationEntry{Kind: client.EntryTool, Time: e.Time, Tool: &client.ConversationTool{Name: call.Name, Argument: t.Message, Status: status}})
			}
		case worker.Failure:
			out = append(out, client.ConversationEntry{Kind: client.EntryError, Time: e.Time, Text: t.Message})
		case worker.Compacted:
			out = append(out, client.ConversationEntry{Kind: client.EntryCompaction, Time: e.Time})
		default: // no part of a conversation
		}
	}
	return out
}
