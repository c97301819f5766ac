package render

import (
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// textWidth is how much of a prompt's beginning a listing shows.
const textWidth = 48

// Queue lists receipts.
func (s Formatter) Queue(receipts []client.Receipt) string {
	t := &textfmt.Table{Heads: []string{"ID", "AGENT", "STATE", "POS", "PRIORITY", "FROM", "AGE", "REASON", "TEXT"}}
	for _, r := range receipts {
		priority := r.Priority
		if priority == "normal" {
			priority = ""
		}
		t.Add(textfmt.Painted(r.ID, textfmt.Bold), textfmt.Cell{Text: r.Agent}, textfmt.Painted(r.State, receiptColor(r.State)), number(r.Position), textfmt.Cell{Text: priority},
			textfmt.Cell{Text: r.Source}, textfmt.Cell{Text: textfmt.Span(s.Now.Sub(r.CreatedAt))}, textfmt.Cell{Text: s.waiting(r)}, textfmt.Painted(beginning(r.Text, textWidth), textfmt.Faint))
	}
	return s.Table(t)
}

// waiting is why a prompt waits, or how its delivery goes.
func (s Formatter) waiting(r client.Receipt) string {
	words := Reason(r.Reason)
	if left := textfmt.In(s.Now, r.Deadline); left != "" && r.State == client.ReceiptInjected {
		words = textfmt.Join(words, "final in "+left+" at the latest")
	}
	return words
}

// receiptColor returns the colour of a receipt's state.
func receiptColor(state string) textfmt.Color {
	switch state {
	case client.ReceiptSubmitted, client.ReceiptConsumed:
		return textfmt.Green
	case client.ReceiptDead, client.ReceiptUnconfirmed, client.ReceiptExpired:
		return textfmt.Red
	case client.ReceiptCancelled:
		return textfmt.Faint
	}
	return textfmt.Yellow
}

// Receipt returns one receipt with its steps.
func (s Formatter) Receipt(r client.Receipt) string {
	f := &facts{}
	f.add("prompt", r.ID, textfmt.Bold)
	f.plain("agent", r.Agent)
	f.add("state", r.State, receiptColor(r.State))
	f.plain("reason", textfmt.ReplaceInternalTerms(r.Reason))
	f.plain("final", s.decided(r))
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
	f.plain("text", beginning(r.Text, 2*textWidth)+" ("+textfmt.Count(r.Bytes, "byte")+")")
	return f.render(s) + s.steps(r)
}

// decided is by when the delivery of an injected prompt has ended.
func (s Formatter) decided(r client.Receipt) string {
	if left := textfmt.In(s.Now, r.Deadline); left != "" {
		return "in " + left + " at the latest"
	}
	return ""
}

func position(n int) string {
	if n == 1 {
		return "next"
	}
	return number(n).Text
}

// expiry is said of what can still expire.
func (s Formatter) expiry(r client.Receipt) string {
	if r.State != client.ReceiptAccepted && r.State != client.ReceiptQueued {
		return ""
	}
	if left := textfmt.In(s.Now, r.ExpiresAt); left != "" {
		return "in " + left
	}
	return "now"
}

// steps lists each step with the time since the first one.
func (s Formatter) steps(r client.Receipt) string {
	if len(r.Steps) == 0 {
		return ""
	}
	t := &textfmt.Table{Heads: []string{"TIME", "AFTER", "STATE", "DETAIL"}}
	for _, step := range r.Steps {
		t.Add(textfmt.Painted(clock(step.At), textfmt.Faint), textfmt.Cell{Text: after(step.At.Sub(r.Steps[0].At))}, textfmt.Painted(step.State, receiptColor(step.State)), textfmt.Cell{Text: s.stepDetail(step)})
	}
	return "\n" + s.Table(t)
}

// stepDetail returns the detail of a step. The names of signals are for programs.
func (s Formatter) stepDetail(step client.ReceiptStep) string {
	if isSignal := !strings.Contains(step.Detail, " ") && strings.ContainsAny(step.Detail, "_+"); isSignal && !s.Verbose {
		return ""
	}
	return Reason(step.Detail)
}

func after(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.3fs", d.Seconds())
	}
	return textfmt.Span(d)
}

// Because adds a reason to a sentence, if there is one.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + Reason(reason)
}
