package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// Conversation is a part of an agent's conversation with its model: prompts, answers and tool calls.
type Conversation struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// ID is the agent CLI's id of the conversation; empty if gc does not know it. IDs of entries are
	// unique only within one conversation.
	ID     string `json:"id,omitempty"`
	Source string `json:"source" enum:"transcript,record,receipts"` // where the entries come from
	// Note says for people what is missing and why; empty if nothing is.
	Note    string              `json:"note,omitempty"`
	Entries []ConversationEntry `json:"entries"` // oldest first
	More    bool                `json:"more"`    // there are entries before the first one
	Turns   int                 `json:"turns"`   // number of turns of the whole conversation
	Skipped int                 `json:"skipped"` // lines of the transcript that cannot be parsed
}

// The sources of a conversation.
const (
	FromTranscript = "transcript" // the agent CLI's own transcript file
	FromRecord     = "record"     // what gc recorded of the Agent Client Protocol
	FromReceipts   = "receipts"   // only the prompts that gc sent, and the tools that hooks report
)

// ConversationEntry is one entry of a conversation. An entry can change: a tool call gets a result, a prompt another
// delivery status. It then has the same ID.
type ConversationEntry struct {
	ID    uint64            `json:"id"` // increases in a conversation
	Time  time.Time         `json:"time,omitzero"`
	Turn  int               `json:"turn"` // 1 is the first turn; 0 is before the first prompt
	Kind  string            `json:"kind" enum:"prompt,answer,thinking,tool,error,compaction,notice"`
	Text  string            `json:"text,omitempty"`
	Bytes int               `json:"bytes,omitempty"` // size of the whole text if Text is only its beginning
	Tool  *ConversationTool `json:"tool,omitempty"`

	// From says for a prompt who sent it: gc with a receipt, gc at the start of the agent, or somebody else: a person
	// at the terminal or another program. Empty means unknown. Receipt, State and Sender are those of the receipt.
	From    string `json:"from,omitempty" enum:"receipt,start,terminal"`
	Receipt string `json:"receipt,omitempty"`
	State   string `json:"state,omitempty"`
	Sender  string `json:"sender,omitempty"`
}

// The kinds of entries.
const (
	EntryPrompt     = "prompt"
	EntryAnswer     = "answer"
	EntryThinking   = "thinking"   // the model's thinking, as far as the transcript has it
	EntryTool       = "tool"       // a tool call
	EntryError      = "error"      // an error of the model provider or the agent CLI
	EntryCompaction = "compaction" // the conversation was compacted
	EntryNotice     = "notice"     // a command of the agent CLI, an interrupt
)

// The senders of prompts.
const (
	PromptByReceipt  = "receipt"  // gc sent it
	PromptByStart    = "start"    // gc started the agent with it
	PromptByTerminal = "terminal" // typed, or sent by another program
)

// ConversationTool is a tool call of an agent.
type ConversationTool struct {
	Name     string `json:"name"`
	Argument string `json:"argument,omitempty"` // the most important argument: a command, a path; one line
	Status   string `json:"status" enum:"running,done,failed"`
	Result   string `json:"result,omitempty"`
	Bytes    int    `json:"bytes,omitempty"` // size of the whole result if Result is only its beginning
}

// The statuses of a tool call.
const (
	ToolRunning = "running" // no result yet
	ToolDone    = "done"
	ToolFailed  = "failed" // it failed, or it was denied or interrupted
)

// ConversationQuery selects entries of a conversation.
type ConversationQuery struct {
	Before uint64 // only entries before this ID; zero means the newest
	Limit  int    // at most so many entries; zero means the server's default, 100
	Turn   int    // only the entries of this turn, counted from the end; 1 is the last turn
	Since  time.Time
	Until  time.Time
}

// MaxConversationLimit is the largest limit of a [ConversationQuery].
const MaxConversationLimit = 1000

// parameters returns the query of a URL. Zero fields are left out.
func (q ConversationQuery) parameters() string {
	parameters := map[string]string{"limit": count(q.Limit), "turn": count(q.Turn), "since": stamp(q.Since.UTC()), "until": stamp(q.Until.UTC())}
	if q.Before > 0 {
		parameters["before"] = strconv.FormatUint(q.Before, 10)
	}
	return query(parameters)
}

// Conversation returns the entries of the target's present conversation that the query selects, the newest ones if they
// are too many.
func (c *Client) Conversation(ctx context.Context, name string, q ConversationQuery) (Conversation, error) {
	return call[Conversation](ctx, c, http.MethodGet, target(name, "conversation")+q.parameters(), nil)
}

// FollowConversation returns the newest entries of the target's conversation and then every new or changed entry, until
// ctx ends or the caller leaves the loop. Each value has the entries that are new or changed since the last one. If ID
// differs from that of the last value, another conversation has begun. An error is the last value: the reader
// calls FollowConversation again. Limit and Since select the first entries.
func (c *Client) FollowConversation(ctx context.Context, name string, q ConversationQuery) iter.Seq2[Conversation, error] {
	return watch[Conversation](ctx, c, target(name, "conversation/stream")+q.parameters(), "conversation")
}
