package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// part is one thing that a call does: a program that it runs, or a file that it uses.
type part struct {
	command *shell.Command
	file    *shell.Word
	access  Access // of the file; empty is not known
}

func (p *part) name() string {
	if p.command == nil {
		return readable(p.file.Text)
	}
	if len(p.command.Via) > 0 || p.command.Text == "" {
		words := make([]string, len(p.command.Words))
		for i, w := range p.command.Words {
			words[i] = readable(w.Text)
		}
		return strings.Join(words, " ")
	}
	return p.command.Text
}

// incidental reports whether a part that no rule is about needs no permission of its
// own: what is read, which the tool or program that reads it answers for, and a
// program that only runs others, which are parts of their own.
func (p *part) incidental(fallback Action) bool {
	if p.file != nil {
		return p.access != Write || fallback == Allow || harmless(*p.file)
	}
	return len(p.command.Words) == 0
}

// harmless reports whether writing there changes nothing.
func harmless(w shell.Word) bool {
	return w.Known && slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, w.Text)
}

// Tools differ in how they name their input. A script is a script whatever the tool
// is called, so the names of all are looked for.
const (
	scriptFields = "command cmd script shell_command commands"
	fileFields   = "file_path path filename file notebook_path target_file absolute_path old_path new_path paths files file_paths dir_path"
)

// errNoObject reports an input that is no JSON object.
var errNoObject = errors.New("the tool's input is no JSON object")

// partsOf returns the parts of a call. An error says why it cannot be read.
func partsOf(req Request) ([]part, error) {
	if len(req.Input) == 0 || string(req.Input) == "null" {
		return nil, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(req.Input, &fields); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoObject, err)
	}
	var parts []part
	for field := range strings.FieldsSeq(scriptFields) {
		commands, err := commandsOf(fields[field], req)
		if err != nil {
			return nil, err
		}
		for i := range commands {
			parts = append(parts, partsOfCommand(&commands[i])...)
		}
	}
	for field := range strings.FieldsSeq(fileFields) {
		for _, text := range texts(fields[field]) {
			parts = append(parts, part{file: &shell.Word{Text: text, Known: true}})
		}
	}
	return parts, nil
}

// partsOfCommand are a command and the files of its redirections.
func partsOfCommand(c *shell.Command) []part {
	parts := []part{{command: c}}
	for i := range c.Reads {
		parts = append(parts, part{file: &c.Reads[i], access: Read})
	}
	for i := range c.Writes {
		parts = append(parts, part{file: &c.Writes[i], access: Write})
	}
	return parts
}

// commandsOf reads a script, or the words of one program.
func commandsOf(raw json.RawMessage, req Request) ([]shell.Command, error) {
	opts := shell.Options{Home: req.Home}
	var script string
	if len(raw) == 0 || json.Unmarshal(raw, &script) == nil {
		return shell.Parse(script, opts)
	}
	if argv := texts(raw); len(argv) > 0 {
		return shell.Argv(argv, opts), nil
	}
	return nil, fmt.Errorf("the command is neither a text nor a list of words: %.80s", raw)
}

// texts are the texts of a JSON text or list of texts; none if it is something else.
func texts(raw json.RawMessage) []string {
	var one string
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	return many
}
