package tmux

import (
	"context"
	"errors"
)

// fence returns the tmux format that is true for the pane of this instance while its agent runs.
func (r *record) fence() string {
	return "#{==:#{@" + optionInstance + "}#{pane_dead}," + r.hash() + "0}"
}

// paneCondition returns the tmux format that is true for the pane of this instance, whether or not its agent
// runs.
func (r *record) paneCondition() string {
	return "#{==:#{@" + optionInstance + "}," + r.hash() + "}"
}

// errFenced reports that the server did not run a command because the instance has ended.
var errFenced = errors.New("the session has ended")

// fencedOutput is the output of a fenced command that the server did not run.
const fencedOutput = "gc-fenced"

// act makes the tmux server check a condition on the instance's pane and run a command if it is true, in one step. It
// returns the output of the command, or errFenced if the condition is false or the pane does not exist.
func (p *Provider) act(ctx context.Context, r *record, condition string, command tmuxCommand) ([]byte, error) {
	reply, err := p.server.Query(ctx, ifFormat(r.target(), condition, command, cmd("display", "-p", fencedOutput)))
	if err = fencedError(reply.Output, err); err != nil {
		return nil, err
	}
	return reply.Output, nil
}

// fencedError returns errFenced if the output or the error of a fenced command shows that the server did not run
// it. Otherwise it returns err.
func fencedError(output []byte, err error) error {
	if isAbsent(err) || errors.Is(err, errNotFound) || err == nil && string(output) == fencedOutput {
		return errFenced
	}
	return err
}

// stateOf queries the state of the instance's pane. It returns [errNotOurs] if there is no such pane.
func (p *Provider) stateOf(ctx context.Context, r *record) (paneState, error) {
	if r.Pane == "" {
		return paneState{}, errNotOurs
	}
	return p.server.FinalState(ctx, r.target(), r.hash(), r.Pane)
}
