package agentcli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const inputPageHead = `# What input boxes change

Generated from internal/agentcli/profiles; do not edit. This page lists how the input box of an agent CLI changes a text that gc pastes into it. The
changes were measured with ` + "`make probe CLI=NAME`" + ` and a mock model. The log of that model shows the text that arrived.
[Prompts](../explanation/prompts.md#content) explains what gc does with such a text. An agent CLI that is not in the table was not measured: gc knows
no changes of its input box. pi gets its prompts through its own extension, and codex through its own server. So the row of codex applies only where
gc types its prompts.

- *removed* (characters that get lost), *composed* (a letter and a combining mark become one letter), *acts upon* (characters that
  the agent CLI takes as a command): the meaning of the text may change. gc sends such a text in a file or refuses it.
- *layout*: the reader sees the same text. gc sends it, and the receipt (the delivery status of the prompt) lists the change.

| agent CLI | versions | removed | composed | acts upon | line feeds | layout |
|---|---|---|---|---|---|---|
`

// inputPage returns the content of docs/reference/input-boxes.md.
func inputPage() string {
	var b strings.Builder
	b.WriteString(inputPageHead)
	for _, name := range Builtin().Names() {
		p, _ := Builtin().Lookup(name)
		in := p.Screen.Input
		if len(in.Versions) == 0 || p.Family != p.Name {
			continue
		}
		composed := "-"
		if in.Composes {
			composed = "letters and marks (NFC)"
		}
		var acts []string
		for _, r := range in.Reactions {
			acts = append(acts, r.What)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", name, strings.Join(in.Versions, ", "), removedCell(in), composed,
			cmp.Or(strings.Join(acts, "; "), "-"), cmp.Or(ranges(in.LineFeeds), "-"), layoutCell(in))
	}
	return b.String()
}

func ranges(all []Characters) string {
	var out []string
	for _, c := range all {
		out = append(out, c.String())
	}
	return strings.Join(out, ", ")
}

func removedCell(in Input) string {
	parts := []string{ranges(in.Removes)}
	if in.RemovesJoiners {
		parts = append(parts, "U+200C and U+200D but in scripts and emoji that need them")
	}
	if in.RemovesSelectors {
		parts = append(parts, "U+FE0E and U+FE0F but behind emoji")
	}
	if in.RemovesTags {
		parts = append(parts, "U+E0000-U+E007F but in three flags")
	}
	return cmp.Or(strings.TrimPrefix(strings.Join(parts, "; "), "; "), "-")
}

func layoutCell(in Input) string {
	var parts []string
	if in.TabWidth > 0 {
		parts = append(parts, fmt.Sprintf("a tab becomes %d blanks", in.TabWidth))
	}
	if in.TrimsStart != "" {
		parts = append(parts, "blanks at the beginning are removed")
	}
	if in.TrimsEnd != "" {
		parts = append(parts, "blanks at the end are removed")
	}
	if in.AddsBlankFrom > 0 {
		parts = append(parts, fmt.Sprintf("a blank is added from %d bytes or %d lines on", in.AddsBlankFrom, in.AddsBlankLines))
	}
	return cmp.Or(strings.Join(parts, "; "), "-")
}

// TestThePageOfInputBoxesIsCurrent compares docs/reference/input-boxes.md with the profiles.
func TestThePageOfInputBoxesIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "input-boxes.md")
	if *update {
		if err := os.WriteFile(path, []byte(inputPage()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != inputPage() {
		t.Errorf("docs/reference/input-boxes.md is out of date, run make gen")
	}
}
