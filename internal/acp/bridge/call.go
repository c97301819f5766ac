package bridge

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"gascity/internal/acp"
	"gascity/worker"
)

// The tool names that rules use, for agents that do not name their tools.
const (
	toolShell = "Bash"
	toolWrite = "Write"
	toolRead  = "Read"
)

// toolOfKind maps the tool kinds of the protocol to tool names.
var toolOfKind = map[string]string{
	acp.KindExecute: toolShell, acp.KindRead: toolRead, acp.KindEdit: "Edit", acp.KindDelete: toolWrite, acp.KindMove: toolWrite,
	acp.KindSearch: "Grep", acp.KindFetch: "WebFetch",
}

// mergeToolCall returns a tool call with the values of the update t and, for the fields that the update does not have, those of
// old.
func mergeToolCall(old, t acp.ToolCall) acp.ToolCall {
	t.ID, t.Name, t.Kind = cmp.Or(t.ID, old.ID), cmp.Or(t.Name, old.Name), cmp.Or(t.Kind, old.Kind)
	t.Title, t.Status = cmp.Or(t.Title, old.Title), cmp.Or(t.Status, old.Status)
	if old.Status == acp.ToolCompleted { // a completed call stays completed
		t.Status = old.Status
	}
	if len(t.RawInput) == 0 {
		t.RawInput = old.RawInput
	}
	for _, path := range old.Paths {
		if !slices.Contains(t.Paths, path) {
			t.Paths = append(t.Paths, path)
		}
	}
	return t
}

// callOf returns a tool call in the form in which the city's rules check it. Each agent names and describes its tools in its own
// way; a call that runs a command becomes a call of a shell with that command.
func callOf(t acp.ToolCall) worker.Call {
	input := map[string]json.RawMessage{}
	if json.Unmarshal(t.RawInput, &input) != nil || input == nil {
		input = map[string]json.RawMessage{}
		if len(t.RawInput) > 0 {
			input["input"] = t.RawInput
		}
	}
	runs := has(input, "command") || has(input, "cmd")
	switch {
	case runs || t.Title == "":
	case t.Kind == acp.KindExecute, t.Kind == "" && t.Name == "" && len(input) == 0:
		// The agent gives the command only in the title, or gives nothing but a title.
		input["command"], runs = raw(strings.Trim(t.Title, "`")), true
	}
	if len(t.Paths) > 0 && !has(input, "paths") {
		input["paths"] = raw(t.Paths)
	}
	name := cmp.Or(t.Name, toolOfKind[t.Kind], t.Title, "tool")
	if runs {
		name = cmp.Or(t.Name, toolShell)
	}
	return worker.Call{ID: t.ID, Tool: name, Input: raw(input), Partial: true}
}

// has reports whether the input of a tool has a value with the given name that is not empty.
func has(input map[string]json.RawMessage, name string) bool {
	value := input[name]
	return len(value) > 0 && string(value) != "null" && string(value) != `""`
}

// shownBytes is how many bytes of a file that an agent writes are shown to people.
const shownBytes = 4096

// readCall returns the call for reading a file, in the form in which the city's rules check it.
func readCall(p acp.ReadFileParams) worker.Call {
	return worker.Call{Tool: toolRead, Input: raw(map[string]string{"file_path": p.Path}), Partial: true}
}

// writeCall returns the call for writing a file, in the form in which the city's rules check it. It has only the beginning of the
// file.
func writeCall(p acp.WriteFileParams) worker.Call {
	content := strings.ToValidUTF8(p.Content[:min(len(p.Content), shownBytes)], "")
	return worker.Call{Tool: toolWrite, Input: raw(map[string]string{"file_path": p.Path, "content": content}), Partial: true}
}

// terminalCall returns the call for running a command, in the form in which the city's rules check it. A command without
// arguments is a line for a shell. A program with arguments is a list of words.
func (h *host) terminalCall(p acp.TerminalParams) worker.Call {
	words := append([]string{p.Command}, p.Args...)
	if len(p.Args) == 0 {
		words = []string{"/bin/sh", "-c", p.Command}
	}
	command := raw(words)
	switch {
	case len(p.Env) > 0:
		set := []string{"env"}
		for _, v := range p.Env {
			set = append(set, v.Name+"="+v.Value)
		}
		command = raw(append(set, words...))
	case len(p.Args) == 0:
		command = raw(p.Command)
	}
	return worker.Call{
		Tool: toolShell, Input: raw(map[string]json.RawMessage{"command": command}),
		Context: map[string]string{"cwd": cmp.Or(p.Cwd, h.dir)}, Partial: true,
	}
}

// raw returns v as JSON. The values that this package passes to it can always be encoded.
func raw(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}
