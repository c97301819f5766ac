package config

import (
	"fmt"
	"time"

	"gascity/client"
	"gascity/runtime"
)

// word is a string type that allows only certain values. The empty string means that the key is not
// in the file.
type word interface{ Words() []string }

// texts returns the values of a string type as strings.
func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = string(value)
	}
	return out
}

// PromptMode says how the first prompt gets to the agent.
type PromptMode string

// The prompt modes.
const (
	PromptArg    PromptMode = "arg"
	PromptFlag   PromptMode = "flag"
	PromptNone   PromptMode = "none"
	PromptWorker PromptMode = "worker"
)

// Words returns the values that a PromptMode may have in city.toml.
func (PromptMode) Words() []string { return texts(PromptArg, PromptFlag, PromptNone, PromptWorker) }

// Channel says how prompts get to a running agent. If the key is not in the file, [ChannelNative]
// applies.
type Channel string

// The channels.
const (
	ChannelNative Channel = client.ChannelNative
	ChannelTyped  Channel = client.ChannelTyped
)

// Words returns the values that a Channel may have in city.toml.
func (Channel) Words() []string { return texts(ChannelNative, ChannelTyped) }

// Lifecycle says how long the agent's command is expected to run.
type Lifecycle string

// OneShot means that the command does a task and exits.
const OneShot = Lifecycle(runtime.LifecycleOneShot)

// Words returns the values that a Lifecycle may have in city.toml.
func (Lifecycle) Words() []string { return texts(OneShot) }

// WakeMode says whether a later start of the agent continues its conversation or begins a new one.
type WakeMode string

// Words returns the values that a WakeMode may have in city.toml.
func (WakeMode) Words() []string { return texts(WakeResume, WakeFresh) }

// The wake modes. If the key is absent, WakeResume applies.
const (
	WakeResume WakeMode = "resume"
	WakeFresh  WakeMode = "fresh"
)

// PendingPolicy says what gc does with a question that no person answers.
type PendingPolicy string

// The policies. If the key is absent, PendingEscalate applies.
const (
	PendingWait     PendingPolicy = "wait"
	PendingDeny     PendingPolicy = "deny"
	PendingAnswer   PendingPolicy = "answer"
	PendingEscalate PendingPolicy = "escalate"
)

// Words returns the values that a PendingPolicy may have in city.toml.
func (PendingPolicy) Words() []string {
	return texts(PendingWait, PendingDeny, PendingAnswer, PendingEscalate)
}

// OnStall says what gc does with an agent that shows no progress in its turn.
type OnStall string

// The actions. If the key is absent, StallReport applies.
const (
	StallReport    OnStall = "report"
	StallInterrupt OnStall = "interrupt"
	StallRestart   OnStall = "restart"
)

// Words returns the values that a OnStall may have in city.toml.
func (OnStall) Words() []string { return texts(StallReport, StallInterrupt, StallRestart) }

// Switch is a setting that is "on" or "off".
type Switch string

// On is the value of a [Switch] that is on.
const On Switch = "on"

// Words returns the values that a Switch may have in city.toml.
func (Switch) Words() []string { return []string{"on", "off"} }

// ResumeStyle says whether the key resume_flag is a flag or a subcommand.
type ResumeStyle string

// Words returns the values that a ResumeStyle may have in city.toml.
func (ResumeStyle) Words() []string { return []string{"flag", "subcommand"} }

// OptionalDuration is a duration or "off". The zero value means that the key is not in the file.
type OptionalDuration struct {
	Duration time.Duration
	Off      bool
}

// String returns the value as it is written in city.toml.
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

// parseDuration parses a duration in the syntax of Go. A negative one is an error.
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
