package config

import (
	"fmt"
	"time"

	"gascity/client"
	"gascity/runtime"
)

// word is a string type with a closed list of values. The empty string means
// that the key is absent.
type word interface{ Words() []string }

// PromptMode states how the first prompt reaches the agent.
type PromptMode string

// The prompt modes.
const (
	PromptArg    PromptMode = "arg"
	PromptFlag   PromptMode = "flag"
	PromptNone   PromptMode = "none"
	PromptWorker PromptMode = "worker"
)

// Words lists the allowed values.
func (PromptMode) Words() []string {
	return []string{string(PromptArg), string(PromptFlag), string(PromptNone), string(PromptWorker)}
}

// Channel states how prompts reach a running agent. If it is absent, [ChannelNative] applies.
type Channel string

// The channels.
const (
	ChannelNative Channel = client.ChannelNative
	ChannelTyped  Channel = client.ChannelTyped
)

// Words lists the allowed values.
func (Channel) Words() []string { return []string{string(ChannelNative), string(ChannelTyped)} }

// Lifecycle is the expected lifetime of an agent's command.
type Lifecycle string

// OneShot marks a command that does bounded work and exits.
const OneShot = Lifecycle(runtime.LifecycleOneShot)

// Words lists the allowed values.
func (Lifecycle) Words() []string { return []string{string(OneShot)} }

// WakeMode states whether a later start continues the conversation.
type WakeMode string

// Words lists the allowed values.
func (WakeMode) Words() []string { return []string{string(WakeResume), string(WakeFresh)} }

// The wake modes. If the key is absent, WakeResume applies.
const (
	WakeResume WakeMode = "resume"
	WakeFresh  WakeMode = "fresh"
)

// PendingPolicy is the policy for a question that has no answer.
type PendingPolicy string

// The policies. If the key is absent, PendingEscalate applies.
const (
	PendingWait     PendingPolicy = "wait"
	PendingDeny     PendingPolicy = "deny"
	PendingAnswer   PendingPolicy = "answer"
	PendingEscalate PendingPolicy = "escalate"
)

// Words lists the allowed values.
func (PendingPolicy) Words() []string {
	return []string{string(PendingWait), string(PendingDeny), string(PendingAnswer), string(PendingEscalate)}
}

// OnStall is the action for an agent that shows no progress in its turn.
type OnStall string

// The actions. If the key is absent, StallReport applies.
const (
	StallReport    OnStall = "report"
	StallInterrupt OnStall = "interrupt"
	StallRestart   OnStall = "restart"
)

// Words lists the allowed values.
func (OnStall) Words() []string {
	return []string{string(StallReport), string(StallInterrupt), string(StallRestart)}
}

// Switch is on or off.
type Switch string

// On is the value "on".
const On Switch = "on"

// Words lists the allowed values.
func (Switch) Words() []string { return []string{"on", "off"} }

// ResumeStyle states whether resume_flag is a flag or a subcommand.
type ResumeStyle string

// Words lists the allowed values.
func (ResumeStyle) Words() []string { return []string{"flag", "subcommand"} }

// OptionalDuration is a duration or "off". The zero value means an absent key.
type OptionalDuration struct {
	Duration time.Duration
	Off      bool
}

// String returns the value as it is written in a city.toml.
func (d OptionalDuration) String() string {
	if d.Off {
		return "off"
	}
	return d.Duration.String()
}

// parseOptionalDuration parses a duration or "off".
func parseOptionalDuration(text string) (OptionalDuration, error) {
	if text == "off" {
		return OptionalDuration{Off: true}, nil
	}
	d, err := parseDuration(text)
	return OptionalDuration{Duration: d}, err
}

// parseDuration reads a Go duration that is not negative.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a valid duration", text)
	case d < 0:
		return 0, fmt.Errorf("a duration cannot be negative: %s", text)
	}
	return d, nil
}
