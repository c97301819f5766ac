package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

// pending answers with the open questions; with in.Which, also with those that ended recently.
func pending(ctx context.Context, city City, in *List) (*reply[[]client.Pending], error) {
	return rows(city.Pending(ctx, in.Target, in.Which))
}

// respondInput is the answer to a pending question.
type respondInput struct {
	Identified
	Body client.RespondRequest
}

// respond answers a pending question.
func respond(ctx context.Context, city City, in *respondInput) (*reply[client.Pending], error) {
	if (in.Body.Option == "") == (in.Body.Text == "") {
		return nil, fmt.Errorf("%w: an answer is either an option or a text", client.ErrInvalid)
	}
	if len(in.Body.By) > client.MaxName {
		return nil, fmt.Errorf("%w: the name in \"by\" has at most %d bytes", client.ErrInvalid, client.MaxName)
	}
	return answer(city.Respond(ctx, in.ID, in.Body))
}

// alwaysInput confirms the rule of a pending question.
type alwaysInput struct {
	Identified
	Body client.AlwaysRequest
}

// allowAlways adds the rule of a pending question and answers the question.
func allowAlways(ctx context.Context, city City, in *alwaysInput) (*reply[client.Pending], error) {
	if in.Body.Rule == "" {
		return nil, fmt.Errorf("%w: the rule is missing; confirm the id of the rule that the question shows", client.ErrInvalid)
	}
	if len(in.Body.By) > client.MaxName {
		return nil, fmt.Errorf("%w: the name in \"by\" has at most %d bytes", client.ErrInvalid, client.MaxName)
	}
	return answer(city.AllowAlways(ctx, in.ID, in.Body))
}
