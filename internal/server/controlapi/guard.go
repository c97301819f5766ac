package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

var errNoGuard = fmt.Errorf("%w: this controller has no guard", client.ErrUnsupported)

type checkToolInput struct{ Body client.GuardCheckRequest }

// checkTool returns what the guard would decide about a tool call.
func checkTool(ctx context.Context, city City, in *checkToolInput) (*reply[client.GuardCheck], error) {
	g, ok := city.(ToolGuard)
	if !ok {
		return nil, errNoGuard
	}
	if err := in.Body.Check(); err != nil {
		return nil, err
	}
	return answer(g.CheckTool(ctx, in.Body))
}

// decisionsInput selects the decisions of a page.
type decisionsInput struct {
	Agent  string `query:"agent" maxLength:"1024" doc:"only of this agent"`
	Action string `query:"action" enum:"allow,ask,deny" doc:"only with this action"`
	Before string `query:"before" maxLength:"64" doc:"next of the previous page; empty: the newest"`
	Limit  int    `query:"limit" minimum:"0" maximum:"500" doc:"how many; 0: 100"`
}

// guardDecisions returns a page of recorded decisions.
func guardDecisions(ctx context.Context, city City, in *decisionsInput) (*reply[client.GuardDecisions], error) {
	g, ok := city.(ToolGuard)
	if !ok {
		return nil, errNoGuard
	}
	return answer(g.GuardDecisions(ctx, client.GuardQuery{Agent: in.Agent, Action: in.Action, Before: in.Before, Limit: in.Limit}))
}
