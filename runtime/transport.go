package runtime

// TransportCapabilityProvider is the extension of drivers that report which transports, such as
// "acp", their sessions can have.
type TransportCapabilityProvider interface {
	// SupportsTransport reports whether a session with the transport can be
	// started. The empty transport is the driver's own.
	SupportsTransport(transport string) bool
}

// SupportsTransport reports whether p can start a session with the transport.
// Without the extension only the empty transport is supported.
func SupportsTransport(p Provider, transport string) bool {
	if t, ok := As[TransportCapabilityProvider](p, ""); ok {
		return t.SupportsTransport(transport)
	}
	return transport == ""
}
