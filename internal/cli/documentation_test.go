package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/config"
)

// documentation checks that what pages name exists: commands and their flags in the
// command tree, keys and sections in city.toml.
type documentation struct {
	commands, flags, blocks, keys int // how many of each were checked

	root     *cobra.Command
	sections map[string]bool // the top-level names of city.toml
	names    map[string]bool // the names on all levels
	faults   []string
}

func newDocumentation(t *testing.T) *documentation {
	t.Helper()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatalf("cannot read the schema of city.toml: %v", err)
	}
	d := &documentation{root: testRoot(), sections: map[string]bool{}, names: map[string]bool{}}
	d.root.InitDefaultHelpCmd()
	for name, section := range schema.Defs {
		for key := range section.Properties {
			d.names[key] = true
			d.sections[key] = d.sections[key] || name == "City"
		}
	}
	if !d.sections["agents"] || !d.names["permission_mode"] {
		t.Fatalf("the schema of city.toml has no agents or no permission_mode: got sections %v", d.sections)
	}
	return d
}

func (d *documentation) fault(path string, line int, format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf("%s:%d: %s", path, line, fmt.Sprintf(format, args...)))
}

// codeBlock is a code block of a page without its indentation.
type codeBlock struct {
	language string // of a fence; empty without one
	line     int    // of the first line of the code, from 1
	lines    []string
}

var (
	fence      = regexp.MustCompile("^ *```([a-z]*)$")
	inlineCode = regexp.MustCompile("`([^`]+)`")
	header     = regexp.MustCompile(`^\[\[?[a-z][\w."-]*\]\]?`)
	otherFile  = regexp.MustCompile(`^# \S+\.toml$`)
	inlineKey  = regexp.MustCompile(`^(?:\[\[?([a-z_]+)(?:\.[\w<>*"-]+)*\]\]? ?)?([a-z][a-z_]*)?(?: = .+)?$`)
)

// ofOtherFiles are the sections and keys that pages name and that are not of city.toml.
var ofOtherFiles = map[string]string{
	"[[rules]]":                  "a file of guard rules",
	"[[forever]]":                "a prompt for the fake agent",
	"[screen.input]":             "a profile of an agent CLI",
	`enter_while_busy = "merge"`: "a profile of an agent CLI",
	"cached = true":              "a file of prices",
}

// codeBlocks returns the code blocks of a page, and its other lines by number.
func codeBlocks(text string) ([]codeBlock, map[int]string) {
	var blocks []codeBlock
	prose := map[int]string{}
	fenced, indented, blank := false, false, true
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		if match := fence.FindStringSubmatch(line); match != nil {
			fenced, indented = !fenced, false
			if fenced {
				blocks = append(blocks, codeBlock{language: match[1], line: number + 1})
			}
			continue
		}
		deep := strings.HasPrefix(line, "    ")
		empty := strings.TrimSpace(line) == ""
		if !fenced && deep && blank && !indented {
			indented = true
			blocks = append(blocks, codeBlock{line: number})
		}
		indented = indented && (deep || empty)
		blank = empty
		if fenced || indented {
			block := &blocks[len(blocks)-1]
			block.lines = append(block.lines, strings.TrimSpace(line))
		} else {
			prose[number] = line
		}
	}
	return blocks, prose
}

