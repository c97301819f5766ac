package plan

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Resume says how an agent's conversation is named and continued. An empty
// command means that the agent CLI cannot, or that the way is unknown.
type Resume struct {
	// Again is the shell command that continues a conversation and New the one
	// that begins one with an id of our choice; both have [ConversationMark] where
	// the id goes.
	Again, New string
	Fresh      bool   // every start begins a new conversation, whatever is known
	Nudge      string // the text for an agent whose conversation goes on: no first prompt
	Mode       string // the permission mode, empty for the agent CLI's own
	// Protocol says that the agent's driver opens conversations: their ids travel in
	// the environment, see runtime.VariableConversation. The command stays, or is Again.
	Protocol bool
}

// ConversationMark stands for a conversation's id in the commands of [Resume].
const ConversationMark = "__GC_CONVERSATION__"

// maxID is the most bytes of an id.
const maxID = 256

// plainID reports whether a text may stand in a shell command as it is, and is no option.
func plainID(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || strings.IndexByte("._:@/+=-", c) < 0) {
			return false
		}
	}
	return text != "" && len(text) <= maxID
}

// ResumeCommand returns the Config of a start that continues a conversation, on a
// rung of the ladder. On [session.RungRepair] the agent runs where the
// conversation belongs, if that is known. The first prompt is not given again.
//
// ok is false if the start is to begin a new conversation: on
// [session.RungFresh], if the agent is to, if it cannot resume, or if the id is
// none that may stand in a command.
func (s *Session) ResumeCommand(c session.Conversation, rung session.Rung) (cfg runtime.Config, ok bool) {
	if rung == session.RungFresh || s.Resume.Fresh || s.Resume.Again == "" && !s.Resume.Protocol || !plainID(c.ID) {
		return runtime.Config{}, false
	}
	cfg = s.Config
	if s.Resume.Protocol {
		cfg.Env = maps.Clone(cfg.Env)
		if cfg.Env == nil {
			cfg.Env = map[string]string{}
		}
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

// WithConversation returns the Config of a start that begins a conversation with
// the given id, which is a UUID for every agent CLI that is known to take one.
// ok is false if the agent CLI chooses the id itself.
func (s *Session) WithConversation(id string) (cfg runtime.Config, ok bool) {
	if s.Resume.New == "" || !plainID(id) {
		return runtime.Config{}, false
	}
	cfg = s.Config
	cfg.Command = strings.ReplaceAll(s.Resume.New, ConversationMark, id)
	return cfg, true
}

// WithHandoffNote adds a note to a start that could not continue a conversation, so that
// the agent knows that there was one.
func WithHandoffNote(cfg runtime.Config, c session.Conversation, failure string) runtime.Config {
	if note := HandoffNote(c.ID, failure); note != "" && cfg.Lifecycle != runtime.LifecycleOneShot {
		cfg.Nudge = join(cfg.Nudge, note)
	}
	return cfg
}

// HandoffNote returns what [WithHandoffNote] says of a conversation that was left, and why; empty if
// there is nothing to say.
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
