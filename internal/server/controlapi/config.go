package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

// providers answers with the runtime providers that can be selected.
func providers(ctx context.Context, city City, _ *none) (*reply[client.ProviderList], error) {
	list, err := city.Providers(ctx)
	return answer(client.ProviderList{Providers: list}, err)
}

var errNoEditor = fmt.Errorf("%w: this controller does not edit its configuration; edit %s by hand", client.ErrUnsupported, client.CityFile)

// configFile answers with the text of city.toml, with placeholders for credentials.
func configFile(ctx context.Context, city City, _ *none) (*reply[client.ConfigFile], error) {
	e, ok := city.(ConfigEditor)
	if !ok {
		return nil, errNoEditor
	}
	return answer(e.ConfigFile(ctx))
}

type configEditInput struct{ Body client.ConfigEdit }

// previewConfig answers with the mistakes of an edited city.toml and what it would change. It
// writes nothing.
func previewConfig(ctx context.Context, city City, in *configEditInput) (*reply[client.ConfigPreview], error) {
	e, ok := city.(ConfigEditor)
	if !ok {
		return nil, errNoEditor
	}
	return answer(e.PreviewConfig(ctx, in.Body))
}

// applyConfig writes an edited city.toml and applies it. It refuses a request without the hash of
// the text that was edited.
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