// page checks one page.
func (d *documentation) page(path, text string) {
	blocks, prose := codeBlocks(text)
	for _, block := range blocks {
		switch block.language {
		case "toml":
			if !otherFile.MatchString(block.lines[0]) {
				d.cityFile(path, block)
			}
		case "", "sh":
			d.codeBlock(path, block)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(prose)) {
		for _, match := range inlineCode.FindAllStringSubmatch(prose[number], -1) {
			if strings.HasPrefix(match[1], "gc ") {
				d.commandLine(path, number, match[1])
			} else {
				d.key(path, number, match[1])
			}
		}
	}
}

// codeBlock checks a block of commands, of a city.toml, or of one after the other.
func (d *documentation) codeBlock(path string, block codeBlock) {
	city := codeBlock{}
	inCity := false
	for i, line := range block.lines {
		begins := i == 0 || block.lines[i-1] == ""
		if begins && line != "" {
			inCity = header.MatchString(line)
		}
		if !inCity {
			d.commandLine(path, block.line+i, line)
			continue
		}
		if city.lines == nil {
			city.line = block.line + i
		}
		city.lines = append(city.lines, line)
	}
	if city.lines != nil {
		d.cityFile(path, city)
	}
}

// cityFile parses a block as a city.toml. One that has only a part of an agent gets the rest.
func (d *documentation) cityFile(path string, block codeBlock) {
	d.blocks++
	text := strings.Join(block.lines, "\n") + "\n"
	before := 0
	if !strings.Contains(text, "[[agents]]") {
		const agent = "[[agents]]\nname = \"coder-1\"\nprovider = \"claude\"\n"
		text, before = agent+text, strings.Count(agent, "\n")
	}
	_, err := config.Parse("city.toml", []byte(text), config.Catalog{})
	if err == nil {
		return
	}
	errs, ok := config.AsErrors(err)
	if !ok {
		d.fault(path, block.line, "%v", err)
	}
	for _, e := range errs {
		d.fault(path, block.line+max(0, e.Line-1-before), "%s", e.Message)
	}
}

// key checks inline code that is a section of city.toml, a section and a key, or a key with a value.
func (d *documentation) key(path string, line int, code string) {
	match := inlineKey.FindStringSubmatch(code)
	if match == nil || ofOtherFiles[code] != "" || match[1] == "" && !strings.Contains(code, " = ") {
		return
	}
	d.keys++
	section, name := match[1], match[2]
	if section != "" && !d.sections[section] {
		d.fault(path, line, "city.toml has no section of the name in `%s`", code)
	}
	if name != "" && !d.names[name] {
		d.fault(path, line, "city.toml has no key of the name in `%s`", code)
	}
}

// commandLine checks each gc command in a line of shell.
func (d *documentation) commandLine(path string, line int, text string) {
	for _, words := range shellCommands(text) {
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:] // the environment of the command
		}
		if len(words) > 1 && words[0] == "gc" {
			d.commands++
			if problem := d.command(words[1:]); problem != "" {
				d.fault(path, line, "gc %s: %s", strings.Join(words[1:], " "), problem)
			}
		}
	}
}

// command returns what is wrong with the arguments of gc; empty if nothing is.
func (d *documentation) command(words []string) string {
	cmd := d.root
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "--" || cmd.DisableFlagParsing:
			return ""
		case strings.HasPrefix(word, "-") && word != "-":
			d.flags++
			takesNext, ok := lookupFlag(cmd, word)
			if !ok {
				return "there is no flag " + word
			}
			if takesNext && len(words) > 0 {
				words = words[1:]
			}
		default:
			next := subcommand(cmd, word)
			switch {
			case next != nil:
				cmd = next
			case cmd.HasParent() && !cmdenv.IsGroup(cmd):
				// an argument
			case word == strings.ToUpper(word): // COMMAND
				return ""
			default:
				return "there is no command " + word
			}
		}
	}
	return ""
}

// lookupFlag finds a flag as it is written, and reports whether its value is the next word.
func lookupFlag(cmd *cobra.Command, word string) (takesNext, ok bool) {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	name, _, hasValue := strings.Cut(word, "=")
	if long, isLong := strings.CutPrefix(name, "--"); isLong {
		flag := cmd.Flag(long)
		return flag != nil && flag.NoOptDefVal == "" && !hasValue, flag != nil
	}
	flag := cmd.Flags().ShorthandLookup(name[1:2])
	if flag == nil {
		flag = cmd.InheritedFlags().ShorthandLookup(name[1:2])
	}
	if flag == nil {
		return false, false
	}
	return flag.NoOptDefVal == "" && len(name) == 2, true
}

func subcommand(cmd *cobra.Command, word string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == word || sub.HasAlias(word) {
			return sub
		}
	}
	return nil
}

