package guard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gascity/internal/guard/shell"
)

// inputFields maps the names of input fields to their kinds. Tools use different names, so the
// names of all tools are recognized for every tool and at any depth. The names are in lower case
// and without underscores and hyphens.
var inputFields = map[string]fieldKind{
	"command": scriptField, "cmd": scriptField, "script": scriptField, "shellcommand": scriptField, "commandline": scriptField, "bash": scriptField,
	"chars": scriptField, "keystrokes": scriptField, "commands": scriptsField,
	"args": wordsField, "arguments": wordsField, "argv": wordsField,
	"filepath": fileField, "path": fileField, "filename": fileField, "file": fileField, "notebookpath": fileField, "targetfile": fileField,
	"absolutepath": fileField, "relativepath": fileField, "oldpath": fileField, "newpath": fileField, "paths": fileField, "files": fileField,
	"filepaths": fileField, "dirpath": fileField, "directory": fileField, "source": fileField, "destination": fileField, "uri": fileField, "relativeworkspacepath": fileField,
	"cwd": folderField, "workdir": folderField, "workingdirectory": folderField, "workingdir": folderField, "dir": folderField,
	"input": patchField, "patch": patchField,
}

type fieldKind int8

const (
	otherField   fieldKind = iota
	scriptField            // a script, or the words of one program
	scriptsField           // scripts
	wordsField             // the words after the program that another field names
	fileField
	folderField // the working directory
	patchField  // it may be a patch that names files
)

// maxNesting is the maximum depth to which an input is read.
const maxNesting = 6

var (
	errNoObject = errors.New("the tool's input is not a JSON object")
	errNUL      = errors.New("the tool's input contains a NUL byte")
)

// read returns the parts of a call, prepared for the rules: the programs that it runs and the files
// that it names. The error says why the input of the call cannot be understood.
func (r *scratch) read(req *Request) ([]subject, error) {
	if len(req.Input) == 0 || string(req.Input) == "null" {
		return nil, nil
	}
	g := &gatherer{opts: shell.Options{Home: req.Home, Dir: cmp.Or(req.Now, req.Dir), Scratch: r.shell}, parts: r.parts}
	if err := g.object(req.Input, 0); err != nil {
		return nil, err
	}
	r.parts = g.parts
	home := homeParts(req)
	for i := range g.parts {
		if c := g.parts[i].command; c != nil {
			c.Folders = append(c.Folders, g.folders...)
		}
		g.parts[i].folders = append(slices.Clip(g.parts[i].folders), g.folders...)
		r.subjects = append(r.subjects, r.subjectOfPart(g.parts[i], req, home))
	}
	return r.subjects, nil
}

// gatherer collects the parts of an input.
type gatherer struct {
	opts    shell.Options
	parts   []part
	folders []shell.Word
}

// object collects the parts in a JSON object of the input, also in the objects inside it.
func (g *gatherer) object(raw json.RawMessage, depth int) error {
	names, fields, err := fieldsOf(raw)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoObject, err)
	}
	var words []string
	for _, name := range names {
		kind, value := inputFields[plainName(name)], fields[name]
		if kind == wordsField {
			words = texts(value)
		}
		if err := g.field(kind, value, depth); err != nil {
			return err
		}
	}
	if len(words) == 0 {
		return nil
	}
	program := ""
	for _, name := range names {
		if program == "" && inputFields[plainName(name)] == scriptField {
			program = text(fields[name])
		}
	}
	return g.add(shell.Argv(append([]string{program}, words...), g.opts))
}

// plainName returns a field's name in lower case and without underscores and hyphens.
func plainName(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" {
		return name
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name))
}

// field collects the parts in one member of an input object. kind says what the member's name
// means.
func (g *gatherer) field(kind fieldKind, raw json.RawMessage, depth int) error {
	switch kind {
	case scriptField, scriptsField:
		return g.script(kind, raw)
	case fileField, folderField:
		return g.files(kind, raw, depth)
	case patchField:
		for _, path := range patched(text(raw)) {
			g.parts = append(g.parts, part{file: &shell.Word{Text: path, Known: true}, access: Write})
		}
	case wordsField, otherField:
	}
	return g.below(raw, depth)
}

// below collects the parts in the JSON objects inside a value.
func (g *gatherer) below(raw json.RawMessage, depth int) error {
	if len(raw) == 0 || depth >= maxNesting {
		return nil
	}
	switch raw[0] {
	case '{':
		return g.object(raw, depth+1)
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return fmt.Errorf("%w: %w", errNoObject, err)
		}
		for _, item := range items {
			if err := g.below(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// script collects the commands in a member of the input that is a script, a list of scripts, or the
// words of one program.
func (g *gatherer) script(kind fieldKind, raw json.RawMessage) error {
	many := texts(raw)
	switch {
	case len(many) == 0 && (string(raw) == "null" || string(raw) == "[]"):
		return nil
	case len(many) == 0 && raw[0] == '{':
		return g.object(raw, 1)
	case len(many) == 0:
		return fmt.Errorf("the command is neither a text nor a list of words: %.80s", raw)
	case raw[0] == '"' || kind == scriptsField:
		for _, script := range many {
			if err := g.add(shell.Parse(script, g.opts)); err != nil {
				return err
			}
		}
		return nil
	}
	err := g.add(shell.Argv(many, g.opts))
	for _, word := range many {
		for _, path := range patched(word) {
			g.parts = append(g.parts, part{file: &shell.Word{Text: path, Known: true}, access: Write})
		}
	}
	return err
}

// add adds each of the commands to the parts of the call that are checked, and each file that its redirections read or write. A
// file keeps the possible working directories of the command, and the programs (such as sudo) that run the command. add returns
// err; if that is not nil, there are no commands.
func (g *gatherer) add(commands []shell.Command, err error) error {
	for i := range commands {
		c := &commands[i]
		g.parts = append(g.parts, part{command: c})
		for j := range c.Reads {
			g.parts = append(g.parts, part{file: &c.Reads[j], access: Read, folders: c.Folders, behind: c.Via})
		}
		for j := range c.Writes {
			g.parts = append(g.parts, part{file: &c.Writes[j], access: Write, folders: c.Folders, behind: c.Via})
		}
	}
	return err
}

// files collects the files or directories in a member of the input.
func (g *gatherer) files(kind fieldKind, raw json.RawMessage, depth int) error {
	all := texts(raw)
	for _, text := range all {
		if strings.ContainsRune(text, shell.Unknown) {
			return errNUL
		}
		w := shell.Word{Text: strings.TrimPrefix(text, "file://"), Known: true}
		if kind == folderField {
			g.folders = append(g.folders, w)
		}
		g.parts = append(g.parts, part{file: &w})
	}
	if len(all) == 0 {
		return g.below(raw, depth)
	}
	return nil
}

// patched returns the files that a patch adds, changes, deletes or renames; nil if the text is not
// a patch.
func patched(text string) []string {
	if !strings.Contains(text, "*** Begin Patch") {
		return nil
	}
	var paths []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, head); ok {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// text returns a JSON string; empty for any other value. raw must be valid JSON.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if utf8.Valid(raw) { // Go reads most JSON strings in the same way, and faster
		if one, err := strconv.Unquote(string(raw)); err == nil {
			return one
		}
	}
	var one string // declared here, because its address makes it escape
	if json.Unmarshal(raw, &one) != nil {
		return ""
	}
	return one
}

// texts returns the strings of a JSON string or list of strings; nil for any other value.
func texts(raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' {
		return []string{text(raw)}
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	return many
}
