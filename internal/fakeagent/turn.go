package fakeagent

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"gascity/internal/fakeagent/ledger"
)

// turn is the work on one prompt.
type turn struct {
	text  []byte
	steps []directive
}

// submit handles a prompt from the input box, the arguments, a pipe or the peer: it answers an open question, starts a turn, or
// queues the prompt.
func (a *agent) submit(text []byte, source string) {
	if a.wanted != "" {
		a.handleReply(text)
		return
	}
	if a.turn == nil {
		a.begin(text, source)
		return
	}
	a.queue = append(a.queue, text)
	a.ledger.write(a.ledger.text(ledger.Record{Kind: ledger.Queued, Source: source}, text))
	a.dirty = true
}

// begin starts a turn. It records the prompt before anything of an answer is shown.
func (a *agent) begin(text []byte, source string) {
	a.ledger.write(a.ledger.text(ledger.Record{Kind: ledger.Prompt, Source: source}, text))
	if !a.m.plain {
		a.display.print("❯ " + firstLine(text))
	}
	a.conversation.add(text)
	a.turn = &turn{text: text, steps: directives(text)}
	waits := false
	for _, step := range a.turn.steps {
		waits = waits || step.verb == "busy" || step.verb == "forever"
	}
	if !waits {
		a.turn.steps = append([]directive{{"busy", a.m.think.String()}}, a.turn.steps...)
	}
	if a.m.osc133 {
		a.osc("133;C")
	}
	a.peer.begun()
	a.status("working", "")
	a.spin()
	a.advance()
}

// advance runs the steps of the turn until a step takes time.
func (a *agent) advance() {
	a.dirty = true
	for a.turn != nil && !a.left {
		if len(a.turn.steps) == 0 {
			a.finish()
			return
		}
		step := a.turn.steps[0]
		a.turn.steps = a.turn.steps[1:]
		if a.perform(step) {
			return
		}
	}
}

// perform runs one step. It returns true if the step takes time; advance is then called at the end of the step.
func (a *agent) perform(step directive) bool {
	switch step.verb {
	case "busy":
		a.after("step", step.duration(), a.advance)
		return true
	case "forever":
		return true
	case "exit":
		a.leave(step.number(), "directive")
	case "crash":
		a.crash()
	case "flood":
		size, err := parseSize(step.arg)
		if err == nil && size > 0 {
			a.startFlood(size, a.advance)
			return true
		}
	case "spawn":
		a.spawn(step.arg)
	case "echo":
		a.display.print(step.arg)
	case "lines":
		var b strings.Builder
		for i := range step.number() {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		a.display.print(strings.TrimSuffix(b.String(), "\n"))
	case "osc":
		a.osc(step.arg)
	case "tool", "touch":
		a.peer.use(step.tool())
		return true
	default:
		return a.askOrLimit(step)
	}
	return false
}

// plainText returns the question as one line, for a pipe, where no menu can be drawn.
func (m *menu) plainText(plain bool) string {
	if !plain {
		return "● " + m.text[0]
	}
	return "? " + m.name + " [" + strings.Join(m.options, "|") + "]"
}

// choose answers the open question with a choice.
func (a *agent) choose(choice string) {
	name := a.ask.name
	a.ask = nil
	a.cancel("step")
	a.peer.questionResolved()
	a.ledger.write(ledger.Record{Kind: ledger.Choice, Dialog: name, Choice: choice})
	a.display.print("  ⎿  " + printable(choice))
	a.status("working", "")
	a.advance()
}

// finish prints the answer and continues with the queued prompts.
func (a *agent) finish() {
	text := a.turn.text
	a.turn = nil
	a.display.print(answer(text))
	a.ledger.write(ledger.Record{Kind: ledger.Answered, Bytes: len(text), SHA256: ledger.Sum(string(text))})
	a.status("done", "")
	a.peer.ended("end_turn")
	a.rest()
}

// interrupt interrupts the turn.
func (a *agent) interrupt() {
	text := a.turn.text
	a.turn, a.ask, a.wanted, a.flood = nil, nil, "", 0
	a.cancel("step")
	a.display.print("  ⎿  Interrupted")
	a.ledger.write(a.ledger.text(ledger.Record{Kind: ledger.Interrupted}, text))
	a.peer.ended("cancelled")
	a.rest()
}

// rest starts the next queued prompt, or becomes idle.
func (a *agent) rest() {
	a.dirty = true
	if a.m.osc133 {
		a.osc("133;D;0")
	}
	if len(a.queue) == 0 {
		a.cancel("spinner")
		a.status("idle", "")
		a.leaveAtEnd()
		return
	}
	next := a.queue[0]
	a.queue = a.queue[1:]
	a.begin(next, "queue")
}

// answer returns the agent's answer to a prompt.
func answer(text []byte) string {
	return fmt.Sprintf("● You said (%d bytes, sha256 %.8s): %s", len(text), ledger.Sum(string(text)), firstLine(text))
}

// firstLine returns the beginning of a prompt in a form that is safe to print.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text[:min(len(text), 400)]), "\n")
	return clip(printable(line), 60)
}

// crash kills this process with SIGKILL.
func (a *agent) crash() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // wait for the signal
}

// startFlood makes the loop write redraws of this size and then call done.
func (a *agent) startFlood(size int64, done func()) {
	a.flood, a.floodDone = size, done
	a.display.draw(frame{})
}

// floodChunk writes one block of redraws.
func (a *agent) floodChunk() {
	if a.frames == "" {
		a.frames = floodFrames()
	}
	block := a.frames
	if a.flood < int64(len(block)) {
		block = strings.Repeat(" ", int(a.flood)-1) + "\r"
	}
	_, _ = io.WriteString(a.out, block) // an error is ignored: the next read fails if the terminal has closed
	a.flood -= int64(len(block))
	if a.flood == 0 {
		a.floodDone()
	}
}

// floodFrames returns at least 64 KiB of output like that of busy agents: some lines with colors, and cursor movements back up.
func floodFrames() string {
	var b strings.Builder
	for n := 0; b.Len() < 64<<10; n++ {
		for row := range 8 {
			fmt.Fprintf(&b, "\r\x1b[3%dm%s\x1b[0m working on part %d of %d, \x1b[1mstep %d\x1b[22m ✽ \x1b[K\n",
				1+(n+row)%7, strings.Repeat("█", (n+row)%20), row, n, n*row)
		}
		b.WriteString("\x1b[8A")
	}
	return b.String()
}
