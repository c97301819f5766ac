package guard

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// pathPattern is a pattern of files: ** is any number of folders, * and ? stay within
// one. A pattern without a leading / or ~ fits at any depth.
type pathPattern struct {
	parts []string
	ends  ends   // of the part that is the key
	key   int    // the last part with a letter: a word that names it is about the place
	named string // what every file there has among its parts; empty if there is none
	whole string // as a pattern of a script names it
	last  ends   // what the name of every file there begins and ends with
}

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

// apart reports quickly that a file is surely not one of the place's, or, should
// only what is known of its name count, that nothing of it shows that.
func (p *pathPattern) apart(f *file, telling bool) bool {
	switch {
	case f.kind == exact:
		return p.named != "" && !slices.Contains(f.parts, p.named) || !p.last.around(f.parts[len(f.parts)-1])
	case !telling || f.kind == opaque || p.parts[p.key] == "~" || f.kind == pattern && p.spelled(f.whole):
		return false
	}
	return !slices.ContainsFunc(f.ends, p.ends.overlaps)
}

// spelled reports whether a pattern of a script may be the place's own.
func (p *pathPattern) spelled(pattern string) bool {
	return pattern == p.whole || p.parts[0] == "~" && strings.HasSuffix(pattern, strings.TrimPrefix(p.whole, "/~"))
}

// literal returns a part that every file there has, empty if there is none.
func (p pathPattern) literal() string {
	for _, part := range slices.Backward(p.parts) {
		if part != "" && part != "~" && !strings.ContainsAny(part, "*?\\") {
			return part
		}
	}
	return ""
}

// isSpecific reports whether a part has more than stars.
func isSpecific(part string) bool { return strings.Trim(part, "*?.") != "" }

// file is what a word names as a file, taken apart.
type file struct {
	parts []string // folders and name, in small letters; where something is not known there is a star
	ends  []ends   // of parts, unless it is exact
	kind  fileKind
	whole string // of a pattern: its text
	doubt bool   // it depends on where the script is then
	word  int    // of a command: which of its words names it
	made  bool   // the command only writes it, as the last word of cp
	any   []file // the values that it takes one after the other
}

// fileKind says what is known of a file's name.
type fileKind int8

const (
	exact   fileKind = iota // it is that
	pattern                 // the shell looks for names that fit
	listed                  // a program has looked for names here
	partial                 // the stars may be anything
	opaque                  // nothing
)

// maxFolders bounds the depth of a path that is compared.
const maxFolders = 128

// fileOf takes a word apart, as it is in a folder.
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

// unknownParts takes a name apart that is known in part. What is not known may be
// several folders, and may lead out of those before it.
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

func rooted(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, string(shell.Unknown))
}

// match is how well a file fits a place.
type match int8

const (
	apart     match = iota // it does not
	uncertain              // nothing that is known of its name says so
	about                  // what is known of its name says that it may
	certain
)

// fit returns how a file fits. home is the folder that ~ is, taken apart.
func (p *pathPattern) fit(f *file, home []string) match {
	parts, mine, key := f.parts, p.parts, p.key
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
	case pattern:
		if p.spelled(f.whole) && f.whole == "/"+strings.Join(mine, "/") {
			return certain
		}
		return match(within(mine, parts, fitting{same: globbed, key: key}))
	case listed, partial:
		m := match(within(mine, parts, fitting{same: meet, key: key, deep: true}))
		if last := parts[len(parts)-1]; m == uncertain && mine[len(mine)-1] == "**" && strings.HasPrefix(strings.TrimLeft(last, "*"), ".") && isSpecific(last) {
			return apart // a name of some kind, in a folder that nothing speaks for
		}
		return m
	case opaque:
	}
	return uncertain
}

// somewhere is where an agent works if that is not known: far from any place that a
// rule is about.
const somewhere = "/-/-/-/-"

// absolute returns the file that a text names: its dots resolved, from the place where
// the agent works. Links are not followed: that would take the file system.
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
	if rest, ok := strings.CutPrefix(text, "/proc/"); ok { // another way to the root, and to where a process works
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

// fitting is how parts are compared.
type fitting struct {
	same       func(pattern, part string) bool
	key        int  // the part of the pattern that is significant
	deep       bool // a part that is not known may be several folders
	keyMatched bool // the key was met by something that is known
}

// within returns how folders and name fit a pattern's: 0 not, 1 without a significant
// part, 2 with it.
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

// ends are the texts before the first and behind the last wildcard of a part: what is
// known of it.
type ends struct{ before, behind string }

const wildcards = "*?["

func endsOf(part string) ends {
	e := ends{part, part[strings.LastIndexAny(part, wildcards+"]")+1:]}
	if at := strings.IndexAny(part, wildcards); at >= 0 {
		e.before = part[:at]
	}
	return e
}

// around reports whether a text begins and ends so.
func (e ends) around(text string) bool {
	return strings.HasPrefix(text, e.before) && strings.HasSuffix(text, e.behind)
}

// overlaps reports whether what is known of a part is what is known of another.
func (e ends) overlaps(of ends) bool {
	if a, b := e.before, of.before; a != "" && b != "" && a[0] == b[0] && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return true
	}
	a, b := e.behind, of.behind
	return a != "" && b != "" && a[len(a)-1] == b[len(b)-1] && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
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
