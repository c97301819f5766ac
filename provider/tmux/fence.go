package tmux

import (
	"context"
	"errors"

	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
)

// fence returns the format that holds for this instance's pane alone, and while its agent
// lives.
func (r *record) fence() string {
	return "#{==:#{@" + server.OptionInstance + "}#{pane_dead}," + r.hash() + "0}"
}

// paneCondition returns the format that holds for this instance's pane alone, whether or not its
// agent lives.
func (r *record) paneCondition() string {
	return "#{==:#{@" + server.OptionInstance + "}," + r.hash() + "}"
}

// errFenced reports that a command was not carried out: the instance is over.
var errFenced = errors.New("the session has ended")

// fencedWord is what a fenced command prints if it was not carried out.
const fencedWord = "gc-fenced"

// act carries out the command inside the server if the condition holds for the pane;
// errFenced if not.
func (p *Provider) act(ctx context.Context, r *record, condition string, command control.Command) ([]byte, error) {
	reply, err := p.server.Query(ctx, control.If(r.target(), condition, command, control.Cmd("display", "-p", fencedWord)))
	if err = fenced(reply.Output, err); err != nil {
		return nil, err
	}
	return reply.Output, nil
}

// fenced is errFenced if what a fenced command printed, or its error, says that it was not
// carried out.
func fenced(output []byte, err error) error {
	if server.Absent(err) || errors.Is(err, control.ErrNotFound) || err == nil && string(output) == fencedWord {
		return errFenced
	}
	return err
}

// stateOf asks for the state of the instance's pane; [server.ErrNotOurs] if it has none.
func (p *Provider) stateOf(ctx context.Context, r *record) (server.State, error) {
	if r.Pane == "" {
		return server.State{}, server.ErrNotOurs
	}
	return p.server.FinalState(ctx, r.target(), r.hash(), r.Pane)
}
