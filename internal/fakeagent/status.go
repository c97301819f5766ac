package fakeagent

import (
	"io"
	"strings"
	"time"

	"golang.org/x/term"
)

const spinnerTick = 100 * time.Millisecond

// emit writes to the terminal. Errors are ignored; the next read fails if the terminal has closed.
func (a *agent) emit(text string) { _, _ = io.WriteString(a.out, text) }

func (a *agent) osc(body string) { a.emit("\x1b]" + body + "\x1b\\") }

// status reports the state of the agent by the title and by OSC sequences: idle, working, blocked, done.
func (a *agent) status(state, kind string) {
	a.dirty = true
	if a.m.plain || a.state == state+kind {
		return
	}
	a.state = state + kind
	ui := uiVariants()[a.m.ui]
	title, progress := ui.title+" fakeagent", "9;4;0;0"
	if state == "working" {
		title, progress = ui.busyTitle+" fakeagent", "9;4;3;0"
	}
	if title != a.title {
		a.title = title
		a.osc("0;" + title)
		if a.m.osc9 {
			a.osc(progress)
		}
	}
	if a.m.osc7501 {
		body := "7501;status=" + state
		if kind != "" {
			body += ";kind=" + kind
		}
		if a.message != "" {
			body += ";msg=" + a.message
		}
		a.osc(body)
	}
}

// activity returns the status of an agent without a dialog.
func (a *agent) activity() string {
	if a.turn != nil {
		return "working"
	}
	return "idle"
}

func (a *agent) spin() {
	a.spinning++
	a.after("spinner", spinnerTick, a.spin)
}

func (a *agent) measure() {
	cols, rows, err := term.GetSize(int(a.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		cols, rows = 80, 24
	}
	a.rows, a.cols = rows, cols
}

// redraw draws the frame: a dialog, a question, or the input box.
func (a *agent) redraw() {
	a.dirty = false
	switch {
	case a.dialog != nil:
		a.display.draw(a.dialog.lines(a.cols, a.cwd))
	case a.ask != nil:
		a.display.draw(a.ask.lines(a.cols, a.cwd))
	case a.ready:
		a.display.draw(a.box())
	}
}

// box returns the input box between two rules, with the lines above and below it.
func (a *agent) box() frame {
	var f frame
	ui := uiVariants()[a.m.ui]
	footer := ui.footer
	if a.turn != nil && a.wanted == "" {
		f.lines = append(f.lines, clip(ui.glyph(a.spinning)+ui.working, a.cols), "")
		footer = ui.workingFooter
	}
	for _, text := range a.queue[max(0, len(a.queue)-3):] {
		f.lines = append(f.lines, clip("  queued: "+firstLine(text), a.cols))
	}
	if a.armed {
		footer = "Press Ctrl-C again to exit"
	}
	rule := strings.Repeat(ui.rule, a.cols)
	indent := columns(a.m.readyPrefix)
	lines, row, col := a.comp.view(a.cols-indent-1, max(1, min(10, a.rows-len(f.lines)-4)))
	f.lines = append(f.lines, rule)
	f.row, f.col = len(f.lines)+row, indent+col
	for i, line := range lines {
		prefix := strings.Repeat(" ", indent)
		if i == 0 {
			prefix = a.m.readyPrefix
		}
		f.lines = append(f.lines, prefix+line)
	}
	f.lines = append(f.lines, rule, clip("  "+footer, a.cols))
	return f
}
