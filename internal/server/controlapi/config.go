package controlapi

import (
	"context"

	"gascity/client"
)

func config(ctx context.Context, city City, _ *none) (*reply[client.Config], error) {
	return answer(city.Config(ctx))
}

func reload(ctx context.Context, city City, _ *none) (*reply[client.Done], error) {
	return answer(city.Reload(ctx))
}

func providers(ctx context.Context, city City, _ *none) (*reply[client.ProviderList], error) {
	list, err := city.Providers(ctx)
	return answer(client.ProviderList{Providers: list}, err)
}
