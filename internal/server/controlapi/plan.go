package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

// previewInput is the configuration to compare.
type previewInput struct{ Body client.PreviewRequest }

// preview returns what the controller would do with another configuration.
func preview(ctx context.Context, city City, in *previewInput) (*reply[client.Plan], error) {
	previewer, ok := city.(Previewer)
	if !ok {
		return nil, fmt.Errorf("%w: this controller cannot compare another configuration; check it with: gc config check", client.ErrUnsupported)
	}
	if in.Body.Config == "" {
		return nil, fmt.Errorf("%w: the configuration is empty", client.ErrInvalid)
	}
	return answer(previewer.Preview(ctx, in.Body))
}
