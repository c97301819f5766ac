package api

import (
	"context"

	"gascity/client"
)

func plan(ctx context.Context, city City, _ *none) (*reply[client.Plan], error) {
	return answer(city.Plan(ctx))
}
