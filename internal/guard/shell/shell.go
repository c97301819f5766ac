// Package shell parses a shell script and returns the programs that it would run and their words,
// as far as they can be known without running it. It handles quoting, pipes, lists, functions,
// substitutions, here-documents, and programs that run other programs (sudo, env, xargs, sh -c,
// find -exec, ...).
//
// The result also shows what is not known. A word that depends on a variable or on output is
// unknown, and a command whose script is unknown is hidden. Nothing is silently dropped.
package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The limits for scripts. Beyond them a script is an error, or a command is hidden. They limit
// time and memory for any input of an agent.
const (
	// MaxScript is the maximum length of a script in bytes.
	MaxScript   = 256 << 10
	maxDepth    = 12    // nested scripts
	maxWords    = 4096  // of one command, after brace expansion
	maxCommands = 4000  // of one call
	maxAllWords = 20000 // of one call
	maxOpen     = 400   // nested brackets
	maxBrackets = 10000 // of a script
	maxKeywords = 5000  // of a script
	maxFolders  = 12    // directories that a script may change to
	maxPlaces   = 2000  // product of commands and directories
)

// Command is one program that a script may run.
type Command struct {
	// Words are the program and its arguments. It is empty for a redirection without a program.
	Words []Word
	// More is true if further words are added when the command runs, for example by xargs.
	More bool
	// Listed is true if those words are names of files that a program finds in the working
	// directory.
	Listed bool
	// Reads and Writes contain the files of its redirections.
	Reads, Writes []Word
	// Folders contains the directories to which the script or the command itself may change before
	// it runs.
	Folders []Word
	// Via contains the programs that run the command, outermost first.
	Via []string
	// Hidden states why something that the command runs is unknown; empty if everything is known.
	Hidden string
	// Mentioned is true if it is uncertain whether the text is a command: a string in a program of
	// another language, or an uncertain reading of options.
	Mentioned bool
	// Text is the source text of the command, shortened, for people.
	Text string
}

// Options describes the environment in which a script runs.
type Options struct {
	Home string // the home directory; empty: unknown
	Dir  string // the working directory at the start; empty: unknown
	// Scratch is memory for parsing and for the results; nil allocates a new one.
	Scratch *Scratch
}

// newParser returns a parser for bash.
func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// Parse returns the commands of a script in the order of its text. If the script cannot be parsed,
// the error contains the position.
func Parse(script string, opts Options) ([]Command, error) {
	r := newReader(opts)
	if err := r.script(script, Command{}, input{}, 0); err != nil {
		return nil, err
	}
	return r.result()
}

// Argv returns the commands of one program that is started without a shell.
func Argv(argv []string, opts Options) ([]Command, error) {
	r := newReader(opts)
	words := r.opts.Scratch.allocWords(len(argv))
	for _, arg := range argv {
		if err := fit(arg); err != nil {
			return nil, err
		}
		words = append(words, Word{Text: arg, Known: true})
	}
	r.command(Command{Words: words, Text: brief(strings.Join(argv, " "))}, input{}, 0)
	return r.result()
}

// reader collects the commands of a script.
type reader struct {
	opts    Options
	found   []Command
	words   int
	folders []Word // directories to which the script changes
	full    bool   // a limit was exceeded
	repeats int    // number of loops and functions around the current position
}

// newReader returns a reader without commands.
func newReader(opts Options) *reader {
	if opts.Scratch == nil {
		opts.Scratch = NewScratch()
	}
	return &reader{opts: opts, found: opts.Scratch.found[len(opts.Scratch.found):]}
}

// errTooMuch reports that a limit for commands or words was exceeded.
var errTooMuch = errors.New("the script runs too many commands to be checked")

// result returns the commands that were collected. If there are too many, it returns an error.
func (r *reader) result() ([]Command, error) {
	if r.full {
		return nil, errTooMuch
	}
	if room := r.opts.Scratch; len(room.found)+len(r.found) <= cap(room.found) { // they are stored in it
		room.found = room.found[:len(room.found)+len(r.found)]
	}
	if len(r.folders)*len(r.found) > maxPlaces {
		r.folders = []Word{{Text: string(Unknown)}}
	}
	if len(r.folders) > 0 {
		for i := range r.found {
			r.found[i].Folders = append(slices.Clip(r.folders), r.found[i].Folders...)
		}
	}
	return r.found, nil
}

// add adds a command to the result. If there are too many commands or words, the whole result
// becomes an error.
func (r *reader) add(c Command) {
	r.words += len(c.Words)
	if r.full || len(r.found) >= maxCommands || r.words > maxAllWords {
		r.full = true
		return
	}
	r.found = append(r.found, c)
}

// hide adds a command to the result and marks it as hidden: the guard cannot see what it runs. why
// is the reason, for people.
func (r *reader) hide(c Command, why string) {
	c.Hidden = why
	r.add(c)
}

// input describes the standard input of a command.
type input struct {
	redirected bool   // it differs from the script's own input
	piped      bool   // another program writes it
	known      bool   // it is known to be text
	text       string // the known input
	listed     bool   // it consists of file names that a program finds in the working directory
}

