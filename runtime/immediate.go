package runtime

// ImmediateNudgeProvider is the extension of drivers that can inject input
// without waiting for an idle agent first.
type ImmediateNudgeProvider interface {
	// NudgeNow is Nudge without any wait for idleness.
	NudgeNow(name string, content []ContentBlock) error
}

// NudgeNow nudges at once. Without the extension it is Nudge.
func NudgeNow(p Provider, name string, content []ContentBlock) error {
	if n, ok := As[ImmediateNudgeProvider](p, name); ok {
		return n.NudgeNow(name, content)
	}
	return p.Nudge(name, content)
}
