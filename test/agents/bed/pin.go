package bed

import (
	"fmt"
	"slices"
)

// CLI is one agent CLI at a version that the tests know.
type CLI struct {
	Name    string // the profile's name, or that of the ACP adapter
	Package string // on npm
	Version string
	Program string // in node_modules/.bin
}

// node runs the CLIs that need a node: npm would take older versions of some
// with another one.
func node() CLI { return CLI{"node", "node", "22.23.3", "node"} }

// CLIs returns the pinned versions.
func CLIs() []CLI {
	return []CLI{
		{"claude", "@anthropic-ai/claude-code", "2.1.329", "claude"},
		{"pi", "@earendil-works/pi-coding-agent", "0.87.1", "pi"},
		{"codex", "@openai/codex", "0.169.0", "codex"},
		{"gemini", "@google/gemini-cli", "0.61.0", "gemini"},
		{"opencode", "opencode-ai", "1.18.33", "opencode"},
		{"claude-agent-acp", "@agentclientprotocol/claude-agent-acp", "0.100.0", "claude-agent-acp"},
		{"codex-acp", "@zed-industries/codex-acp", "0.16.0", "codex-acp"},
	}
}

// Pinned returns the CLI of the name.
func Pinned(name string) (CLI, error) {
	all := CLIs()
	if i := slices.IndexFunc(all, func(c CLI) bool { return c.Name == name }); i >= 0 {
		return all[i], nil
	}
	return CLI{}, fmt.Errorf("no agent CLI %q is pinned", name)
}