// shellCommands returns the words of each simple command in a line, without
// quotes, comments and the brackets of what may be left out.
func shellCommands(line string) [][]string {
	commands := [][]string{nil}
	var word strings.Builder
	started := false
	endWord := func() {
		last := &commands[len(commands)-1]
		if text := strings.Trim(word.String(), "[]"); started && text != "" {
			*last = append(*last, text)
		}
		word.Reset()
		started = false
	}
	var quote rune
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == '#' && !started:
			return commands
		case r == ' ' || r == '\t':
			endWord()
		case strings.ContainsRune("&|;()<>", r):
			endWord()
			commands = append(commands, nil)
		default:
			word.WriteRune(r)
			started = true
		}
	}
	endWord()
	return commands
}

// documentationPages returns the pages by path. Decision records are left out: they keep the
// names of their day.
func documentationPages(t *testing.T) map[string]string {
	t.Helper()
	top := filepath.Join("..", "..")
	pages := map[string]string{}
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.ToSlash(name)] = string(text)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md", "CHANGELOG.md"} {
		add(filepath.Join(top, name))
	}
	err := filepath.WalkDir(filepath.Join(top, "docs"), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "adr":
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			add(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func TestDocumentationNamesWhatExists(t *testing.T) {
	pages := documentationPages(t)
	d := newDocumentation(t)
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		d.page(path, pages[path])
	}
	for _, fault := range d.faults {
		t.Error(fault)
	}
	t.Logf("%d pages with %d commands, %d flags, %d blocks of city.toml, %d keys", len(pages), d.commands, d.flags, d.blocks, d.keys)
	if len(pages) < 50 || d.commands < 400 || d.flags < 80 || d.blocks < 12 || d.keys < 40 {
		t.Errorf("got %d pages with %d commands, %d flags, %d blocks of city.toml and %d keys; want at least 50, 400, 80, 12 and 40",
			len(pages), d.commands, d.flags, d.blocks, d.keys)
	}
}

func TestDocumentationFindsPlantedMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"correct", "`gc status --json` and `gc queue retry ID`, `[guard] ask_timeout`, `[daemon]`, `policy = \"deny\"`\n\n    gc send a 'x; gc nothing' # gc nothing\n    X=1 gc start && gc attach -r a\n", ""},
		{"command inline", "see `gc stauts`", "a.md:1: gc stauts: there is no command stauts"},
		{"subcommand", "see `gc queue list` and\n`gc config chek`", "a.md:2: gc config chek: there is no command chek"},
		{"command in an indented block", "text\n\n    gc init x && gc begin\n", "a.md:3: gc begin: there is no command begin"},
		{"command in a fence", "```sh\ncd x; gc begin\n```", "a.md:2: gc begin: there is no command begin"},
		{"flag", "`gc status --yaml`", "a.md:1: gc status --yaml: there is no flag --yaml"},
		{"short flag", "`gc attach a -Z`", "a.md:1: gc attach a -Z: there is no flag -Z"},
		{"flag of another command", "`gc start --raw`", "a.md:1: gc start --raw: there is no flag --raw"},
		{"key in a fence", "```toml\n[[agents]]\nname = \"a\"\nprovider = \"claude\"\nprompt_mod = \"arg\"\n```", "a.md:5: unknown key \"prompt_mod\""},
		{"key in a part", "```toml\n[agents.pending]\npolcy = \"deny\"\n```", "a.md:3: unknown key \"polcy\""},
		{"key in an indented block", "1. Write:\n\n       [daemon]\n       on_pendin = \"true\"\n", "a.md:4: unknown key \"on_pendin\""},
		{"key inline", "`on_pendin = \"true\"`", "a.md:1: city.toml has no key"},
		{"key of a section inline", "`[guard] ask_time`", "a.md:1: city.toml has no key"},
		{"section inline", "`[gard]`", "a.md:1: city.toml has no section"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDocumentation(t)
			d.page("a.md", test.text)
			got := strings.Join(d.faults, "\n")
			if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
				t.Errorf("got faults %q, want %q", got, test.want)
			}
		})
	}
}
