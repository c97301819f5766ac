package guard

import (
	"path"
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// subject is a part of a call with everything that rules compare with it. It depends only on the
// input and the directories of the request.
type subject struct {
	part
	program string
	fileUse fileUse
	files   []file
	home    []string
	certain bool // files contains all files that the part names
}

// subjectOfPart returns what the rules are compared with for one part of a call.
func (r *scratch) subjectOfPart(p part, req *Request, home []string) subject {
	s := subject{part: p, home: home}
	switch {
	case p.file != nil:
		s.files = r.commit(r.filesOf(r.freeFiles(), *p.file, p.folders, req))
		s.fileUse = usesContent
	case len(p.command.Words) > 0:
		s.program = programOf(p.command.Words[0])
		s.fileUse = fileUseOf(s.program)
		s.files = r.commit(r.argumentsOf(p.command, req))
	}
	s.certain = p.command == nil || !p.command.More
	for i := range s.files {
		s.certain = s.certain && s.files[i].kind == exact && s.files[i].any == nil
	}
	return s
}

// homeParts returns the parts of the home directory of a request; nil if it is unknown.
func homeParts(req *Request) []string {
	if req.Home == "" {
		return nil
	}
	return strings.Split(strings.Trim(strings.ToLower(path.Clean(req.Home)), "/"), "/")
}

// facts collects the verdicts of the rules on one part.
type facts struct {
	*subject

	req     *Request
	verdict Verdict
	unsure  bool // it is known only when the command runs whether some rule matches
}

// part returns the verdict of the rules on one part of a call; its action is empty if no rule matches. sure is false if it
// depends on the run whether a rule that denies or asks matches, because a word is known only then.
func (v *view) part(s *subject, req *Request) (verdict Verdict, sure bool) {
	f := facts{subject: s, req: req}
	var room [32]int
	for _, x := range v.indexes {
		if s.command != nil {
			if known := x.programs[s.program]; known != nil {
				f.commands(known)
			}
			f.commands(&x.others)
		}
		if !s.certain {
			for _, c := range x.files {
				f.consider(c, c.names(&f))
			}
			continue
		}
		for _, i := range x.about(room[:0], s.files) {
			f.consider(x.files[i], x.files[i].names(&f))
		}
	}
	return f.verdict, !f.unsure
}

// beginning caches whether a command begins with a head.
type beginning struct {
	known bool
	truth truth
	words []shell.Word // the words after the head
}

// commands applies the rules about one program to the part, which is a command.
func (f *facts) commands(p *program) {
	if len(p.rules) == 0 || len(f.command.Words) == 0 {
		return
	}
	var room [48]beginning
	begun := room[:]
	if len(p.heads) > len(room) {
		begun = make([]beginning, len(p.heads))
	}
	takes, exact := valueOptions[f.program]
	for _, c := range p.rules {
		b := &begun[c.head]
		if !b.known {
			b.known = true
			b.truth, b.words = p.heads[c.head].begins(f.command, f.program, takes, exact)
		}
		if b.truth != no {
			f.consider(c, c.command(f, b.truth, b.words))
		}
	}
}

// programOf returns the name of a program as rules write it.
func programOf(w shell.Word) string {
	return strings.ToLower(strings.TrimPrefix(path.Base(w.Text), "="))
}

// consider adds the verdict of the rule c to the verdict on the part. t says whether the rule matches. A rule that allows does
// not count if it is not certain that it matches, or if the command is only mentioned in a text.
func (f *facts) consider(c *compiled, t truth) {
	if t == no || !c.concerns(f.req) || c.Action == Allow && f.command != nil && f.command.Mentioned {
		return
	}
	f.unsure = f.unsure || t == maybe && c.Action != Allow
	f.verdict = Worse(f.verdict, c.verdict(t, f.name()))
}

// argumentsOf returns the files that the arguments of a command may name.
func (r *scratch) argumentsOf(c *shell.Command, req *Request) []file {
	files := r.freeFiles()
	if c.More && c.Listed { // names that a program finds in the working directory
		files = append(files, r.fileOf(&shell.Word{Text: "./" + string(shell.Unknown), Listed: true}, nil, req))
	}
	made := copyTarget(c)
	for i, w := range c.Words {
		if i == 0 || w.Program {
			continue
		}
		if len(w.Text) < 2 || w.Text[0] != '-' || w.Any != nil {
			files = r.filesOf(files, w, c.Folders, req)
		}
		for _, text := range attached(w.Text) {
			inner := w
			inner.Text, inner.Known = text, w.Known || !strings.ContainsRune(text, shell.Unknown) && !w.Split
			files = r.filesOf(files, inner, c.Folders, req)
		}
		for at := range files {
			if files[at].word == 0 {
				files[at].word, files[at].made = i, i == made
			}
		}
	}
	return files
}

// copyTarget returns the index of the last word of a command such as cp, which is the file that the command writes; zero if the
// command is of another kind or its target is unknown.
func copyTarget(c *shell.Command) int {
	last := len(c.Words) - 1
	switch {
	case c.More || last < 2 || !slices.Contains([]string{"cp", "mv", "install", "ln"}, programOf(c.Words[0])):
		return 0
	case slices.ContainsFunc(c.Words, func(w shell.Word) bool {
		return w.Split || w.Any != nil || !w.Known && strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "-t") || strings.HasPrefix(w.Text, "--t")
	}):
		return 0
	case strings.HasPrefix(c.Words[last].Text, "-"):
		return 0
	}
	return last
}

