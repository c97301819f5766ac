package shim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// end stops the agent and all processes that it started. The caller must have called acquireTurn. After a stop no exit record is written,
// unless a process survives.
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

// resume continues the session after a failed stop: the exit of the agent is recorded again, also if the agent has exited
// during the stop.
func (h *host) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = false
	h.concludeLocked()
}

// stop stops all processes of the session. If none survives, the shim exits afterwards.
func (h *host) stop(ctx context.Context, grace time.Duration) (StopReport, error) {
	returnTurn, err := h.acquireTurn(ctx)
	if errors.Is(err, ErrExited) {
		return StopReport{}, nil // another request is stopping the session
	}
	if err != nil {
		return StopReport{}, err
	}
	defer returnTurn()
	report, err := h.end(grace)
	if err == nil && len(report.Survivors) == 0 {
		h.closing(errRemoved)
	}
	return report, err
}

// release makes the shim of an agent that has exited stop the processes that the agent left running, and exit.
func (h *host) release(ctx context.Context) error {
	returnTurn, err := h.acquireTurn(ctx)
	if err != nil {
		return err
	}
	defer returnTurn()
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

// relaunch stops the agent and starts req.Argv in the same folder, working directory and terminal, with the same log. If req
// has a successor, the new agent gets its token and environment. The content of the screen moves into the scrollback, so that
// it is not read as the new agent's screen. If the new agent cannot be started, the session is one whose agent has exited.
func (h *host) relaunch(ctx context.Context, req *relaunchRequest) error {
	returnTurn, err := h.acquireTurn(ctx)
	if err != nil {
		return err
	}
	defer returnTurn()
	report, err := h.end(req.Grace)
	if err == nil && len(report.Survivors) > 0 {
		err = fmt.Errorf("processes %v did not exit", report.Survivors)
	}
	if err != nil {
		return err
	}
	<-h.run.done // only the owner of the turn changes h.run
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

// startSuccessor changes the session to the instance next, while no agent runs. From then on requests with the previous token
// are refused. It does nothing if next.Instance is empty.
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
		h.lease.ended = true // also refuses input that is waiting to be written
	}
	env := slices.DeleteFunc(next.Env, func(entry string) bool { return strings.HasPrefix(entry, proc.TokenKey+"=") })
	env = append(env, proc.TokenKey+"="+next.Instance)
	h.spec.Instance, h.spec.Env = next.Instance, env
	h.spec.ProcessNames, h.spec.Labels = next.ProcessNames, next.Labels
	return nil
}

// softReset turns off the modes that the previous program may have set: alternate screen, mouse, bracketed paste, attributes,
// margins.
const softReset = "\x1b[?1049l\x1b[!p\x1b[?1000;1002;1003;1004;1006;2004l\x1b[0m\x1b[r\x1b[999;1H\r\n"
