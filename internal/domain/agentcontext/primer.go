// Package agentcontext makes the sections of context that a city sends to an agent: who it is,
// its role and rules, its task, and where its history is. It is pure: the same parts and
// mode give the same bytes, whether an agent asks by "gc prime" or is given them.
package agentcontext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gascity/worker"
)

// Parts is the context that a city has for one agent. The zero value has none.
type Parts struct {
	Agent    string // its qualified name
	Identity string // who and where it is
	Role     string // its rendered prompt template: role and rules
	Task     string // what it is to do first
}

// The types of sections, in their order.
const (
	typeIdentity = "identity"
	typeRole     = "role"
	typeTask     = "directive"
	typeHistory  = "history"
)

// The most bytes of one section, by mode: a conversation that was compacted or taken up
// again has most of it, or a summary.
const (
	MaxFull    = 96 << 10
	MaxCompact = 16 << 10
	MaxResume  = 4 << 10
)

// Mode reads a mode of context; an empty word is the full one.
func Mode(word string) (worker.ContextMode, error) {
	switch mode := worker.ContextMode(word); mode {
	case "":
		return worker.FullContext, nil
	case worker.FullContext, worker.CompactContext, worker.ResumeContext:
		return mode, nil
	}
	return "", fmt.Errorf("mode %q is not one of full, compact, resume", word)
}

// Sections returns what the agent receives in a mode, each type once. None is longer than
// the mode allows: what was cut is said at its end. After a compaction and a resume, the
// history is given by reference; a resumed agent knows its task. An agent that has neither
// role nor task receives its identity only, and that in full mode alone.
func (p Parts) Sections(mode worker.ContextMode) []worker.Section {
	fresh := mode != worker.CompactContext && mode != worker.ResumeContext
	all := []worker.Section{{Type: typeIdentity, Content: p.Identity}, {Type: typeRole, Content: p.Role}, {Type: typeTask, Content: p.Task}}
	if !fresh {
		if p.Role == "" && p.Task == "" {
			return nil
		}
		if mode == worker.ResumeContext {
			all = all[:2]
		}
		all = append(all, worker.Section{Type: typeHistory, Content: p.history(mode)})
	}
	var kept []worker.Section
	for _, s := range all {
		if s.Content = p.bounded(strings.TrimRight(s.Content, "\r\n"), mode); s.Content != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// FullTypes returns the types of the sections in full mode that a fresh start brings by
// itself: with a first prompt among the agent's arguments, and with the prompt that is typed
// then.
func (p Parts) FullTypes(argument, typed string) (argued, prompted []string) {
	if argument != "" {
		argued = []string{typeIdentity, typeRole}
	}
	switch {
	case typed == "":
	case typed == p.Task || argument != "":
		prompted = []string{typeTask}
	default:
		prompted = []string{typeIdentity, typeRole, typeTask}
	}
	return argued, prompted
}

// history returns what has happened to the conversation, and where what was said before is.
func (p Parts) history(mode worker.ContextMode) string {
	what := "This conversation was compacted."
	if mode == worker.ResumeContext {
		what = "This conversation was taken up again."
	}
	return fmt.Sprintf("%s What you printed before: gc logs %s. The prompts that wait for you: gc queue %[2]s.", what, p.Agent)
}

// bounded cuts a text to what the mode allows, at the end of a line where one is near,
// and says so.
func (p Parts) bounded(text string, mode worker.ContextMode) string {
	limit := MaxFull
	switch mode {
	case worker.CompactContext:
		limit = MaxCompact
	case worker.ResumeContext:
		limit = MaxResume
	case worker.FullContext:
	}
	if len(text) <= limit {
		return text
	}
	remedy := "; all of it: gc prime " + p.Agent + " --mode full"
	if limit == MaxFull {
		remedy = ""
	}
	note := fmt.Sprintf("\n\n[cut here: %d bytes in all%s]", len(text), remedy)
	end := max(0, limit-len(note))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if line := strings.LastIndexByte(text[:end], '\n'); line > end/2 {
		end = line
	}
	return text[:end] + note
}

// Text is sections as an agent reads them.
func Text(sections []worker.Section) string {
	parts := make([]string, len(sections))
	for i, s := range sections {
		parts[i] = s.Content
	}
	return strings.Join(parts, "\n\n")
}