// attached returns the parts of a word that may be file names in addition to the whole word, as in --file=path, -Ipath, @path,
// file://path and from:to.
func attached(text string) []string {
	if !strings.ContainsAny(text, "=:@<") && (len(text) < 3 || text[0] != '-' || text[1] == '-') {
		return nil
	}
	var out []string
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	if rest, ok := strings.CutPrefix(text, "file:"); ok {
		return append(out, "/"+strings.TrimLeft(rest, "/"))
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		add(strings.TrimLeft(text[2:], "@<"))
	}
	_, value, ok := strings.Cut(text, "=")
	for _, s := range []string{value, text} {
		if s == "" || s == text && !strings.ContainsAny(s[:1], "@<") && ok {
			continue
		}
		s = strings.TrimLeft(s, "@<")
		if s != text {
			add(s)
		}
	}
	if !strings.Contains(text, "://") && strings.Contains(text, ":") {
		for s := range strings.SplitSeq(text, ":") {
			add(s)
		}
	}
	return out
}

// filesOf appends to files the paths that a word may mean: relative to the agent's working directory, to its current directory
// if that is another one, and to each directory to which the script may have changed. A path that depends on the current directory
// of the script has doubt set.
func (r *scratch) filesOf(files []file, w shell.Word, folders []shell.Word, req *Request) []file {
	here := r.fileOf(&w, nil, req)
	here.doubt = len(folders) > 0 && !rooted(w.Text)
	files = append(files, here)
	if rooted(w.Text) || len(w.Any) > 0 && rooted(w.Any[0].Text) {
		return files
	}
	if req.Now != "" && req.Now != req.Dir {
		other := *req
		other.Dir, other.Now = req.Now, ""
		there := r.fileOf(&w, nil, &other)
		there.doubt = true
		files = append(files, there)
	}
	for i := range folders {
		files = append(files, r.fileOf(&w, &folders[i], req))
	}
	return files
}

// command reports whether the rule c matches the command of f: no, maybe or yes, in this order. t says whether the command begins
// with the rule's program and subcommand, and words are the words after these.
func (c *compiled) command(f *facts, t truth, words []shell.Word) truth {
	cmd := f.command
	if len(c.any) > 0 {
		one := no
		for _, term := range c.any {
			one = max(one, term.among(words, cmd.More))
		}
		t = min(t, one)
	}
	for _, term := range c.all {
		t = min(t, term.among(words, cmd.More))
	}
	for _, term := range c.none {
		t = min(t, term.among(words, cmd.More).not())
	}
	if len(c.pathPatterns) > 0 && t != no {
		found := c.pathPatterns.used(f, c.Access, anyMatch)
		if cmd.More && !cmd.Listed { // words that are not known now may name such a file
			found = max(found, maybe)
		}
		t = min(t, found)
	}
	if t == maybe && !cmd.More && c.needsOneWordTwice(f, words) {
		return no
	}
	return t
}

