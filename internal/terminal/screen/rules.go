package screen

import (
	"maps"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// DefaultHumanQuiet is the time without input of an attached person after which a prompt may be delivered.
const DefaultHumanQuiet = 3 * time.Second

// The limits of the wait for a ready prompt.
const (
	minReady     = 5 * time.Second
	defaultReady = 15 * time.Second
	maxReady     = 60 * time.Second
	readyMargin  = 5 * time.Second
)

// Rules describe the program on a terminal. The zero value is safe: it answers no dialog and reports no idle state.
type Rules struct {
	Screen  agentcli.Screen
	Dialogs []agentcli.Dialog

	// ReadyPrefix is the prefix of the row that shows that the agent is ready. Empty: no such row is known.
	ReadyPrefix string
	// ReadyDelay is the longest wait of [Ready] without ReadyPrefix. With ReadyPrefix it extends the wait.
	ReadyDelay time.Duration

	// AnswerDialogs allows [Ready] to answer known dialogs: it chooses what their rules want for agentcli.PolicyAccept.
	AnswerDialogs bool

	// HumanQuiet is the time without input of an attached person before a prompt; zero means DefaultHumanQuiet.
	HumanQuiet time.Duration
}

// RulesFor returns the rules for a session started with cfg. It uses the profile of the concrete provider, else the profile
// of its family, else the general profile, and then applies the hints of cfg.
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

// Labels returns the parts of cfg that a driver stores with the session. [RulesOf] returns the rules for them.
func Labels(cfg runtime.Config) map[string]string {
	return map[string]string{labelProvider: cfg.ProviderName, labelOverlay: cfg.ProviderOverlayName, labelReady: cfg.ReadyPromptPrefix}
}

// HintedLabels returns a copy of the labels with the given hints.
func HintedLabels(labels map[string]string, hints runtime.Hints) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[labelReady] = hints.ReadyPromptPrefix
	return out
}

// RulesOf returns the rules for a running session from its [Labels]. They do not contain the settings for a start.
func RulesOf(labels map[string]string, set *agentcli.Set) Rules {
	return RulesFor(runtime.Config{
		ProviderName: labels[labelProvider], ProviderOverlayName: labels[labelOverlay], ReadyPromptPrefix: labels[labelReady],
	}, set)
}

// ReadyLimit returns the default limit of [Ready]. With a ReadyPrefix it is 15 s, or ReadyDelay plus 5 s, between 5 s and
// 60 s, if ReadyDelay is set. Without a ReadyPrefix it is ReadyDelay, at most 60 s.
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
