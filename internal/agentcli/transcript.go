package agentcli

import (
	"cmp"
	"path/filepath"
	"strings"
)

// TranscriptFormat is the format of the file in which an agent CLI records a conversation. The formats of JSON lines are
// parsed by internal/agentcli/transcript.
type TranscriptFormat string

// The formats. Each has one JSON value in a line. The first three have token counts.
const (
	// TranscriptBlocks has one record for each block of a message. Each record has the usage of the whole message, so records
	// with the same message ID count once. The token counts do not overlap.
	TranscriptBlocks TranscriptFormat = "blocks"
	// TranscriptRollout has items of the model's interface between events, and one record with the usage of each response. Its
	// running totals are ignored. The input includes cached tokens, and the output includes reasoning tokens.
	TranscriptRollout TranscriptFormat = "rollout"
	// TranscriptFolded writes a message again when it changes, so the last record of an ID counts. The input includes cached
	// tokens. The output does not include thoughts.
	TranscriptFolded TranscriptFormat = "folded"
	TranscriptTree   TranscriptFormat = "tree"   // entries with the ID of their parent
	TranscriptRecord TranscriptFormat = "record" // gc's own record of a protocol
)

// Transcript says in which files an agent CLI records its conversations, on the machine on which it runs.
type Transcript struct {
	Format TranscriptFormat
	// Home is the environment variable with the agent CLI's own directory. Folder is that directory below the user's home
	// where the variable is not set.
	Home, Folder string
	// Pattern is a pattern of the file below that directory. [TranscriptMark] is the ID of the conversation, and
	// [TranscriptMarkShort] the first 8 characters of it.
	Pattern string
}

// The placeholders in [Transcript.Pattern].
const (
	TranscriptMark      = "{id}"
	TranscriptMarkShort = "{id8}"
)

// transcriptTable returns where the known agent CLIs record their conversations, by the name of the agent CLI.
func transcriptTable() map[string]Transcript {
	return map[string]Transcript{
		"claude": {TranscriptBlocks, "CLAUDE_CONFIG_DIR", ".claude", "projects/*/{id}.jsonl"},
		"codex":  {TranscriptRollout, "CODEX_HOME", ".codex", "sessions/*/*/*/rollout-*-{id}.jsonl"},
		"gemini": {TranscriptFolded, "", ".gemini", "tmp/*/chats/session-*-{id8}.jsonl"},
		"pi":     {TranscriptTree, "PI_CODING_AGENT_DIR", ".pi/agent", "sessions/*/*_{id}.jsonl"},
	}
}

// LookupTranscript returns where the agent CLI with the name records its conversations; ok is false if that is not known.
func LookupTranscript(name string) (Transcript, bool) {
	t, ok := transcriptTable()[name]
	return t, ok
}

// Files returns a pattern for filepath.Glob that matches the transcript of a conversation. getenv returns a variable of the
// agent's environment. ok is false if the ID of the conversation or the directory has characters that a pattern cannot contain.
func (t Transcript) Files(conversation string, getenv func(string) string) (pattern string, ok bool) {
	home := ""
	if t.Home != "" {
		home = getenv(t.Home)
	}
	if user := getenv("HOME"); user != "" {
		home = cmp.Or(home, filepath.Join(user, t.Folder))
	}
	if !filepath.IsAbs(home) || conversation == "" || strings.ContainsAny(home, `*?[\`) || strings.ContainsAny(conversation, `*?[\/`) || strings.HasPrefix(conversation, ".") {
		return "", false
	}
	short := conversation[:min(len(conversation), 8)]
	return filepath.Join(home, strings.NewReplacer(TranscriptMarkShort, short, TranscriptMark, conversation).Replace(t.Pattern)), true
}
