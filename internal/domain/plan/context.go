package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gascity/worker"
)

// ContextParts contains the context of one agent. The zero value is empty.
type ContextParts struct {
	Agent    string // its qualified name
	Identity string // its name and city
	Role     string // its rendered prompt template: role and rules
	Task     string // its first task
}

// The types of sections, in the order of the sections.
const (
	typeIdentity = "identity"
	typeRole     = "role"
	typeTask     = "directive"
	typeHistory  = "history"
)

// The maximum length of one section in bytes, by mode. It is smaller after a compaction or a
// resume, because the conversation still contains the context or a summary of it.
const (
	MaxFullContext    = 96 << 10
	MaxCompactContext = 16 << 10
	MaxResumeContext  = 4 << 10
)

// ParseContextMode returns the context mode with the given name; an empty name is the full mode.
func ParseContextMode(word string) (worker.ContextMode, error) {
	switch mode := worker.ContextMode(word); mode {
	case "":
		return worker.FullContext, nil
	case worker.FullContext, worker.CompactContext, worker.ResumeContext:
		return mode, nil
	}
	return "", fmt.Errorf("mode %q is not one of full, compact, resume", word)
}

// Sections returns the sections of context that the agent gets in this mode, each type at most
// once. A section that is longer than the limit of the mode is cut and ends with a note. After a
// compaction or a resume, one section says where to read earlier output; after a resume there is no
// task. An agent without role and task gets only its identity, and only in full mode.
func (p ContextParts) Sections(mode worker.ContextMode) []worker.Section {
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

// FullTypes returns which sections of full context a fresh start already gives the agent. argument
// is its first prompt on the command line and typed is the prompt that gc types; either may be
// empty. argued are the types of the sections in argument, prompted those in typed.
func (p ContextParts) FullTypes(argument, typed string) (argued, prompted []string) {
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

// history returns a text about what happened to the conversation and where to find earlier output.
func (p ContextParts) history(mode worker.ContextMode) string {
	what := "This conversation was compacted."
	if mode == worker.ResumeContext {
		what = "This conversation was resumed."
	}
	return fmt.Sprintf("%s What you printed before: gc logs %s. The prompts that wait for you: gc queue %[2]s.", what, p.Agent)
}

// bounded returns the text of a section, cut to the limit of the mode. A text that was cut ends
// with a note that names the command for the whole text. It is cut at the end of a line if one is
// near.
func (p ContextParts) bounded(text string, mode worker.ContextMode) string {
	limit := MaxFullContext
	switch mode {
	case worker.CompactContext:
		limit = MaxCompactContext
	case worker.ResumeContext:
		limit = MaxResumeContext
	case worker.FullContext:
	}
	if len(text) <= limit {
		return text
	}
	remedy := "; all of it: gc prime " + p.Agent + " --mode full"
	if limit == MaxFullContext {
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

// ContextText returns the sections as one text, separated by blank lines.
func ContextText(sections []worker.Section) string {
	parts := make([]string, len(sections))
	for i, s := range sections {
		parts[i] = s.Content
	}
	return strings.Join(parts, "\n\n")
}
