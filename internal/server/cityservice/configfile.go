package cityservice

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/server/controlapi"
)

var _ controlapi.ConfigEditor = Service{}

// ConfigFile implements controlapi.ConfigEditor.
func (f Service) ConfigFile(ctx context.Context) (client.ConfigFile, error) {
	return f.opts.Editor.File(ctx)
}

// PreviewConfig implements controlapi.ConfigEditor.
func (f Service) PreviewConfig(ctx context.Context, edit client.ConfigEdit) (client.ConfigPreview, error) {
	draft, err := f.opts.Editor.Check(ctx, edit.Text)
	if err != nil {
		return client.ConfigPreview{}, err
	}
	out := client.ConfigPreview{Hash: draft.Hash, Faults: draft.Faults}
	if !draft.Usable {
		return out, nil
	}
	plan, err := f.Preview(ctx, client.PreviewRequest{Config: string(draft.Text)})
	if err != nil {
		return out, err
	}
	out.Plan = &plan
	return out, nil
}

// ApplyConfig implements controlapi.ConfigEditor.
func (f Service) ApplyConfig(ctx context.Context, edit client.ConfigEdit) (client.Done, error) {
	if err := f.opts.Editor.Apply(ctx, edit); err != nil {
		return client.Done{}, err
	}
	done, err := f.Reload(ctx)
	if err != nil {
		return done, fmt.Errorf("%s was written, but the controller still uses the previous configuration: %w", client.CityFile, err)
	}
	done.Changed = true
	return done, nil
}
