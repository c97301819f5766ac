package exchange

import (
	"context"
	"strings"

	"gascity/internal/session"
	"gascity/worker"
)

// worked hands on what a worker has said of a prompt, once it says that a turn has
// worked on it. A repetition is handed on too: what came of the first is not known.
func (e *Engine) worked(ctx context.Context, a *active, message string) error {
	a.mu.Lock()
	l := a.box.Find(message)
	receipt := ""
	if l != nil && l.State == worker.Consumed && (l.Kind == worker.PromptMessage || newestName(a.sent, baseName(message)) != "") {
		receipt = baseName(message)
	}
	a.mu.Unlock()
	if receipt == "" || e.opts.Prompts == nil {
		return nil
	}
	return inWords(e.opts.Prompts.Worked(ctx, receipt, session.PublicInstance(a.instance)))
}

// names takes what a report says of the prompt that it names, as an acknowledgement of
// that. A report that names what was never sent says nothing by it.
func (e *Engine) names(ctx context.Context, a *active, message string, state worker.Progress) error {
	if message == "" {
		return nil
	}
	a.mu.Lock()
	l := a.box.Find(message)
	known := l != nil && l.Kind == worker.PromptMessage
	if known {
		a.box.Ack(worker.Ack{ID: message, State: state})
		a.changeLocked()
	}
	a.mu.Unlock()
	if !known || state != worker.Consumed {
		return nil
	}
	return e.worked(ctx, a, message)
}

// baseName is the receipt of a prompt's message, whichever attempt that was.
func baseName(message string) string {
	base, _, _ := strings.Cut(message, attemptMark)
	return base
}
