package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/citydir"
	"gascity/provider/all"
	"gascity/runtime"
)

// providers opens each provider that the city selects.
func (x *examination) providers() {
	x.selected = []string{all.Drivers()[0].Name}
	if x.r.City != nil {
		x.selected = nil
		for _, s := range x.r.Desired.Sessions {
			if !slices.Contains(x.selected, s.Provider) {
				x.selected = append(x.selected, s.Provider)
			}
		}
	}
	dir, err := os.MkdirTemp(citydir.PublicTempDir, "gc-doctor-")
	if err != nil {
		x.problem("provider", "cannot make a temporary folder: "+err.Error(), "make "+citydir.PublicTempDir+" writable")
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing was started there
	for _, selection := range x.selected {
		x.provider(selection, dir)
	}
}

// provider checks whether one provider can be opened here. It starts no session.
func (x *examination) provider(selection, dir string) {
	check, users := "provider."+selection, x.users(selection)
	cfg := x.Loader.ProviderConfig(dir, filepath.Join(dir, "s"), slog.New(slog.DiscardHandler))
	cfg.WorkDir = cmp.Or(x.root, cfg.WorkDir)
	version, err := all.Version(x.ctx, selection, cfg)
	if missing, ok := errors.AsType[*all.MissingToolError](err); ok {
		x.unopenable[selection] = true
		x.problem(check, missing.Err.Error()+users, cmp.Or(missing.Tool.Remedy, "install "+missing.Tool.Name))
		return
	}
	var p runtime.Provider
	if err == nil {
		p, err = x.Loader.OpenProvider(selection, cfg)
	}
	if err != nil {
		x.unopenable[selection] = true
		x.problem(check, err.Error()+users, "list the providers with: gc provider list")
		return
	}
	if version != "" {
		version = " (" + version + ")"
	}
	x.ok(check, "opens%s%s", version, users)
	if err := all.Close(p); err != nil {
		x.warn(check, err.Error(), "")
	}
}

// usersShown is the maximum number of agents that are listed for a provider.
const usersShown = 5

// users returns text for a message with the agents that use a provider; empty if there are none.
func (x *examination) users(selection string) string {
	var names []string
	for _, s := range x.r.Desired.Sessions {
		if s.Provider == selection {
			names = append(names, s.Agent)
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - usersShown; n > 0 {
		names, more = names[:usersShown], fmt.Sprintf(" and %d more", n)
	}
	return "; used by " + strings.Join(names, ", ") + more
}
