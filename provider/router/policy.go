package router

import "strings"

// Policy chooses the backend of a session. It is a pure function of durable data, and safe for
// concurrent use.
type Policy interface {
	// Backend returns the name of the session's backend. transport is the transport that the
	// session is configured for; empty means the backend's own.
	Backend(session, transport string) string
	// Backends returns the names of all backends that Backend may return for the transport, the
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

// Hybrid routes by name: a session whose name contains Match goes to Remote, any other to Local. If
// Match is empty, all sessions are local.
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
