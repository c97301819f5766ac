package all

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/provider/router"
	"gascity/runtime"
)

// Routing configures the providers that only route. An empty Default or Local means the first
// driver of the table.
type Routing struct {
	Default string // for auto: provider of sessions that configure no transport
	ACP     string // for auto: provider of sessions that speak the Agent Client Protocol; empty means "acp"

	Local  string // for hybrid: provider of sessions whose name does not contain Match
	Remote string // for hybrid: provider of sessions whose name contains Match; required if Match is set
	Match  string // for hybrid: part of the name of remote sessions
}

// auto returns the policy that routes by transport.
func (r Routing) auto() router.Auto {
	return router.Auto{Default: cmp.Or(r.Default, Drivers()[0].Name), ACP: cmp.Or(r.ACP, router.TransportACP)}
}

// hybrid returns the policy that routes by name.
func (r Routing) hybrid() router.Hybrid {
	return router.Hybrid{Local: cmp.Or(r.Local, Drivers()[0].Name), Remote: r.Remote, Match: r.Match}
}

func routeAuto(r Routing, session, transport string) (string, error) {
	return r.auto().Backend(session, transport), nil
}

// routeHybrid returns the provider on which a session runs in a city with the provider hybrid: by the session's name.
func routeHybrid(r Routing, session, transport string) (string, error) {
	if backend := r.hybrid().Backend(session, transport); backend != "" {
		return backend, nil
	}
	return "", fmt.Errorf("the session %s must run remotely, and [session.hybrid] names no provider for it; set remote in [session.hybrid]", session)
}

// openAuto opens the router of the provider auto with its two backends.
func openAuto(cfg Config, _ string) (runtime.Provider, error) {
	policy := cfg.Routing.auto()
	return openRouter(cfg, policy, policy.Default, policy.ACP)
}

// openHybrid opens the router of the provider hybrid with its two backends.
func openHybrid(cfg Config, _ string) (runtime.Provider, error) {
	policy := cfg.Routing.hybrid()
	return openRouter(cfg, policy, policy.Local, policy.Remote)
}

// openRouter opens a router over the selections. It returns an error if the first selection cannot
// be opened. Of the others, it skips a backend that is not compiled in, and adds a backend that
// cannot be opened with its error.
func openRouter(cfg Config, policy router.Policy, selections ...string) (runtime.Provider, error) {
	var backends []router.Backend
	for i, selection := range selections {
		if selection == "" || slices.Contains(selections[:i], selection) {
			continue
		}
		p, err := openBackend(selection, cfg)
		switch {
		case err != nil && i == 0:
			return nil, err
		case errors.Is(err, client.ErrNotFound):
			continue
		}
		backends = append(backends, router.Backend{Name: selection, Provider: p, Err: err})
	}
	return router.Open(router.Config{Policy: policy, Backends: backends})
}

// openBackend opens a provider to which sessions can be routed. A provider that only routes sessions itself is an
// error.
func openBackend(selection string, cfg Config) (runtime.Provider, error) {
	name, _, _ := strings.Cut(selection, ":")
	for _, d := range Drivers() {
		if d.Name == name && d.Route != nil {
			return nil, fmt.Errorf("%w: %s cannot be a backend, because it only routes sessions to other providers", client.ErrInvalid, selection)
		}
	}
	return Open(selection, cfg)
}
