package shim

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stop ends the agent and everything it started. The record of its end is not
// drawn up: whoever stops a session does not want a corpse.
func (h *host) stop(grace time.Duration) (StopReport, error) {
	h.mu.Lock()
	h.stopping = true
	h.mu.Unlock()
	return h.tree.stop(grace)
}

// relaunch replaces the agent in its warm box: same folder, token, environment,
// work folder and log. The screen's scrollback stays.
func (h *host) relaunch(ctx context.Context, argv []string, grace time.Duration) error {
	report, err := h.stop(grace)
	if err == nil && len(report.Survivors) > 0 {
		err = fmt.Errorf("processes %v do not end", report.Survivors)
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	old := h.streams
	h.mu.Unlock()
	h.input.close()
	err = old.close()
	<-old.drained // its reader must not write into the new incarnation's screen
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.stopping = false
	h.spec.Argv = argv
	if h.spec.Terminal {
		h.display.Write([]byte(softReset))
	}
	h.status, h.title = "", ""
	h.mu.Unlock()
	// The host's own context: the new agent does not end with the request.
	return h.launch(h.ctx)
}

// softReset leaves modes that the former program set: alternate screen, mouse,
// bracketed paste, attributes, margins.
const softReset = "\x1b[?1049l\x1b[!p\x1b[?1000;1002;1003;1004;1006;2004l\x1b[0m\x1b[r\x1b[999;1H\r\n"

// release ends a shim whose agent has ended, together with what the agent left
// running.
func (h *host) release() error {
	h.mu.Lock()
	exited := h.exit != nil
	h.mu.Unlock()
	if !exited {
		return errors.New("the agent still runs")
	}
	_, err := h.stop(0)
	h.closing(errRemoved)
	return err
}
