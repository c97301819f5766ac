package shim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/internal/statedir"
)

// end ends the agent and everything it started; the caller has the turn. The
// record of the agent's end is not drawn up, unless something of it survives:
// the record is not wanted after a stop.
func (h *host) end(grace time.Duration) (StopReport, error) {
	h.mu.Lock()
	h.stopping = true
	h.mu.Unlock()
	report, err := h.tree.Stop(grace)
	if err != nil || len(report.Survivors) > 0 {
		h.resume()
	}
	return report, err
}

// resume takes back that the agent is being ended: its end counts again, also
// one that has come meanwhile.
func (h *host) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = false
	h.concludeLocked()
}

// stop ends the session. When it returns without survivors, the shim ends.
func (h *host) stop(ctx context.Context, grace time.Duration) (StopReport, error) {
	give, err := h.acquireTurn(ctx)
	if errors.Is(err, ErrExited) {
		return StopReport{}, nil // another one stops it
	}
	if err != nil {
		return StopReport{}, err
	}
	defer give()
	report, err := h.end(grace)
	if err == nil && len(report.Survivors) == 0 {
		h.closing(errRemoved)
	}
	return report, err
}

// release ends a shim whose agent has ended, together with what the agent left
// running.
func (h *host) release(ctx context.Context) error {
	give, err := h.acquireTurn(ctx)
	if err != nil {
		return err
	}
	defer give()
	h.mu.Lock()
	exited := h.exit != nil
	h.mu.Unlock()
	if !exited {
		return errors.New("the agent still runs")
	}
	if _, err := h.end(0); err != nil {
		return err
	}
	h.closing(errRemoved)
	return nil
}

// relaunch replaces the agent in its warm box: same folder, working directory and log, and the
// token and environment of its successor if there is one. What is on the screen goes into the
// scrollback, which stays: it must not be taken for the new agent's. If that cannot be
// started, the session is one whose agent has ended.
func (h *host) relaunch(ctx context.Context, req *relaunchRequest) error {
	give, err := h.acquireTurn(ctx)
	if err != nil {
		return err
	}
	defer give()
	report, err := h.end(req.Grace)
	if err == nil && len(report.Survivors) > 0 {
		err = fmt.Errorf("processes %v do not end", report.Survivors)
	}
	if err != nil {
		return err
	}
	<-h.run.done // only the holder of the turn changes it
	if err := h.run.close(); err != nil {
		h.resume()
		return err
	}
	if err := h.startSuccessor(req.Successor); err != nil {
		h.resume()
		return err
	}
	h.mu.Lock()
	h.spec.Argv, h.exit, h.exitSaved = req.Argv, nil, false
	if h.spec.Terminal {
		_, rows := h.display.Size()
		_, _ = h.display.Write([]byte(softReset + strings.Repeat("\r\n", rows) + "\x1b[H")) // never fails
	}
	h.mu.Unlock()
	if err := h.launch(); err != nil {
		h.resume()
		return err
	}
	return nil
}

// startSuccessor makes the session that of another instance, as long as no agent runs:
// who holds the token of the previous one is refused from here on.
func (h *host) startSuccessor(next Successor) error {
	if next.Instance == "" {
		return nil
	}
	if err := statedir.WriteFile(h.dir.Instance(), []byte(next.Instance)); err != nil {
		return err
	}
	h.server.setToken(next.Instance)
	h.tree.SetToken(next.Instance)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease != nil {
		h.lease.ended = true // also for input before it
	}
	env := slices.DeleteFunc(next.Env, func(entry string) bool { return strings.HasPrefix(entry, MarkKey+"=") })
	env = append(env, MarkKey+"="+next.Instance)
	h.spec.Instance, h.spec.Env = next.Instance, env
	h.spec.ProcessNames, h.spec.Labels = next.ProcessNames, next.Labels
	return nil
}

// softReset leaves modes that the previous program set: alternate screen, mouse,
// bracketed paste, attributes, margins.
const softReset = "\x1b[?1049l\x1b[!p\x1b[?1000;1002;1003;1004;1006;2004l\x1b[0m\x1b[r\x1b[999;1H\r\n"
