package screen

import (
	"maps"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// DefaultHumanQuiet is how long a person must not have typed before a prompt is
// delivered into the terminal that they are attached to.
const DefaultHumanQuiet = 3 * time.Second

// The bounds of the wait for a ready prompt.
const (
	minReady     = 5 * time.Second
	defaultReady = 15 * time.Second
	maxReady     = 60 * time.Second
	readyMargin  = 5 * time.Second
)

// Rules are what is known of the program on a terminal. The zero value knows
// nothing and is safe: no dialog is answered, no idleness is claimed.
type Rules struct {
	Screen  agentcli.Screen
	Dialogs []agentcli.Dialog
	Version string // of the agent CLI; empty if unknown, then every rule may apply

	// ReadyPrefix begins the row that shows that the agent is ready. Empty: no
	// such row is known.
	ReadyPrefix string
	// ReadyDelay is the wait without ReadyPrefix, and stretches the one with it.
	ReadyDelay time.Duration

	// AnswerDialogs lets [Ready] answer known dialogs.
	AnswerDialogs bool
	// Policies choose the answer of a kind of dialog; a missing kind is accepted.
	Policies map[agentcli.DialogKind]agentcli.Policy

	// HumanQuiet is DefaultHumanQuiet if zero.
	HumanQuiet time.Duration
}

// RulesFor returns the rules for a session started with cfg: the profile of its
// concrete provider, else of its family, else what holds for any program, with
// the hints of cfg on top.
func RulesFor(cfg runtime.Config, set *agentcli.Set) Rules {
	p := set.Resolve(cfg.ProviderOverlayName, cfg.ProviderName)
	r := Rules{
		Screen:        p.Screen,
		Dialogs:       p.Dialogs,
		ReadyPrefix:   cfg.ReadyPromptPrefix,
		ReadyDelay:    time.Duration(cfg.ReadyDelayMs) * time.Millisecond,
		AnswerDialogs: cfg.WantsDialogs(),
	}
	if r.Screen.InputBox.Frame == agentcli.FrameLine && len(r.Screen.InputBox.Marks) == 0 && r.ReadyPrefix != "" {
		r.Screen.InputBox.Marks = []string{r.ReadyPrefix}
	}
	return r
}

// The keys of [Labels].
const (
	labelProvider = "provider"
	labelOverlay  = "overlay"
	labelReady    = "ready"
)

// Labels returns what is stored with a session of its configuration, so that a later driver
// gets its rules from [RulesOf].
func Labels(cfg runtime.Config) map[string]string {
	return map[string]string{labelProvider: cfg.ProviderName, labelOverlay: cfg.ProviderOverlayName, labelReady: cfg.ReadyPromptPrefix}
}

// HintedLabels returns the labels of a session with other hints. The ones given stay as they are.
func HintedLabels(labels map[string]string, hints runtime.Hints) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[labelReady] = hints.ReadyPromptPrefix
	return out
}

// RulesOf returns the rules for a session that was started, from its [Labels]: without
// what matters for a start only.
func RulesOf(labels map[string]string, set *agentcli.Set) Rules {
	return RulesFor(runtime.Config{
		ProviderName: labels[labelProvider], ProviderOverlayName: labels[labelOverlay], ReadyPromptPrefix: labels[labelReady],
	}, set)
}

// ReadyLimit returns how long [Ready] waits when it is given no limit: 15 s for a
// prompt, with a ReadyDelay that and 5 s more, between 5 s and 60 s; without a
// ReadyPrefix the delay alone.
func (r Rules) ReadyLimit() time.Duration {
	switch {
	case r.ReadyPrefix == "":
		return min(r.ReadyDelay, maxReady)
	case r.ReadyDelay == 0:
		return defaultReady
	default:
		return min(max(r.ReadyDelay+readyMargin, minReady), maxReady)
	}
}

// want returns the labels to choose in a dialog of the given rule.
func (r Rules) want(d agentcli.Dialog) []string {
	policy := agentcli.PolicyAccept
	if p, ok := r.Policies[d.Kind]; ok {
		policy = p
	}
	return d.Want[policy]
}
