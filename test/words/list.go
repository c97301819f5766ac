package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// list is the parsed words.txt.
type list struct {
	phrases []phrase
	any     *regexp.Regexp    // matches where one of the phrases does; nil without phrases
	names   map[string]string // parts of names in lower case, with the proposal
	verbs   map[string]bool   // narrative verbs in lower case
}

// phrase is one line of [text].
type phrase struct {
	pattern  *regexp.Regexp
	proposal string
}

// finding is one use of a phrase.
type finding struct {
	offset   int // in the file, in bytes
	phrase   string
	proposal string
}

// parseList reads the word list. Its form is described in words.txt.
func parseList(source string) (*list, error) {
	l := &list{names: map[string]string{}, verbs: map[string]bool{}}
	var section string
	var patterns []string
	for number, line := range numbered(source) {
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		word, proposal, ok := strings.Cut(line, " = ")
		switch {
		case section == "[narrative verbs]":
			for verb := range strings.FieldsSeq(line) {
				l.verbs[verb] = true
			}
		case !ok:
			return nil, fmt.Errorf("words.txt:%d: want PHRASE = PROPOSAL", number)
		case section == "[identifiers]":
			l.names[word] = proposal
		case section == "[text]":
			pattern := strings.ReplaceAll(word, " ", `\s+`)
			compiled, err := regexp.Compile(`(?i)\b(?:` + pattern + `)\b`)
			if err != nil {
				return nil, fmt.Errorf("words.txt:%d: %w", number, err)
			}
			l.phrases = append(l.phrases, phrase{compiled, proposal})
			patterns = append(patterns, pattern)
		default:
			return nil, fmt.Errorf("words.txt:%d: no section is called %q", number, section)
		}
	}
	if len(patterns) > 0 {
		l.any = regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)\b`)
	}
	return l, nil
}

// numbered yields the lines that hold something, trimmed, with their numbers from 1.
func numbered(source string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for i, line := range strings.Split(source, "\n") {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if !yield(i+1, line) {
				return
			}
		}
	}
}

// inText returns the uses of phrases in the text. A word that is a part of a longer name, such as
// a path, an option or a key, or that stands alone between quotes, is a name and not reported.
func (l *list) inText(t text) []finding {
	if l.any == nil || !l.any.MatchString(t.words) {
		return nil
	}
	var found []finding
	for _, p := range l.phrases {
		for _, at := range p.pattern.FindAllStringIndex(t.words, -1) {
			if at[0] == 0 && t.name != "" && t.name == firstWord(t.words) || isName(t.words, at[0], at[1]) {
				continue
			}
			said := strings.Join(strings.Fields(t.words[at[0]:at[1]]), " ")
			found = append(found, finding{t.at[at[0]], said, p.proposal})
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.offset - b.offset })
	return found
}

// isName reports whether text[from:to] is a name, or a part of one.
func isName(text string, from, to int) bool {
	before, after, next := byteAt(text, from-1), byteAt(text, to), byteAt(text, to+1)
	switch {
	case strings.IndexByte("\"'`", before) >= 0 && before == after && before != 0:
		return true
	case strings.IndexByte("/.-$_", before) >= 0 && before != 0:
		return true
	case after == '(':
		return true
	}
	return strings.IndexByte("/.-=:", after) >= 0 && after != 0 && isWord(next)
}

func byteAt(text string, i int) byte {
	if i < 0 || i >= len(text) {
		return 0
	}
	return text[i]
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

func firstWord(text string) string {
	end := 0
	for end < len(text) && isWord(text[end]) {
		end++
	}
	return text[:end]
}

// allowList is the parsed allow.txt.
type allowList struct{ entries []*exception }

// exception permits one phrase, name or function in the files below a path.
type exception struct {
	line   int
	path   string // a file, a folder, or a pattern of [path.Match]
	phrase string
	used   bool
}

// parseAllow reads the exceptions: PATH | PHRASE | REASON.
func parseAllow(source string) (*allowList, error) {
	a := &allowList{}
	for number, line := range numbered(source) {
		parts := strings.Split(line, " | ")
		if len(parts) != 3 || strings.TrimSpace(parts[2]) == "" {
			return nil, fmt.Errorf("allow.txt:%d: want PATH | PHRASE | REASON", number)
		}
		a.entries = append(a.entries, &exception{line: number, path: strings.TrimSpace(parts[0]), phrase: strings.TrimSpace(parts[1])})
	}
	return a, nil
}

// permits reports whether an exception covers the phrase in the file.
func (a *allowList) permits(file, phrase string) bool {
	permitted := false
	for _, e := range a.entries {
		if strings.EqualFold(e.phrase, phrase) && covers(e.path, file) {
			e.used, permitted = true, true
		}
	}
	return permitted
}

func covers(pattern, file string) bool {
	match, err := path.Match(pattern, file)
	return err == nil && match || pattern == "." || strings.HasPrefix(file, pattern+"/")
}

// unused returns a line for each exception that covered nothing.
func (a *allowList) unused() []string {
	var lines []string
	for _, e := range a.entries {
		if !e.used {
			lines = append(lines, fmt.Sprintf("test/words/allow.txt:%d:1: %q is not used in %s: remove the line", e.line, e.phrase, e.path))
		}
	}
	return lines
}
