package controlapi

import (
	"context"

	"gascity/client"
)

// decisionsInput selects the decisions of a page.
type decisionsInput struct {
	Agent  string `query:"agent" maxLength:"1024" doc:"only of this agent"`
	Action string `query:"action" enum:"allow,ask,deny" doc:"only with this action"`
	Before string `query:"before" maxLength:"64" doc:"next of the previous page; empty: the newest"`
	Limit  int    `query:"limit" minimum:"0" maximum:"500" doc:"how many; 0: 100"`
}

// guardDecisions returns a page of recorded decisions.
func guardDecisions(ctx context.Context, city City, in *decisionsInput) (client.GuardDecisions, error) {
	return city.GuardDecisions(ctx, client.GuardQuery(*in))
}
