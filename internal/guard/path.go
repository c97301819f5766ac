package guard

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// pathPattern is a pattern of file paths: ** matches any number of directories; * and ? match
// within one part. A pattern without a leading / or ~ matches at any depth.
type pathPattern struct {
	parts []string
	ends  ends   // of the key part
	key   int    // index of the last part that is not only wildcards: a word that names it probably means these files
	named string // a part that every matching path contains; empty if there is none
	whole string // the whole pattern, as a script would write it
	last  ends   // beginning and end of the name of every matching file
}

// parsePathPattern parses a pattern.
func parsePathPattern(pattern string) pathPattern {
	if !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~") && !strings.HasPrefix(pattern, "**/") {
		pattern = "**/" + pattern
	}
	p := pathPattern{parts: strings.Split(strings.TrimPrefix(strings.ToLower(pattern), "/"), "/")}
	for i, part := range p.parts {
		if isSpecific(part) && part != "~" {
			p.key = i
		}
	}
	p.ends = endsOf(p.parts[p.key])
	p.named, p.whole = p.literal(), "/"+strings.Join(p.parts, "/")
	if last := p.parts[len(p.parts)-1]; last != "~" && !strings.Contains(last, `\`) {
		p.last = endsOf(last)
	}
	return p
}

// apart returns true if a file certainly does not match the pattern, without comparing the whole path. If byName is true, it also
// returns true if nothing that is known of the file's name is like the pattern. If it returns false, the paths must be compared.
func (p *pathPattern) apart(f *file, byName bool) bool {
	switch {
	case f.kind == exact:
		return p.named != "" && !slices.Contains(f.parts, p.named) || !p.last.around(f.parts[len(f.parts)-1])
	case !byName || f.kind == opaque || p.parts[p.key] == "~" || f.kind == pattern && p.spelled(f.whole):
		return false
	}
	return !slices.ContainsFunc(f.ends, p.ends.overlaps)
}

// spelled reports whether a pattern in a script is the rule's pattern itself.
func (p *pathPattern) spelled(pattern string) bool {
	return pattern == p.whole || p.parts[0] == "~" && strings.HasSuffix(pattern, strings.TrimPrefix(p.whole, "/~"))
}

// literal returns a part without wildcards that every matching path contains, empty if there is
// none.
func (p pathPattern) literal() string {
	for _, part := range slices.Backward(p.parts) {
		if part != "" && part != "~" && !strings.ContainsAny(part, "*?\\") {
			return part
		}
	}
	return ""
}

// isSpecific reports whether a part contains more than wildcards and dots.
func isSpecific(part string) bool { return strings.Trim(part, "*?.") != "" }

// file is a word of a command, parsed as a file path.
type file struct {
	parts []string // directories and name, in lower case; an unknown part contains a star
	ends  []ends   // of each part; nil for an exact file
	kind  fileKind
	whole string // the whole path
	doubt bool   // the path depends on the current directory of the script
	word  int    // for a command: the index of the word that names the file
	made  bool   // the command only writes the file, like the last word of cp
	any   []file // the values that the word has one after the other
}

// fileKind states what is known of a file's path.
type fileKind int8

const (
	exact   fileKind = iota // the path is known
	pattern                 // the shell replaces the pattern by matching names
	listed                  // a program finds the names in the working directory
	partial                 // parts are unknown
	opaque                  // nothing is known
)

// maxFolders is the maximum number of directories in a path that is compared.
const maxFolders = 128

// fileOf converts a word to a file path, relative to folder or, if that is nil, to the working directory.
func (r *scratch) fileOf(w, folder *shell.Word, req *Request) file {
	if w.Any != nil {
		f := file{any: make([]file, len(w.Any))}
		for i := range w.Any {
			f.any[i] = r.fileOf(&w.Any[i], folder, req)
		}
		return f
	}
	text, known := w.Text, w.Known
	f := file{kind: exact, doubt: folder != nil}
	if folder != nil && !rooted(text) {
		text, known = folder.Text+"/"+text, known && folder.Known
		if folder.Any != nil {
			text, known = string(shell.Unknown)+"/"+w.Text, false
		}
	}
	switch {
	case !known && len(text) > maxMeet, strings.Count(text, "/") > maxFolders:
		return file{kind: opaque}
	case w.Listed && folder == nil:
		f.kind = listed
	case !known:
		f.kind = partial
	case w.Glob || folder != nil && folder.Glob:
		f.kind = pattern
	}
	f.whole = absolute(text, req)
	if f.kind == partial {
		f.parts = unknownParts(f.whole)
	} else {
		f.parts = r.split(strings.TrimPrefix(strings.ToLower(wild(f.whole)), "/"))
	}
	if f.kind != exact {
		f.ends = make([]ends, len(f.parts))
		for i, part := range f.parts {
			f.ends[i] = endsOf(part)
		}
	}
	return f
}

// unknownParts returns, split at its slashes, a pattern for a path that is known only in part. An unknown part may stand for
// several directories, or lead out of the directories before it.
func unknownParts(text string) []string {
	parts := []string{"*"}
	rest := strings.ToLower(text[max(0, strings.IndexByte(text, byte(shell.Unknown))):])
	for i, part := range strings.Split(rest, "/") {
		at := strings.LastIndexByte(part, byte(shell.Unknown))
		switch {
		case part == "" || part == ".":
		case part == "..":
			parts = append(parts[:max(1, len(parts)-1)], "*")
		case at < 0:
			parts = append(parts, part)
		case i > 0:
			parts = append(parts, "*", wild(part))
		case at < len(part)-1 || !strings.Contains(rest, "/"):
			parts = append(parts, wild(part))
		}
	}
	return parts
}

// rooted reports whether a path does not depend on the working directory, or may not because its beginning is unknown.
func rooted(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, string(shell.Unknown))
}

// match states how well a file matches a pattern.
type match int8

const (
	apart     match = iota // it does not match
	uncertain              // it may match, but nothing in its known parts suggests it
	about                  // its known parts suggest that it matches
	certain
)

// fit reports whether a file that a command names matches the pattern: certain, perhaps (uncertain, or about: a known text
// matches the most specific part of the pattern), or not (apart). home contains the parts of the home directory, in place of "~".
func (p *pathPattern) fit(f *file, home []string) match {
	parts, mine, key := f.parts, p.parts, p.key // key is the index of the most specific part in mine
	if mine[0] == "~" && len(home) > 0 {
		if f.kind == exact {
			if len(parts) < len(home) || !slices.Equal(parts[:len(home)], home) || within(mine[1:], parts[len(home):], fitting{same: glob}) == 0 {
				return apart
			}
			return certain
		}
		mine, key = slices.Concat(home, mine[1:]), key+len(home)-1
	}
	switch f.kind {
	case exact:
		if within(mine, parts, fitting{same: glob, key: key}) > 0 {
			return certain
		}
		return apart
	case pattern: // the command names files by wildcards
		if p.spelled(f.whole) && f.whole == "/"+strings.Join(mine, "/") {
			return certain
		}
		return match(within(mine, parts, fitting{same: globbed, key: key}))
	case listed, partial: // only a part of the name is known
		m := match(within(mine, parts, fitting{same: canBothMatch, key: key, deep: true}))
		if last := parts[len(parts)-1]; m == uncertain && mine[len(mine)-1] == "**" && strings.HasPrefix(strings.TrimLeft(last, "*"), ".") && isSpecific(last) {
			return apart // the extension of the file is known, its directory is not: for a pattern of a whole directory that is too little
		}
		return m
	case opaque:
	}
	return uncertain
}

// somewhere replaces an unknown working directory. No rule is about such a path.
const somewhere = "/-/-/-/-"

// absolute returns the clean absolute path for a text, relative to the working directory of the
// request. It does not follow symbolic links, because that would need the file system.
func absolute(text string, req *Request) string {
	if text == "~" && req.Home != "" {
		return req.Home
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok && req.Home != "" {
		text = req.Home + "/" + rest
	}
	if !rooted(text) {
		text = cmp.Or(req.Dir, somewhere) + "/" + text
	}
	if strings.ContainsRune(text, shell.Unknown) {
		return text
	}
	text = path.Clean(text)
	if rest, ok := strings.CutPrefix(text, "/proc/"); ok { // other paths to the root and the working directory of a process
		_, rest, _ = strings.Cut(strings.TrimPrefix(rest, "self/task/"), "/")
		if below, ok := strings.CutPrefix(rest, "root"); ok && (below == "" || below[0] == '/') {
			return absolute(cmp.Or(below, "/"), req)
		}
		if below, ok := strings.CutPrefix(rest, "cwd/"); ok {
			return absolute(below, req)
		}
	}
	return text
}

// fitting contains the parameters of a comparison of parts.
type fitting struct {
	same       func(pattern, part string) bool
	key        int  // index of the key part in the pattern
	deep       bool // an unknown part may contain several directories
	keyMatched bool // a known text matched the key part
}

// within compares the parts of a path with those of a pattern. It returns 0 if they do not match, 2 if they match and a known
// text matches the key part (the most specific part of the pattern), and 1 if they match otherwise.
func within(pattern, parts []string, by fitting) int {
	if len(pattern) == 0 {
		switch {
		case len(parts) > 0:
			return 0
		case by.keyMatched:
			return int(about)
		}
		return int(uncertain)
	}
	next := by
	next.key--
	best := 0
	if pattern[0] == "**" {
		for i := range len(parts) + 1 {
			if best = max(best, within(pattern[1:], parts[i:], next)); best == int(about) {
				break
			}
		}
		return best
	}
	if len(parts) == 0 {
		return 0
	}
	if by.deep && parts[0] == "*" && len(pattern) > 1 {
		best = within(pattern[1:], parts, next)
	}
	if by.same(pattern[0], parts[0]) {
		next.keyMatched = by.keyMatched || by.key == 0 && endsOf(pattern[0]).overlaps(endsOf(parts[0]))
		best = max(best, within(pattern[1:], parts[1:], next))
	}
	return best
}

// ends contains the known texts of a part: before its first and after its last wildcard.
type ends struct{ before, behind string }

const wildcards = "*?["

// endsOf returns the literal text of a part before its first wildcard and after its last one. Without a wildcard both
// are the whole part.
func endsOf(part string) ends {
	e := ends{part, part[strings.LastIndexAny(part, wildcards+"]")+1:]}
	if at := strings.IndexAny(part, wildcards); at >= 0 {
		e.before = part[:at]
	}
	return e
}

// around reports whether a text begins and ends with the known texts of e.
func (e ends) around(text string) bool {
	return strings.HasPrefix(text, e.before) && strings.HasSuffix(text, e.behind)
}

// overlaps reports whether some text could have both known beginnings or both known ends.
func (e ends) overlaps(of ends) bool {
	if a, b := e.before, of.before; a != "" && b != "" && a[0] == b[0] && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return true
	}
	a, b := e.behind, of.behind
	return a != "" && b != "" && a[len(a)-1] == b[len(b)-1] && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
}

// globbed reports whether a wildcard pattern in a script may stand for a name that matches the rule's pattern. As in a shell, a
// wildcard at the beginning does not match a dot.
func globbed(pattern, part string) bool {
	if strings.HasPrefix(pattern, ".") && part != "" && strings.ContainsRune("*?[", rune(part[0])) {
		return false
	}
	for strings.Contains(part, "[") { // treat a character class as any single character
		before, rest, _ := strings.Cut(part, "[")
		_, after, closed := strings.Cut(rest, "]")
		if !closed {
			return canBothMatch(pattern, before+"*")
		}
		part = before + "?" + after
	}
	return canBothMatch(pattern, part)
}
