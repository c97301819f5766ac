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

// Routing says between which providers sessions are routed, and how. Default and
// Local are the table's default if they are empty.
type Routing struct {
	Default string // by transport: of sessions without one of their own
	ACP     string // of those that speak the Agent Client Protocol; empty is "acp"

	Local  string // by name: of sessions whose name does not hold Match
	Remote string // of those whose name does; needed if Match is set
	Match  string
}

// auto returns the policy by transport.
func (r Routing) auto() router.Auto {
	return router.Auto{Default: cmp.Or(r.Default, Drivers()[0].Name), ACP: cmp.Or(r.ACP, router.TransportACP)}
}

// hybrid returns the policy by name.
func (r Routing) hybrid() router.Hybrid {
	return router.Hybrid{Local: cmp.Or(r.Local, Drivers()[0].Name), Remote: r.Remote, Match: r.Match}
}

func routeAuto(r Routing, session, transport string) (string, error) {
	return r.auto().Backend(session, transport), nil
}

func routeHybrid(r Routing, session, transport string) (string, error) {
	if backend := r.hybrid().Backend(session, transport); backend != "" {
		return backend, nil
	}
	return "", fmt.Errorf("the session %s is to run remotely, and [session.hybrid] names no remote", session)
}

func openAuto(cfg Config, _ string) (runtime.Provider, error) {
	policy := cfg.Routing.auto()
	return openRouter(cfg, policy, policy.Default, policy.ACP)
}

func openHybrid(cfg Config, _ string) (runtime.Provider, error) {
	policy := cfg.Routing.hybrid()
	return openRouter(cfg, policy, policy.Local, policy.Remote)
}

// openRouter opens a router over the selections. The first one is needed; of the
// others, one that this program does not have is none of its backends, and one that
// cannot be opened is one that is away.
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

func openBackend(selection string, cfg Config) (runtime.Provider, error) {
	name, _, _ := strings.Cut(selection, ":")
	for _, d := range Drivers() {
		if d.Name == name && d.Route != nil {
			return nil, fmt.Errorf("%w: %s only routes sessions to other providers", client.ErrInvalid, selection)
		}
	}
	return Open(selection, cfg)
}