// anyMatch reports whether a file may match a path pattern, even if nothing suggests it.
func anyMatch(m match, _ fileKind) bool { return m > apart }

// needsOneWordTwice reports whether the rule could match only if one unknown word were two things at the same time, for example
// an option and a file. Then the rule does not match.
func (c *compiled) needsOneWordTwice(f *facts, words []shell.Word) bool {
	single := func(w shell.Word) bool {
		return !w.Known && !w.Split && w.Any == nil && !w.Glob && strings.HasPrefix(w.Text, string(shell.Unknown))
	}
	at := slices.IndexFunc(f.command.Words, single)
	if at <= 0 || slices.ContainsFunc(f.command.Words[at+1:], single) {
		return false
	}
	left := slices.DeleteFunc(slices.Clone(words), single)
	missing := func(t term) bool { return t.among(left, false) == no }
	option := func(t term) bool { return len(t.globs) == 0 && missing(t) }
	argument := func(t term) bool { return len(t.options) == 0 && missing(t) }
	needs := func(kind func(term) bool) bool {
		return slices.ContainsFunc(c.all, kind) || len(c.any) > 0 && !slices.ContainsFunc(c.any, func(t term) bool { return !kind(t) })
	}
	switch {
	case !needs(option):
		return false
	case needs(argument):
		return true
	}
	for i := range f.files {
		if f.files[i].word != at && c.pathPatterns.of(&f.files[i], f.home, anyMatch) != no {
			return false
		}
	}
	return len(c.pathPatterns) > 0
}

// names reports whether the part uses one of the files in the rule's path patterns, in the way that the rule is about (reading or
// writing).
func (c *compiled) names(f *facts) truth {
	access := f.access
	if f.command != nil && c.Access == Write && (onlyReads(f.program) || onlyReadsWithWords(f.program, f.command)) {
		return no
	}
	if c.Access != "" && access != "" && c.Access != access {
		return no
	}
	writes := access == Write || c.Access == Write
	t := c.pathPatterns.used(f, c.Access, func(m match, kind fileKind) bool {
		switch {
		case m >= about:
			return true
		case m == apart || writes:
			return false
		case kind == pattern || kind == listed:
			return f.fileUse == usesContent
		}
		return f.fileUse >= usesSearch
	})
	if f.command != nil && f.command.More && c.Access != Write && (f.fileUse == usesContent || f.fileUse == usesSearch && !f.command.Listed) {
		t = max(t, maybe)
	}
	return t
}

// pathPatterns are the path patterns of a rule.
type pathPatterns []pathPattern

// used reports whether the part uses a file that matches one of the patterns, in the way of access. Of a copying command, such as
// cp, the last word counts only as written and the others only as read. counts decides whether an uncertain match counts.
func (ps pathPatterns) used(f *facts, access Access, counts func(m match, kind fileKind) bool) truth {
	all := access == "" || access == Write && f.program == "mv" || !slices.ContainsFunc(f.files, func(f file) bool { return f.made })
	t := no
	for i := range f.files {
		if all || f.files[i].made == (access == Write) {
			t = max(t, ps.of(&f.files[i], f.home, counts))
		}
	}
	return t
}

// of reports whether one file matches one of the patterns. home is the home directory, as parts.
func (ps pathPatterns) of(f *file, home []string, counts func(m match, kind fileKind) bool) truth {
	if f.any != nil {
		return each(f.any, func(one *file) truth { return ps.of(one, home, counts) })
	}
	t, byName := no, !counts(uncertain, f.kind)
	for i := range ps {
		p := &ps[i]
		if p.apart(f, byName) {
			continue
		}
		switch m := p.fit(f, home); {
		case m == certain && f.doubt:
			t = max(t, some)
		case m == certain:
			return yes
		case counts(m, f.kind):
			t = max(t, maybe)
		}
	}
	return t
}
