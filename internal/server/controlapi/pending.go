package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

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
	if len(in.Body.By) > maxWords {
		return nil, fmt.Errorf("%w: the name in \"by\" has at most %d bytes", client.ErrInvalid, maxWords)
	}
	return answer(city.Respond(ctx, in.ID, in.Body))
}
