package cityservice

import (
	"context"
	"fmt"

	"gascity/client"
)

// ConfigFile returns the text of city.toml, with placeholders for credentials. It implements
// controlapi.ConfigEditor.
func (f Service) ConfigFile(ctx context.Context) (client.ConfigFile, error) {
	return f.opts.Editor.File(ctx)
}

// PreviewConfig checks an edited text of city.toml and returns its mistakes and, if it is valid,
// what the controller would do with it. It writes nothing. It implements controlapi.ConfigEditor.
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

// ApplyConfig writes an edited city.toml and makes the controller use it. If the file was written
// but the controller refuses it, the error says so. It implements controlapi.ConfigEditor.
func (f Service) ApplyConfig(ctx context.Context, edit client.ConfigEdit) (client.Done, error) {
	if err := f.opts.Editor.Apply(ctx, edit); err != nil {
		return client.Done{}, err
	}
	return f.activate(ctx)
}

// activate makes the controller read city.toml after gc has changed it.
func (f Service) activate(ctx context.Context) (client.Done, error) {
	done, err := f.Reload(ctx)
	if err != nil {
		return done, fmt.Errorf("%s was written, but the controller still uses the previous configuration: %w", client.CityFile, err)
	}
	done.Changed = true
	return done, nil
}
