// Package shell reads a shell script and reports which programs it would run,
// with which words, as far as that can be known without running it. It sees
// through quoting, pipes, lists, functions, substitutions, here-documents, and
// the programs that run other programs (sudo, env, xargs, sh -c, find -exec,
// ...).
//
// What it cannot see it says: a word that depends on a variable or on output is
// not known, and a command whose script is not known is hidden. Nothing is
// dropped in silence.
package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The limits of what is read; beyond them a script is an error, or a command is
// hidden. They bound time and memory for whatever an agent may send.
const (
	// MaxScript is the most bytes of a script.
	MaxScript   = 256 << 10
	maxDepth    = 12    // scripts in scripts
	maxWords    = 4096  // of one command, after brace expansion
	maxCommands = 4000  // of one call
	maxAllWords = 20000 // of one call
	maxOpen     = 400   // brackets that are open at once
	maxBrackets = 10000 // of a script
	maxKeywords = 5000  // of a script
	maxFolders  = 12    // that a script may be in
	maxPlaces   = 2000  // commands in folders
)

// Command is one program that a script may run.
type Command struct {
	// Words are the program and its arguments. It is empty for a redirection without a program.
	Words []Word
	// More says that further words are added when it runs, as by xargs.
	More bool
	// Listed says of those words that they are names which a program has found here.
	Listed bool
	// Reads and Writes are the files of its redirections.
	Reads, Writes []Word
	// Folders are where it may run, beside where the script begins: what the script
	// or the command itself changes to.
	Folders []Word
	// Via are the programs that it was found behind, outermost first.
	Via []string
	// Hidden says why something that it runs cannot be seen; empty if all can.
	Hidden string
	// Mentioned says that it stands in a text that may become a command, or may not:
	// a string in a program of another language, a doubtful reading of options.
	Mentioned bool
	// Text is its source, shortened, for people.
	Text string
}

// Options are what is known of the place where a script runs.
type Options struct {
	Home string // of the user; empty is unknown
	Dir  string // where the script begins; empty is unknown
	// Scratch is where it is read, and where what is found stays; nil makes a new one.
	Scratch *Scratch
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// Parse returns the commands of a script in the order of their text. A script that
// cannot be parsed is an error with the position of the fault.
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

// reader is one reading of a script.
type reader struct {
	opts    Options
	found   []Command
	words   int
	folders []Word // that the script changes to
	full    bool   // a limit was passed
	repeats int    // loops and functions around what is read
}

func newReader(opts Options) *reader {
	if opts.Scratch == nil {
		opts.Scratch = NewScratch()
	}
	return &reader{opts: opts, found: opts.Scratch.found[len(opts.Scratch.found):]}
}

var errTooMuch = errors.New("the script runs too many commands to be judged")

func (r *reader) result() ([]Command, error) {
	if r.full {
		return nil, errTooMuch
	}
	if room := r.opts.Scratch; len(room.found)+len(r.found) <= cap(room.found) { // they are there
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

// add takes up a command.
func (r *reader) add(c Command) {
	r.words += len(c.Words)
	if r.full || len(r.found) >= maxCommands || r.words > maxAllWords {
		r.full = true
		return
	}
	r.found = append(r.found, c)
}

// hide takes up a command that hides what it runs.
func (r *reader) hide(c Command, why string) {
	c.Hidden = why
	r.add(c)
}

// input is where a command's standard input comes from.
type input struct {
	redirected bool   // not from where the script's own comes
	piped      bool   // from another program
	known      bool   // it is text
	text       string // that
	listed     bool   // it is names that a program has found here
}

// script reads a script that runs in the place of a command.
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
	s := &scope{reader: r, source: text, within: within, depth: depth, script: &surveyed{node: file}, straight: true}
	s.stmts(file.Stmts, in)
	return nil
}

// fit refuses a text that shells do not agree about, or that would take the
// parser too much of the stack.
func fit(text string) error {
	switch {
	case len(text) > MaxScript:
		return fmt.Errorf("the script has %d bytes; at most %d are read", len(text), MaxScript)
	case strings.ContainsRune(text, Unknown):
		return errors.New("the script holds a NUL byte")
	case strings.Contains(text, "\r"):
		return errors.New("the script holds a carriage return, which shells take in different ways")
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
		return errors.New("the script is nested too deep, or has too many keywords")
	}
	return nil
}

// nested reads a script that a command would run; one that cannot be read makes the
// command hidden.
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

// mention reads a text that may become a script. If it is none, it says nothing.
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

// mentionStrictly reads a text that becomes a script: what it hides counts as well.
func (r *reader) mentionStrictly(c Command, text string, depth int) {
	if depth >= maxDepth {
		r.hide(c, "it is nested too deep")
		return
	}
	at := len(r.found)
	if err := r.script(text, c, input{}, depth+1); err != nil {
		r.found = r.found[:at]
		for _, mark := range []string{"$((", "[$(", "[`", "$(function"} { // other shells can read it
			if strings.Contains(text, mark) {
				r.hide(c, err.Error())
				break
			}
		}
	}
	for i := at; i < len(r.found); i++ {
		r.found[i].Mentioned = true
	}
}

const maxText = 160

// brief returns a text on one line, shortened.
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

// oneLine reports whether a text is brief as it stands.
func oneLine(text string) bool {
	space := true // before it
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= utf8.RuneSelf || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space && len(text) <= maxText
}

// name returns the name of a program: the last part of its path.
func name(w Word) (string, bool) {
	text := w.Text
	if at := strings.LastIndexByte(text, '/'); at >= 0 {
		text = text[at+1:]
	}
	text = strings.TrimPrefix(text, "=") // as one shell finds a program
	return text, w.Any == nil && !w.Glob && (w.Known || !w.Split && len(text) > 0 && strings.IndexByte(text, byte(Unknown)) < 0)
}
