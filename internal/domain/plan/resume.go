package plan

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Resume describes how an agent's conversation is named and continued. An empty command means that
// the agent CLI cannot do it, or that gc does not know how.
type Resume struct {
	// Again is the shell command that continues a conversation. New is the one that begins a
	// conversation with an id that gc chooses. Both contain [ConversationMark] in place of the id.
	Again, New string
	Fresh      bool   // every start begins a new conversation
	Nudge      string // the nudge for an agent that continues a conversation; it gets no first prompt
	Mode       string // the permission mode, empty for the agent CLI's own
	// Protocol is true if the agent's driver opens conversations. It gets the id in the
	// environment, see runtime.VariableConversation. The command is Again, or unchanged if Again
	// is empty.
	Protocol bool
}

// ConversationMark is the placeholder for a conversation's id in the commands of [Resume].
const ConversationMark = "__GC_CONVERSATION__"

// maxID is the maximum length of a conversation id in bytes.
const maxID = 256

// isPlainID reports whether text is safe in a shell command without quoting and does not look like
// an option.
func isPlainID(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || strings.IndexByte("._:@/+=-", c) < 0) {
			return false
		}
	}
	return text != "" && len(text) <= maxID
}

// ResumeCommand returns the Config for a start that resumes the conversation c in the way that rung
// names. With [session.RungRepair] the agent runs in the directory of the conversation, if that is
// known. The first prompt is not sent again.
//
// ok is false if the start must begin a new conversation: if rung is [session.RungFresh], the agent
// is configured to begin a new one, it cannot resume, or the id is not safe in a command.
func (s *Session) ResumeCommand(c session.Conversation, rung session.Rung) (cfg runtime.Config, ok bool) {
	if rung == session.RungFresh || s.Resume.Fresh || s.Resume.Again == "" && !s.Resume.Protocol || !isPlainID(c.ID) {
		return runtime.Config{}, false
	}
	cfg = s.Config
	if s.Resume.Protocol {
		cfg.Env = map[string]string{}
		maps.Copy(cfg.Env, s.Config.Env)
		cfg.Env[runtime.VariableConversation] = c.ID
		cfg.Env[runtime.VariableMode] = cmp.Or(cfg.Env[runtime.VariableMode], c.Mode)
	}
	if s.Resume.Again != "" {
		cfg.Command = strings.ReplaceAll(s.Resume.Again, ConversationMark, c.ID)
	}
	cfg.PromptSuffix, cfg.PromptFlag, cfg.Nudge = "", "", s.Resume.Nudge
	if rung == session.RungRepair && c.Dir != "" {
		cfg.WorkDir = c.Dir
	}
	return runtime.SyncWorkDirEnv(cfg), true
}

// WithConversation returns the Config for a start that begins a conversation with the given id.
// The id is a UUID for every known agent CLI that accepts one. ok is false if the agent CLI
// chooses the id itself.
func (s *Session) WithConversation(id string) (cfg runtime.Config, ok bool) {
	if s.Resume.New == "" || !isPlainID(id) {
		return runtime.Config{}, false
	}
	cfg = s.Config
	cfg.Command = strings.ReplaceAll(s.Resume.New, ConversationMark, id)
	return cfg, true
}

// WithHandoffNote returns cfg with a note added to its nudge, which informs the agent about its
// previous conversation c and why that could not be resumed (failure). A one-shot agent gets no
// note.
func WithHandoffNote(cfg runtime.Config, c session.Conversation, failure string) runtime.Config {
	if note := HandoffNote(c.ID, failure); note != "" && cfg.Lifecycle != runtime.LifecycleOneShot {
		cfg.Nudge = join(cfg.Nudge, note)
	}
	return cfg
}

// HandoffNote returns a text for an agent about its previous conversation and why that was not
// continued. It returns "" if the id of that conversation is unknown, unless its context was full.
func HandoffNote(id, failure string) string {
	const now = "This is a new one: look at the state of the work before you continue."
	switch {
	case session.ResumeFailure(failure) == session.ResumeHandedOver:
		return strings.TrimSuffix("Your previous conversation "+id, " ") + " was handed over to you, because " + failure + ". " + now
	case id == "":
		return ""
	}
	return fmt.Sprintf("Your previous conversation %s could not be continued (%s). %s", id, failure, now)
}
