package runtime

// ImmediateNudgeProvider is the extension of drivers that can send a prompt without waiting for an
// idle agent first.
type ImmediateNudgeProvider interface {
	// NudgeNow sends a prompt like Nudge, without waiting until the agent is idle.
	NudgeNow(name string, content []ContentBlock) error
}

// NudgeNow sends a prompt at once. Without the extension it calls Nudge.
func NudgeNow(p Provider, name string, content []ContentBlock) error {
	if n, ok := As[ImmediateNudgeProvider](p, name); ok {
		return n.NudgeNow(name, content)
	}
	return p.Nudge(name, content)
}
