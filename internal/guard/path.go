package guard

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// place is a pattern of files: ** is any number of folders, * and ? stay within
// one. A pattern without a leading / or ~ fits at any depth.
type place struct{ parts []string }

func placeOf(pattern string) place {
	if !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~") && !strings.HasPrefix(pattern, "**/") {
		pattern = "**/" + pattern
	}
	return place{strings.Split(strings.TrimPrefix(pattern, "/"), "/")}
}

// file is what a word names as a file, taken apart.
type file struct {
	parts []string // folders and name; where something is not known there is a star
	kind  fileKind
	any   []file // the values that it takes one after the other
}

// fileKind says what is known of a file's name.
type fileKind int8

const (
	exact   fileKind = iota // it is that
	pattern                 // the shell looks for names that fit
	partial                 // the stars may be anything
	opaque                  // nothing
)

// fileOf takes a word apart.
func fileOf(w shell.Word, req Request) file {
	if w.Any != nil {
		f := file{any: make([]file, len(w.Any))}
		for i, each := range w.Any {
			f.any[i] = fileOf(each, req)
		}
		return f
	}
	text := w.Text
	if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
		text = value // --file=path
	}
	text = strings.TrimPrefix(text, "@") // as curl and others name a file
	f := file{kind: exact}
	switch {
	case !w.Known && len(text) > maxMeet:
		return file{kind: opaque}
	case !w.Known:
		f.kind = partial
	case w.Glob:
		f.kind = pattern
	}
	f.parts = strings.Split(strings.TrimPrefix(wild(absolute(text, req)), "/"), "/")
	return f
}

// holds says whether a file fits. home is the folder that ~ is, taken apart.
func (p place) holds(f file, home []string) truth {
	if f.any != nil {
		t := no
		for _, each := range f.any {
			t = max(t, p.holds(each, home))
		}
		return t
	}
	parts := f.parts
	mine := p.parts
	if mine[0] == "~" && len(home) > 0 {
		if f.kind == exact && (len(parts) < len(home) || !slices.Equal(parts[:len(home)], home)) {
			return no
		}
		mine = append(slices.Clip(home), mine[1:]...)
	}
	switch f.kind {
	case exact:
		return holds(within(mine, parts, glob, false))
	case pattern:
		return holds(within(mine, parts, globbed, false)).at(maybe)
	case partial:
		return holds(within(mine, parts, meet, true)).at(maybe)
	case opaque:
	}
	return maybe
}

// at bounds a truth.
func (t truth) at(most truth) truth { return min(t, most) }

// somewhere is where an agent works if that is not known: far from any place that a
// rule is about.
const somewhere = "/-/-/-/-"

// absolute is the file that a text names: its dots resolved, from the place where
// the agent works. Links are not followed: that would take the file system.
func absolute(text string, req Request) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok && req.Home != "" {
		text = req.Home + "/" + rest
	}
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~") && !strings.HasPrefix(text, string(shell.Unknown)) {
		text = path.Join("/", cmp.Or(req.Dir, somewhere), text)
	}
	if strings.ContainsRune(text, shell.Unknown) {
		return text
	}
	return path.Clean(text)
}

// within reports whether folders and name fit a pattern's, each by same. A part that
// is not known may be several folders, if deep.
func within(pattern, parts []string, same func(pattern, part string) bool, deep bool) bool {
	if len(pattern) == 0 {
		return len(parts) == 0
	}
	if pattern[0] == "**" {
		for i := range len(parts) + 1 {
			if within(pattern[1:], parts[i:], same, deep) {
				return true
			}
		}
		return false
	}
	if deep && len(parts) > 0 && parts[0] == "*" && len(pattern) > 1 && within(pattern[1:], parts, same, deep) {
		return true
	}
	return len(parts) > 0 && same(pattern[0], parts[0]) && within(pattern[1:], parts[1:], same, deep)
}

// globbed reports whether a pattern in a script may name a file that fits. A star at
// its beginning stands for no dot.
func globbed(pattern, part string) bool {
	if strings.HasPrefix(pattern, ".") && part != "" && strings.ContainsRune("*?[", rune(part[0])) {
		return false
	}
	for strings.Contains(part, "[") { // a class is one character of some kind
		before, rest, _ := strings.Cut(part, "[")
		_, after, closed := strings.Cut(rest, "]")
		if !closed {
			return meet(pattern, before+"*")
		}
		part = before + "?" + after
	}
	return meet(pattern, part)
}
