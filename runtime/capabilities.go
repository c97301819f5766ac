package runtime

// Describer reports what a driver can reliably report.
type Describer interface {
	// Capabilities returns what the driver can detect. The result is constant for the lifetime of
	// the value. It never blocks.
	Capabilities() ProviderCapabilities
}

// ProviderCapabilities are facts about a driver that callers need before they rely on a result.
// What a driver can do is shown by its extensions.
type ProviderCapabilities struct {
	// CanReportAttachment means that IsAttached is meaningful.
	CanReportAttachment bool `json:"can_report_attachment"`
	// CanReportActivity means that GetLastActivity is meaningful.
	CanReportActivity bool `json:"can_report_activity"`
	// CanStream means that [Watch] sends events and callers need not poll.
	CanStream bool `json:"can_stream"`
	// CanAttachTTY means that Attach connects a real terminal.
	CanAttachTTY bool `json:"can_attach_tty"`
}

// CapabilitiesFor returns the capabilities of the driver of the named session. These may be more
// than the capabilities of a router for all its sessions. If no driver has the session, it returns
// p's own capabilities.
func CapabilitiesFor(p Provider, session string) ProviderCapabilities {
	for {
		r, ok := p.(Router)
		if !ok {
			return p.Capabilities()
		}
		next := r.Route(session)
		if next == nil {
			return p.Capabilities()
		}
		p = next
	}
}
