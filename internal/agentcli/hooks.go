package agentcli

import (
	"slices"
	"time"
)

// HooksVariable is the environment variable of an agent that names the agent CLI whose hooks it has.
const HooksVariable = "GC_HOOKS"

// HookMeaning is what an event of an agent CLI means for gc.
type HookMeaning string

// The meanings. gc installs no hooks for other events.
const (
	HookGuard     HookMeaning = "guard"     // a tool is about to run; it runs only if the city allows it
	HookAsk       HookMeaning = "ask"       // the agent CLI would ask a person; the city asks instead
	HookBegin     HookMeaning = "begin"     // a conversation begins or continues
	HookPrompt    HookMeaning = "prompt"    // a prompt was accepted
	HookRequest   HookMeaning = "request"   // a request is about to be sent to the model; again for each attempt of one that fails
	HookTurn      HookMeaning = "turn"      // a turn has ended
	HookFailure   HookMeaning = "failure"   // a turn has ended because the model could not be reached
	HookInterrupt HookMeaning = "interrupt" // a person interrupted a turn
	HookTool      HookMeaning = "tool"      // a tool has run
	HookCompacted HookMeaning = "compacted" // the conversation was compacted
	HookNotice    HookMeaning = "notice"    // the agent CLI notifies its user
	HookEnd       HookMeaning = "end"       // the conversation ends
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

// HookEvent is one event of an agent CLI.
type HookEvent struct {
	Name  string
	Means HookMeaning
}

// Decides reports whether the hook of the event decides if the agent may use a tool. If such a hook
// fails, the tool must not run.
func (e HookEvent) Decides() bool { return e.Means == HookGuard || e.Means == HookAsk }

// Within returns how long gc takes at most for one call of the hook. It is much shorter than
// [HookEvent.Limit].
func (e HookEvent) Within() time.Duration {
	if e.Decides() {
		return decideWithin
	}
	return reportWithin
}

// Limit returns after what time the agent CLI stops a call of the hook.
func (e HookEvent) Limit() time.Duration {
	if e.Decides() {
		return decideLimit
	}
	return reportLimit
}

// HookForm is the form in which a hook answers the agent CLI. To deny a tool, every form uses the
// exit status 2 and a reason on standard error. An answer never has fields of two forms, because
// some agent CLIs ignore such an answer.
type HookForm string

// The forms.
const (
	// HookFormSpecific is an object hookSpecificOutput with permissionDecision and decision.
	HookFormSpecific HookForm = "specific"
	// HookFormPlain is a form without an answer that skips the agent CLI's own question.
	HookFormPlain HookForm = "plain"
)

// Hooks is the data about the hooks of one agent CLI. The zero value has no hooks.
type Hooks struct {
	Name   string // the family of its profiles
	Events []HookEvent
	Form   HookForm
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
	// Args and Env make one session use the file. [HookMarkFile] is replaced by its path, [HookMarkDir] by
	// its directory, and [HookMarkHooks] (after its flag) by the hooks as TOML values.
	Args []string
	Env  map[string]string
	// Pasted is the name of the element in which the agent CLI encloses pasted text of a prompt;
	// empty: none.
	Pasted string
	// Usage is the format in which its transcript records tokens; empty if hooks do not report them.
	Usage TranscriptFormat
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

// InjectsContext reports whether a hook can give the agent context when a conversation starts in
// the given way, such as [HookSourceResume].
func (c Hooks) InjectsContext(source string) bool { return slices.Contains(c.ContextSources, source) }

// The placeholders in [Hooks.Args] and [Hooks.Env].
const (
	HookMarkFile  = "{file}"
	HookMarkDir   = "{dir}"
	HookMarkHooks = "{hooks}"
)

// Event returns the event that has the given name in this agent CLI; ok is false if gc has no hook
// for it.
func (c Hooks) Event(name string) (HookEvent, bool) {
	at := slices.IndexFunc(c.Events, func(e HookEvent) bool { return e.Name == name })
	if at < 0 {
		return HookEvent{}, false
	}
	return c.Events[at], true
}

// LookupHooks returns the data about the hooks of an agent CLI; ok is false if gc has no hooks for
// it.
func LookupHooks(name string) (Hooks, bool) {
	for _, c := range hookTable() { // a new table at each call, so the caller may change c
		if c.Name == name {
			return c, true
		}
	}
	return Hooks{}, false
}

// HookNames returns the names of the agent CLIs for which gc has hooks, sorted. It does not make the table, because every command
// of gc calls it for its help.
func HookNames() []string { return []string{"claude", "codex", "gemini", "opencode", "pi"} }
