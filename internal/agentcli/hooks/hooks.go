// Package hooks contains data about the hooks of each agent CLI: the events to subscribe to and
// their meaning for a city, the form of an answer, and how to enable the hooks for one session
// without changing a file of the user. internal/hookrunner uses it. Only this package and its
// parent name agent CLIs.
package hooks

import (
	"maps"
	"slices"
	"time"
)

// Variable is the environment variable of an agent that names the agent CLI whose hooks it has.
const Variable = "GC_HOOKS"

// Meaning is the meaning of an event for a city.
type Meaning string

// The meanings. Events that are not listed are ignored.
const (
	Guard     Meaning = "guard"     // a tool is about to run; it runs only if the city allows it
	Ask       Meaning = "ask"       // the agent CLI would ask a person; the city asks instead
	Begin     Meaning = "begin"     // a conversation begins or continues
	Prompt    Meaning = "prompt"    // a prompt was accepted
	Turn      Meaning = "turn"      // a turn has ended
	Failure   Meaning = "failure"   // a turn has ended because the model could not be reached
	Interrupt Meaning = "interrupt" // a person interrupted a turn
	Tool      Meaning = "tool"      // a tool has run
	Compacted Meaning = "compacted" // the conversation was compacted
	Notice    Meaning = "notice"    // the agent CLI notifies its user
	End       Meaning = "end"       // the conversation ends
)

// The time limits of one call of a hook.
const (
	// decideWithin is longer than the city waits for a person's answer, and much shorter than
	// decideLimit: after its own limit every agent CLI lets the tool run.
	decideWithin = 65 * time.Second
	decideLimit  = 180 * time.Second
	reportWithin = 3 * time.Second
	reportLimit  = 30 * time.Second
)

// Event is one event of an agent CLI.
type Event struct {
	Name  string
	Means Meaning
}

// Decides reports whether a failure of the event's hook must block the agent.
func (e Event) Decides() bool { return e.Means == Guard || e.Means == Ask }

// Within returns gc's own deadline for one call. It is well before [Event.Limit].
func (e Event) Within() time.Duration {
	if e.Decides() {
		return decideWithin
	}
	return reportWithin
}

// Limit returns the deadline that the agent CLI enforces for one call.
func (e Event) Limit() time.Duration {
	if e.Decides() {
		return decideLimit
	}
	return reportLimit
}

// Form is the form of a decision for the agent CLI. A denial is always exit status 2 with the
// reason on standard error, the only form that every agent CLI supports. An answer never mixes
// fields of two forms, because some agent CLIs ignore such an answer.
type Form string

// The forms.
const (
	// FormSpecific is an object hookSpecificOutput with permissionDecision and decision.
	FormSpecific Form = "specific"
	// FormPlain is a form without an answer that skips the agent CLI's own question.
	FormPlain Form = "plain"
)

// CLI is the data about the hooks of one agent CLI. The zero value has no hooks.
type CLI struct {
	Name   string // the family of its profiles
	Events []Event
	Form   Form
	// Unit is the unit of the time limits in its settings.
	Unit time.Duration
	// File is the name of gc's file with the hooks. Script is its content if it is a program that
	// the agent CLI loads. Otherwise the content is generated from Events.
	File   string
	Script string
	// Beside are further files of gc in the same directory, by name.
	Beside map[string]string
	// Also are further settings in the file.
	Also map[string]any
	// ReadsFiles means that the agent CLI reads a file outside its working directory without asking
	// a person if its settings contain the result of Reads for the file's directory. A nil Reads
	// means that no settings are needed.
	ReadsFiles bool
	Reads      func(folder string) map[string]any
	// RootOnly means that the agent CLI uses the file only if root owns the file and every
	// directory above it, and no other user can write to them. Otherwise it prints a warning in
	// each session.
	RootOnly bool
	// Args and Env make one session use the file. [MarkFile] is replaced by its path, [MarkDir] by
	// its directory, and [MarkHooks] (after its flag) by the hooks as TOML values.
	Args []string
	Env  map[string]string
	// Pasted is the name of the element in which the agent CLI encloses pasted text of a prompt;
	// empty: none.
	Pasted string
	// Usage is the format in which its transcript records tokens.
	Usage Codec
	// ContextSources are the kinds of conversation starts at which it adds a hook's context to the
	// conversation, at most ContextLimit bytes.
	ContextSources []string
	ContextLimit   int
	// WithPrompt means that it accepts context only with a prompt, and calls no hook after a
	// compaction.
	WithPrompt bool
	// Late means that it calls no hook before the first prompt of a process. So an agent that was
	// started without a prompt has not reported its start.
	Late bool
}

// InjectsContext reports whether the agent can receive context at a start of the given kind.
func (c CLI) InjectsContext(source string) bool { return slices.Contains(c.ContextSources, source) }

// The placeholders in [CLI.Args] and [CLI.Env].
const (
	MarkFile  = "{file}"
	MarkDir   = "{dir}"
	MarkHooks = "{hooks}"
)

// Event returns the event with the agent CLI's name for it.
func (c CLI) Event(name string) (Event, bool) {
	at := slices.IndexFunc(c.Events, func(e Event) bool { return e.Name == name })
	if at < 0 {
		return Event{}, false
	}
	return c.Events[at], true
}

// Lookup returns the data about the hooks of an agent CLI.
func Lookup(name string) (CLI, bool) {
	for _, c := range table() {
		if c.Name == name {
			return c.clone(), true
		}
	}
	return CLI{}, false
}

// Names returns the agent CLIs with known hooks, sorted.
func Names() []string {
	var names []string
	for _, c := range table() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

func (c CLI) clone() CLI {
	c.Events, c.Args, c.Env, c.ContextSources = slices.Clone(c.Events), slices.Clone(c.Args), maps.Clone(c.Env), slices.Clone(c.ContextSources)
	c.Beside = maps.Clone(c.Beside)
	return c
}
