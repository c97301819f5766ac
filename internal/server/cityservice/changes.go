package cityservice

import (
	"context"
	"fmt"

	"gascity/client"
)

// Changes returns the changed files in the working directory that is configured for the agent, also
// if its session does not run. It implements controlapi.Files.
func (f Service) Changes(ctx context.Context, target string, q client.ChangesQuery) (client.Changes, error) {
	s, err := f.Session(ctx, target)
	switch {
	case err != nil:
		return client.Changes{}, err
	case s.WorkDir == "":
		return client.Changes{}, fmt.Errorf("%w: %s is not in city.toml any more, so its working directory is not known", client.ErrRefused, s.Session)
	case !f.opts.IsHere(s.Provider):
		return client.Changes{}, fmt.Errorf("%w: changed files are not available for the runtime provider %s of %s, because its sessions are not known to be on the controller's machine; copy a file: gc copy %s:PATH FOLDER",
			client.ErrUnsupported, s.Provider, s.Name, s.Name)
	}
	out, err := f.opts.Changes.Read(ctx, s.WorkDir, q)
	if err != nil {
		return client.Changes{}, fmt.Errorf("cannot read the changed files of %s: %w", s.Name, err)
	}
	out.Agent, out.Session = s.Name, s.Session
	return out, nil
}
