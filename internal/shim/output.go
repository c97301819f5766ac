package shim

import (
	"fmt"
	"os"
	"strings"
	"time"

	"gascity/internal/terminal/vt"
)

// outputEventGap is the shortest time between two output events.
const outputEventGap = 250 * time.Millisecond

// write stores output of the agent in the log and in the display.
func (h *host) write(p []byte) {
	now := time.Now()
	if err := h.log.Write(p, now); err != nil {
		fmt.Fprintln(os.Stderr, "shim: the raw log has gaps:", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.display.Write(p) // never fails
	h.lastOutput = now
	h.bumpLocked()
	h.events.output(now)
}

// reply sends the terminal's answer to a query of the program. It is called from display.Write, with mu locked.
func (h *host) reply(p []byte) { h.run.input.Reply(p) }

// notice stores what the program reported to the terminal. It is called from display.Write, with mu locked.
func (h *host) notice(n vt.Notice) {
	switch n.Kind {
	case vt.Title:
		if h.title != n.Text {
			h.title = n.Text
			h.events.publish(Event{Kind: EventTitle, Time: time.Now(), Text: n.Text})
		}
	case vt.ProgramStatus, vt.Progress, vt.SemanticPrompt:
		now := time.Now()
		if h.signs.Record(n, h.run.streams.Foreground(), now) {
			h.events.publish(Event{Kind: EventStatus, Time: now, Text: h.signs.Status.Text})
		}
	default:
	}
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
