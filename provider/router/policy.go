package router

import "strings"

// Policy says where sessions belong. It is a pure function of durable data, and
// safe for concurrent use.
type Policy interface {
	// Backend names the backend of a session. transport is the one that the session
	// is configured for, empty for the backend's own.
	Backend(session, transport string) string
	// Backends names every backend that Backend may return for the transport, the
	// usual one first.
	Backends(transport string) []string
}

// TransportACP is the transport of sessions that speak the Agent Client Protocol.
const TransportACP = "acp"

// Auto routes by transport.
type Auto struct {
	Default string // for sessions with their backend's own transport
	ACP     string // for those that speak the Agent Client Protocol
}

// Backend implements [Policy].
func (a Auto) Backend(_, transport string) string {
	if transport == TransportACP {
		return a.ACP
	}
	return a.Default
}

// Backends implements [Policy].
func (a Auto) Backends(transport string) []string { return []string{a.Backend("", transport)} }

// Hybrid routes by name: sessions whose name contains Match are remote. An empty
// Match makes none remote.
type Hybrid struct {
	Local, Remote, Match string
}

// Backend implements [Policy].
func (h Hybrid) Backend(session, _ string) string {
	if h.Match != "" && strings.Contains(session, h.Match) {
		return h.Remote
	}
	return h.Local
}

// Backends implements [Policy].
func (h Hybrid) Backends(string) []string {
	if h.Match == "" {
		return []string{h.Local}
	}
	return []string{h.Local, h.Remote}
}
