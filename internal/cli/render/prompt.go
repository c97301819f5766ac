package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// textWidth is the largest width, in columns, of a prompt's text in a table.
const textWidth = 48

// Queue returns a table of receipts.
func (s Formatter) Queue(receipts []client.Receipt) string {
	t := &textfmt.Table{Heads: []string{"ID", "AGENT", "STATE", "POS", "PRIORITY", "FROM", "AGE", "REASON", "TEXT"}}
	for _, r := range receipts {
		priority := r.Priority
		if priority == client.PriorityNormal {
			priority = ""
		}
		t.Add(textfmt.Painted(r.ID, textfmt.Bold), textfmt.Cell{Text: r.Agent}, textfmt.Painted(r.State, receiptColor(r.State)), number(r.Position), textfmt.Cell{Text: priority},
			textfmt.Cell{Text: r.Source}, textfmt.Cell{Text: textfmt.Span(s.Now.Sub(r.CreatedAt))}, textfmt.Cell{Text: s.queueReason(r)}, textfmt.Painted(shorten(r.Text, textWidth), textfmt.Faint))
	}
	return s.Table(t)
}

// queueReason returns why a prompt waits. For a prompt that is being delivered it adds when the delivery
// ends at the latest.
func (s Formatter) queueReason(r client.Receipt) string {
	words := Reason(r.Reason)
	if left := textfmt.In(s.Now, r.Deadline); left != "" && r.State == client.ReceiptInjected {
		words = textfmt.Join(words, "the delivery ends in "+left+" at the latest")
	}
	return words
}

// receiptColors maps the final states of receipts to colors.
var receiptColors = map[string]textfmt.Color{
	client.ReceiptSubmitted: textfmt.Green, client.ReceiptConsumed: textfmt.Green, client.ReceiptCancelled: textfmt.Faint,
	client.ReceiptDead: textfmt.Red, client.ReceiptUnconfirmed: textfmt.Red, client.ReceiptExpired: textfmt.Red,
}

// receiptColor returns the color of a receipt's state.
func receiptColor(state string) textfmt.Color { return cmp.Or(receiptColors[state], textfmt.Yellow) }

// Receipt returns the page of one receipt with its steps.
func (s Formatter) Receipt(r client.Receipt) string {
	f := &facts{}
	f.add("prompt", r.ID, textfmt.Bold)
	f.plain("agent", r.Agent)
	f.add("state", r.State, receiptColor(r.State))
	f.plain("reason", textfmt.ReplaceInternalTerms(r.Reason))
	f.plain("final", s.latestEnd(r))
	f.plain("retry of", r.RetryOf)
	f.plain("by file", r.ByFile)
	f.plain("changes", strings.Join(r.Changes, "; "))
	f.plain("sent back", number(r.SentBack).Text)
	if s.Verbose {
		f.plain("signal", r.Evidence)
	}
	f.plain("position", position(r.Position))
	f.plain("priority", r.Priority)
	f.plain("from", r.Source)
	f.plain("key", r.Key)
	f.plain("for", r.Instance)
	f.plain("attempts", number(r.Attempts).Text)
	f.plain("expires", s.expiry(r))
	f.plain("files", strings.Join(r.Files, "\n"))
	f.plain("text", shorten(r.Text, 2*textWidth)+" ("+textfmt.Count(r.Bytes, "byte")+")")
	return f.render(s) + s.steps(r)
}

// latestEnd returns when the delivery of a prompt ends at the latest; empty if that is not known.
func (s Formatter) latestEnd(r client.Receipt) string {
	if left := textfmt.In(s.Now, r.Deadline); left != "" {
		return "in " + left + " at the latest"
	}
	return ""
}

// position returns the position in the queue; empty for zero.
func position(n int) string {
	if n == 1 {
		return "next"
	}
	return number(n).Text
}

// expiry returns when a queued prompt expires; empty for a prompt that cannot expire any more.
func (s Formatter) expiry(r client.Receipt) string {
	if r.State != client.ReceiptAccepted && r.State != client.ReceiptQueued {
		return ""
	}
	if left := textfmt.In(s.Now, r.ExpiresAt); left != "" {
		return "in " + left
	}
	return "now"
}

// steps returns a table of the steps of a receipt, each with the time since the first one.
func (s Formatter) steps(r client.Receipt) string {
	if len(r.Steps) == 0 {
		return ""
	}
	t := &textfmt.Table{Heads: []string{"TIME", "AFTER", "STATE", "DETAIL"}}
	for _, step := range r.Steps {
		t.Add(textfmt.Painted(formatTime(step.At), textfmt.Faint), textfmt.Cell{Text: after(step.At.Sub(r.Steps[0].At))}, textfmt.Painted(step.State, receiptColor(step.State)), textfmt.Cell{Text: s.stepDetail(step)})
	}
	return "\n" + s.Table(t)
}

// stepDetail returns the detail of a step. Names of signals are shown with --verbose only.
func (s Formatter) stepDetail(step client.ReceiptStep) string {
	if isSignal := !strings.Contains(step.Detail, " ") && strings.ContainsAny(step.Detail, "_+"); isSignal && !s.Verbose {
		return ""
	}
	return Reason(step.Detail)
}

// after returns a duration, in milliseconds precision below a minute.
func after(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.3fs", d.Seconds())
	}
	return textfmt.Span(d)
}

// Because returns ": " and the reason, to follow a sentence; empty without a reason.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + Reason(reason)
}
