// Package hooks is what we know of the hooks of each agent CLI, as data: the events
// that are worth subscribing to and what each means to a city, how an answer is
// written, and how one session gets them without a file of the user's being
// touched. internal/hookrunner acts on it; nothing outside this package and its parent
// names an agent CLI.
package hooks

import (
	"maps"
	"slices"
	"time"
)

// Variable is the variable of an agent that names the agent CLI whose hooks it has.
const Variable = "GC_HOOKS"

// Meaning is the meaning of an event for a city.
type Meaning string

// The meanings. One that is not listed means nothing.
const (
	Guard     Meaning = "guard"     // a tool is about to run: it runs only if the city allows it
	Ask       Meaning = "ask"       // a person would be asked: the city asks in place of the agent CLI
	Begin     Meaning = "begin"     // a conversation begins or goes on
	Prompt    Meaning = "prompt"    // a prompt was taken
	Turn      Meaning = "turn"      // a turn has ended
	Failure   Meaning = "failure"   // a turn has ended because the model could not be reached
	Interrupt Meaning = "interrupt" // a turn was ended by a person
	Tool      Meaning = "tool"      // a tool has run
	Compacted Meaning = "compacted" // the conversation was compacted
	Notice    Meaning = "notice"    // the agent CLI notifies its user
	End       Meaning = "end"       // the conversation is left
)

// The limits of one call of a hook.
const (
	// decideWithin is longer than a city asks a person, and far below decideLimit:
	// every agent CLI lets the tool run after its own limit.
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

// Decides reports whether a failure of the event's hook has to keep the agent from
// going on.
func (e Event) Decides() bool { return e.Means == Guard || e.Means == Ask }

// Within is our own deadline for one call. It ends well before [Event.Limit].
func (e Event) Within() time.Duration {
	if e.Decides() {
		return decideWithin
	}
	return reportWithin
}

// Limit returns the agent CLI's deadline, in its own unit.
func (e Event) Limit() time.Duration {
	if e.Decides() {
		return decideLimit
	}
	return reportLimit
}

// Form is the way in which a decision is written to the agent CLI. A denial is
// everywhere the exit status 2 with its reason on standard error: the one form that
// every agent CLI honors. An answer never has fields of two forms, which some agent
// CLIs take for none.
type Form string

// The forms.
const (
	// FormSpecific has hookSpecificOutput, with permissionDecision and decision.
	FormSpecific Form = "specific"
	// FormPlain knows no permission to skip the agent CLI's own question.
	FormPlain Form = "plain"
)

// CLI is what we know of the hooks of one agent CLI. The zero value has none.
type CLI struct {
	Name   string // the family of its profiles
	Events []Event
	Form   Form
	// Unit is the unit of the limits in its settings.
	Unit time.Duration
	// File is the name of gc's file with the hooks. Script is its content if it is a
	// program that the agent CLI loads; else it is made from Events.
	File   string
	Script string
	// Beside are further files of ours in the same folder, by name.
	Beside map[string]string
	// Also are settings of the file beside the hooks.
	Also map[string]any
	// ReadsFiles: it reads a file outside of its working directory without asking a person,
	// if its settings have what Reads returns for the folder of the file. A
	// nil Reads: it needs no settings for that.
	ReadsFiles bool
	Reads      func(folder string) map[string]any
	// RootOnly: it uses the file only if root owns the file and each directory above it, and
	// no other user can write to any of them. Otherwise it warns of the file in each
	// session.
	RootOnly bool
	// Args and Env make one session use the file: [MarkFile] stands for its path,
	// [MarkDir] for its folder, [MarkHooks] (after its flag) for the hooks as TOML values.
	Args []string
	Env  map[string]string
	// Pasted is the element, if any, in which it puts what was pasted into a prompt.
	Pasted string
	// Usage is how its transcript accounts for tokens.
	Usage Codec
	// ContextSources are the beginnings at which it puts a hook's context into the conversation,
	// of at most ContextLimit bytes.
	ContextSources []string
	ContextLimit   int
	// WithPrompt: it takes that with a prompt alone, and calls no hook for a compaction that
	// has taken place.
	WithPrompt bool
	// Late: it calls no hook before the first prompt of a process, so that one which was
	// started without a prompt has not reported its beginning.
	Late bool
}

// InjectsContext reports whether the agent can receive context at a beginning with the source.
func (c CLI) InjectsContext(source string) bool { return slices.Contains(c.ContextSources, source) }

// The marks in [CLI.Args] and [CLI.Env].
const (
	MarkFile  = "{file}"
	MarkDir   = "{dir}"
	MarkHooks = "{hooks}"
)

// Event finds an event by the agent CLI's name of it.
func (c CLI) Event(name string) (Event, bool) {
	at := slices.IndexFunc(c.Events, func(e Event) bool { return e.Name == name })
	if at < 0 {
		return Event{}, false
	}
	return c.Events[at], true
}

// Lookup returns what is known of the hooks of an agent CLI.
func Lookup(name string) (CLI, bool) {
	for _, c := range table() {
		if c.Name == name {
			return c.clone(), true
		}
	}
	return CLI{}, false
}

// Names returns the agent CLIs whose hooks are known, sorted.
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
