package runtime

// Describer says what a driver can reliably report.
type Describer interface {
	// Capabilities reports what the driver can detect. The answer is constant
	// for the life of the value. It never blocks.
	Capabilities() ProviderCapabilities
}

// ProviderCapabilities are facts about a driver that callers need before they
// trust an answer. What a driver can *do* is shown by its extensions.
type ProviderCapabilities struct {
	// CanReportAttachment means that IsAttached is meaningful.
	CanReportAttachment bool `json:"can_report_attachment"`
	// CanReportActivity means that GetLastActivity is meaningful.
	CanReportActivity bool `json:"can_report_activity"`
	// CanStream means that [Watch] pushes events and callers need not poll.
	CanStream bool `json:"can_stream"`
	// CanAttachTTY means that Attach connects a real terminal.
	CanAttachTTY bool `json:"can_attach_tty"`
}

// CapabilitiesFor returns what the driver of the named session can report, which
// may be more than a router over it says of all its sessions. Where nothing serves
// the session it is p's own answer.
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