// script collects the commands in a script that the command within runs. in describes the input of
// the script.
func (r *reader) script(text string, within Command, in input, depth int) error {
	if err := fit(text); err != nil {
		return err
	}
	if words, ok := plainWords(text, r.opts.Scratch); ok {
		within.Words, within.Reads, within.Writes, within.More, within.Listed, within.Hidden = words, nil, nil, false, false, ""
		within.Text = brief(strings.Trim(text, " "))
		r.command(within, in, depth)
		return nil
	}
	file, err := r.opts.Scratch.parse(text)
	if err != nil {
		return fmt.Errorf("the script cannot be read: %w", err)
	}
	s := &scope{reader: r, source: text, within: within, depth: depth, script: &surveyed{node: file}, runsOnce: true}
	s.stmts(file.Stmts, in)
	return nil
}

// fit returns an error for a text that must not be parsed: different shells read it differently, or
// it would need too much of the parser's stack.
func fit(text string) error {
	switch {
	case len(text) > MaxScript:
		return fmt.Errorf("the script has %d bytes, more than the %d that the guard reads", len(text), MaxScript)
	case strings.ContainsRune(text, Unknown):
		return errors.New("the script contains a NUL byte")
	case strings.Contains(text, "\r"):
		return errors.New("the script contains a carriage return, which shells interpret in different ways")
	}
	open, brackets := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			brackets++
			if open++; open > maxOpen || brackets > maxBrackets {
				return errors.New("the script is nested too deep, or has too many brackets")
			}
		case ')', ']', '}':
			open = max(0, open-1)
		}
	}
	if len(text) < maxKeywords {
		return nil
	}
	keywords := 0
	for _, word := range []string{"if", "while", "until", "case", "time", "coproc", "for", "select", "function", "`"} {
		keywords += strings.Count(text, word)
	}
	if keywords > maxKeywords {
		return fmt.Errorf("the script may be nested too deep: it has %d occurrences of words such as if, for and while, and of backticks; the limit is %d", keywords, maxKeywords)
	}
	return nil
}

// nested collects the commands in a script that the command c runs. If the script cannot be read, c
// is added as hidden.
func (r *reader) nested(c Command, text string, in input, depth int) {
	if depth >= maxDepth {
		r.hide(c, "it is nested too deep")
		return
	}
	at := len(r.found)
	if err := r.script(text, c, in, depth+1); err != nil {
		r.found = r.found[:at]
		r.hide(c, err.Error())
	}
}

// mention collects the commands in a text that may be a script, marked as mentioned, which means
// that it is uncertain. If the text is not a script, it adds nothing.
func (r *reader) mention(c Command, text string, depth int) {
	if depth >= maxDepth || !strings.ContainsAny(text, " \t\n") {
		return
	}
	at := len(r.found)
	c.Mentioned = true
	if err := r.script(text, c, input{}, depth+1); err != nil {
		r.found = r.found[:at]
	}
	for i := at; i < len(r.found); i++ {
		r.found[i].Mentioned, r.found[i].Hidden = true, ""
	}
}

// mentionStrictly collects the commands in a text that the shell certainly evaluates, so that parts
// which the guard cannot see count too. The commands are marked as mentioned.
func (r *reader) mentionStrictly(c Command, text string, depth int) {
	if depth >= maxDepth {
		r.hide(c, "it is nested too deep")
		return
	}
	at := len(r.found)
	if err := r.script(text, c, input{}, depth+1); err != nil {
		r.found = r.found[:at]
		for _, mark := range []string{"$((", "[$(", "[`", "$(function"} { // other shells can parse it
			if strings.Contains(text, mark) {
				r.hide(c, err.Error())
				break
			}
		}
	}
	r.markMentioned(at)
}

// markMentioned marks the commands with an index of at least from as mentioned.
func (r *reader) markMentioned(from int) {
	for i := from; i < len(r.found); i++ {
		r.found[i].Mentioned = true
	}
}

// maxText is the maximum length of a Command.Text.
const maxText = 160

// brief returns a text on one line, shortened to [maxText] characters.
func brief(text string) string {
	if oneLine(text) {
		return text
	}
	short := len(text) <= 4*maxText
	if !short {
		text = text[:4*maxText]
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxText || !short {
		text = strings.ToValidUTF8(text[:min(len(text), maxText)], "") + " ..."
	}
	return text
}

// oneLine reports whether a text needs no change to be shown in one line by brief.
func oneLine(text string) bool {
	space := true // the previous byte is a space
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= utf8.RuneSelf || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space && len(text) <= maxText
}

// name returns the name of the program that a word names, without its directory. ok is false if the
// name is not known.
func name(w Word) (string, bool) {
	text := w.Text
	if at := strings.LastIndexByte(text, '/'); at >= 0 {
		text = text[at+1:]
	}
	text = strings.TrimPrefix(text, "=") // in zsh =NAME is the path of a program
	return text, w.Any == nil && !w.Glob && (w.Known || !w.Split && len(text) > 0 && strings.IndexByte(text, byte(Unknown)) < 0)
}
