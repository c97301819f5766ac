package fakeagent

import (
	"slices"
	"time"

	"gascity/internal/fakeagent/ledger"
)

// handleInput passes input to the part of the agent that reads it now.
func (a *agent) handleInput(c chunk) {
	a.dirty = true
	if !a.ready && a.dialog == nil {
		if a.m.ignoreInput {
			a.ledger.write(a.ledger.text(ledger.Record{Kind: ledger.Discarded}, c.data))
		} else {
			a.early = append(a.early, c)
		}
		return
	}
	if c.prompt && a.acpPeer != nil {
		a.acpPeer.handleMessage(c.data)
		return
	}
	if c.prompt {
		a.handlePipePrompt(c.data)
		return
	}
	a.cancel("escape")
	for _, e := range a.dec.Feed(c.data) {
		a.handle(e, c.at)
	}
	if a.dec.Waiting() {
		a.after("escape", escapeWait, func() {
			for _, e := range a.dec.Flush() {
				a.handle(e, time.Now())
			}
		})
	}
}

// handlePipePrompt handles a line from a pipe: a prompt, or the answer to a question.
func (a *agent) handlePipePrompt(text []byte) {
	if a.ask == nil {
		a.submit(text, "stdin")
		return
	}
	if choice := string(text); slices.Contains(a.ask.options, choice) {
		a.choose(choice)
	}
}

// answerFromPipe answers an open question with lines that were already queued. At the end of input it interrupts the turn,
// because no answer can come any more.
func (a *agent) answerFromPipe() {
	for a.m.plain && !a.m.protocol && !a.m.worker && a.ask != nil && len(a.queue) > 0 {
		next := a.queue[0]
		a.queue = a.queue[1:]
		a.handlePipePrompt(next)
	}
	if a.m.plain && a.ask != nil && a.ended {
		a.interrupt()
	}
}

// inputEnded handles the end of the pipe or of the terminal.
func (a *agent) inputEnded(c chunk) {
	a.ledger.write(ledger.Record{Kind: ledger.InputEnded, Reason: c.err.Error()})
	a.ended = true
	if !a.m.plain && !a.m.ignoreHup {
		a.leave(0, "terminal gone")
	}
	a.answerFromPipe()
	a.leaveAtEnd()
}

// leaveAtEnd makes an agent on a pipe exit when its input has ended and all prompts are answered.
func (a *agent) leaveAtEnd() {
	if a.m.plain && a.ended && a.ready && a.turn == nil {
		a.leave(0, "end of input")
	}
}

// handle passes one event to the dialog, the question or the input box.
func (a *agent) handle(e inputEvent, at time.Time) {
	if a.left {
		return
	}
	away := e.Kind == keyEvent && (e.Key == "escape" || e.Key == "c-c")
	switch {
	case a.dialog != nil && away:
		a.answerDialog("(cancelled)")
	case a.dialog != nil:
		if choice, done := a.dialog.press(e); done {
			a.answerDialog(choice)
		}
	case a.ask != nil && away:
		a.interrupt()
	case a.ask != nil:
		if choice, done := a.ask.press(e); done {
			a.choose(choice)
		}
	default:
		a.compose(e, at)
	}
}

// compose handles one event in the input box.
func (a *agent) compose(e inputEvent, at time.Time) {
	if e.Key != "c-c" {
		a.armed = false
	}
	switch {
	case e.Kind == textEvent:
		a.comp.insert(e.Data)
		a.lastText = at
	case e.Kind == pasteEvent:
		a.comp.paste(e.Data)
		a.lastText = at
	case e.Key == "enter":
		a.enter(at)
	case e.Key == "c-c", e.Key == "escape":
		a.stopKey(e.Key)
	default:
		a.comp.edit(e.Key)
	}
}

// enter submits the text, unless a flag changes the meaning of the key.
func (a *agent) enter(at time.Time) {
	switch {
	case a.m.newlineWithin > 0 && at.Sub(a.lastText) < a.m.newlineWithin:
		a.comp.insert([]byte("\n"))
		a.lastText = at
	case len(a.comp.text) == 0:
	case a.m.ignoreFirst && !a.enterIgnored:
		a.enterIgnored = true
	default:
		a.submit(a.comp.flush(), "composer")
	}
}

// stopKey handles Escape and Ctrl-C. Both interrupt a turn. Without a turn, Escape does nothing, and Ctrl-C clears the input
// box; a second Ctrl-C exits.
func (a *agent) stopKey(key string) {
	switch {
	case a.turn != nil:
		a.interrupt()
	case key == "escape":
	case a.armed:
		a.leave(0, "ctrl-c twice")
	default:
		a.comp.flush()
		a.armed = true
		a.after("armed", armedWait, func() { a.armed = false })
	}
}
