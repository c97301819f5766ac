package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

func providers(ctx context.Context, city City, _ *none) (*reply[client.ProviderList], error) {
	list, err := city.Providers(ctx)
	return answer(client.ProviderList{Providers: list}, err)
}

var errNoEditor = fmt.Errorf("%w: this controller does not edit its configuration; edit %s by hand", client.ErrUnsupported, client.CityFile)

func configFile(ctx context.Context, city City, _ *none) (*reply[client.ConfigFile], error) {
	e, ok := city.(ConfigEditor)
	if !ok {
		return nil, errNoEditor
	}
	return answer(e.ConfigFile(ctx))
}

type configEditInput struct{ Body client.ConfigEdit }

func previewConfig(ctx context.Context, city City, in *configEditInput) (*reply[client.ConfigPreview], error) {
	e, ok := city.(ConfigEditor)
	if !ok {
		return nil, errNoEditor
	}
	return answer(e.PreviewConfig(ctx, in.Body))
}

func applyConfig(ctx context.Context, city City, in *configEditInput) (*reply[client.Done], error) {
	e, ok := city.(ConfigEditor)
	if !ok {
		return nil, errNoEditor
	}
	if in.Body.Hash == "" {
		return nil, fmt.Errorf("%w: the hash of the file that was edited is missing", client.ErrInvalid)
	}
	return answer(e.ApplyConfig(ctx, in.Body))
}
