// Words checks that the repository uses the plain words of words.txt: it reads the comments and
// messages of Go files, the names that they declare, scripts, configuration, test scripts and
// pages, and it counts the functions whose name begins with a narrative verb. The doc comment of no
// function begins with such a verb.
//
// allow.txt lists the exceptions. The exit status is 1 after a finding and 2 when a file cannot
// be read.
package main

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// limit is the percentage of functions that may begin with a narrative verb, in the product and
// in its tests.
const limit = 1.0

//go:embed words.txt
var words string

//go:embed allow.txt
var allowed string

func main() {
	found, err := check()
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	for _, line := range found {
		fmt.Println(line)
	}
	if len(found) > 0 {
		fmt.Fprintf(os.Stderr, "words: %d uses of words to avoid; the list of words is test/words/words.txt, exceptions are in test/words/allow.txt\n", len(found))
		os.Exit(1)
	}
}

// check reads the files of the working tree and returns the findings as lines.
func check() ([]string, error) {
	list, err := parseList(words)
	if err != nil {
		return nil, err
	}
	allow, err := parseAllow(allowed)
	if err != nil {
		return nil, err
	}
	names, err := tracked()
	if err != nil {
		return nil, err
	}
	tree := os.DirFS(".")
	found, functions := []string{}, &functionCount{verbs: list.verbs}
	for _, name := range names {
		if _, err := fs.Stat(tree, name); err != nil {
			continue // deleted and not committed yet
		}
		lines, err := checkFile(tree, name, list, allow, functions)
		if err != nil {
			return nil, err
		}
		found = append(found, lines...)
	}
	found = append(found, functions.over(limit, allow)...)
	return append(found, allow.unused()...), nil
}

// tracked returns the files of the working tree that git knows or could add.
func tracked() ([]string, error) {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output() //nolint:noctx // it ends at once
	if err != nil {
		return nil, fmt.Errorf("list files with git: %w", err)
	}
	return strings.Split(strings.Trim(string(out), "\x00"), "\x00"), nil
}

// checkFile returns the findings in one file and counts its functions.
func checkFile(tree fs.FS, name string, list *list, allow *allowList, functions *functionCount) ([]string, error) {
	kind := kindOf(tree, name)
	if kind == kindNone {
		return nil, nil
	}
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	texts := textsOf(kind, source)
	var found []finding
	for _, t := range texts {
		found = append(found, list.inText(t)...)
	}
	if kind == kindGo {
		named, err := list.inNames(name, source, functions)
		if err != nil {
			return nil, err
		}
		found = append(found, named...)
	}
	var lines []string
	for _, f := range found {
		if allow.permits(name, f.phrase) {
			continue
		}
		line, column := position(source, f.offset)
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %q: write %s", name, line, column, f.phrase, f.proposal))
	}
	return lines, nil
}

// position returns line and column of the offset, both from 1, the column in bytes.
func position(source []byte, offset int) (line, column int) {
	before := string(source[:offset])
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}
