// Package shell reads a shell script and tells which programs it would run, with
// which words, as far as that can be known without running it. It sees through
// quoting, pipes, lists, functions, substitutions, here-documents, and the
// programs that run other programs (sudo, env, xargs, sh -c, find -exec, ...).
//
// What it cannot see it says: a word that depends on a variable or on output is
// not known, and a command whose script is not known is hidden. Nothing is
// dropped in silence.
package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The limits of what is read; beyond them a command is hidden.
const (
	// MaxScript is the most bytes of a script.
	MaxScript = 1 << 20
	maxDepth  = 12
	maxWords  = 4096 // of one command, after brace expansion
)

// Command is one program that a script may run.
type Command struct {
	// Words are the program and its arguments. It is empty for a redirection without a program.
	Words []Word
	// More says that further words are added when it runs, as by xargs.
	More bool
	// Reads and Writes are the files of its redirections.
	Reads, Writes []Word
	// Via are the programs that it was found behind, outermost first.
	Via []string
	// Hidden says why something that it runs cannot be seen; empty if all can.
	Hidden string
	// Text is its source, shortened, for people.
	Text string
}

// Options are what is known of the place where a script runs.
type Options struct {
	Home string // of the user; empty is unknown
}

// Parse returns the commands of a script in the order of their text. A script that
// cannot be parsed is an error with the position of the fault.
func Parse(script string, opts Options) ([]Command, error) {
	r := &reader{opts: opts}
	if err := r.script(script, nil, 0); err != nil {
		return nil, err
	}
	return r.found, nil
}

// Argv returns the commands of one program that is started without a shell.
func Argv(argv []string, opts Options) []Command {
	r := &reader{opts: opts}
	words := make([]Word, len(argv))
	for i, arg := range argv {
		words[i] = Word{Text: arg, Known: true}
	}
	r.command(Command{Words: words, Text: brief(strings.Join(argv, " "))}, input{}, 0)
	return r.found
}

// reader is one reading of a script.
type reader struct {
	opts  Options
	found []Command
}

// input is where a command's standard input comes from.
type input struct {
	redirected bool   // not from where the script's own comes
	known      bool   // it is text
	text       string // that
}

// script reads a script that runs behind the programs via.
func (r *reader) script(text string, via []string, depth int) error {
	if len(text) > MaxScript {
		return fmt.Errorf("the script has %d bytes; at most %d are read", len(text), MaxScript)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return fmt.Errorf("the script cannot be read: %w", err)
	}
	s := &scope{reader: r, source: text, via: via, depth: depth}
	s.stmts(file.Stmts, input{})
	return nil
}

// nested reads a script that a command would run; one that cannot be read makes the
// command hidden.
func (r *reader) nested(c Command, text string, via []string, depth int) {
	if depth >= maxDepth {
		c.Hidden = "it is nested too deep"
		r.found = append(r.found, c)
		return
	}
	at := len(r.found)
	if err := r.script(text, via, depth+1); err != nil {
		r.found = r.found[:at]
		c.Hidden = err.Error()
		r.found = append(r.found, c)
	}
}

const maxText = 160

// brief is a text on one line, shortened.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	return text
}
