package cityservice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"gascity/client"
	"gascity/internal/guard"
)

var errNoRules = fmt.Errorf("%w: the rules are not loaded yet; try again in a moment", client.ErrUnavailable)

// CheckTool returns what the guard's current rules would decide about a tool call. It implements
// controlapi.ToolGuard.
func (f Service) CheckTool(_ context.Context, in client.GuardCheckRequest) (client.GuardCheck, error) {
	rules := f.opts.Guard.Rules()
	if rules == nil {
		return client.GuardCheck{}, errNoRules
	}
	req, _ := rules.Request("")
	req.Role, req.Dir = "", f.opts.Root
	if in.Agent != "" {
		known, err := rules.AgentRequest(in.Agent)
		if err != nil {
			return client.GuardCheck{}, err
		}
		req = known
	}
	req.Role = cmp.Or(in.Role, req.Role)
	if in.Dir != "" {
		if !filepath.IsAbs(in.Dir) {
			return client.GuardCheck{}, fmt.Errorf("%w: dir=%q is not an absolute path", client.ErrInvalid, in.Dir)
		}
		req.Dir = filepath.Clean(in.Dir)
	}
	req.Tool, req.Input = in.Tool, json.RawMessage(in.Input)
	if in.Tool == "" {
		req.Tool, req.Input = guard.ShellTool, guard.ShellInput(in.Command)
	}
	if len(req.Input) > 0 && !json.Valid(req.Input) {
		return client.GuardCheck{}, fmt.Errorf("%w: the input is not valid JSON", client.ErrInvalid)
	}
	policy := rules.Policy()
	if !rules.Guarded() {
		policy = nil
	}
	return guard.CheckCall(policy, req), nil
}

// GuardDecisions returns a page of the guard's recorded decisions, newest first. It implements
// controlapi.ToolGuard.
func (f Service) GuardDecisions(_ context.Context, q client.GuardQuery) (client.GuardDecisions, error) {
	out, err := guard.ReadDecisions(f.opts.GuardLog, q)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if rules := f.opts.Guard.Rules(); rules != nil {
		out.Guarded = rules.Guarded()
	}
	return out, nil
}
