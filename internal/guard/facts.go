package guard

import (
	"path"
	"strings"

	"gascity/internal/guard/shell"
)

// subject is a part of a call, and what is known of it before any rule is held
// against it. It does not change, and depends on the input and the folders of a
// request alone.
type subject struct {
	part
	program string
	habit   habit
	files   []file
	home    []string
	certain bool // the files are all that it names
}

// takenApart takes a part apart.
func (r *room) takenApart(p part, req *Request, home []string) subject {
	s := subject{part: p, home: home}
	switch {
	case p.file != nil:
		s.files = r.keep(r.filesOf(r.free(), *p.file, p.folders, req))
		s.habit = dumps
	case len(p.command.Words) > 0:
		s.program = programOf(p.command.Words[0])
		s.habit = habitOf(s.program)
		s.files = r.keep(r.argumentsOf(p.command, req))
	}
	s.certain = p.command == nil || !p.command.More
	for i := range s.files {
		s.certain = s.certain && s.files[i].kind == exact && s.files[i].any == nil
	}
	return s
}

// homeOf is the home of a request, taken apart.
func homeOf(req *Request) []string {
	if req.Home == "" {
		return nil
	}
	return strings.Split(strings.Trim(strings.ToLower(path.Clean(req.Home)), "/"), "/")
}

// facts are what rules about a part are held against.
type facts struct {
	*subject

	req     *Request
	verdict Verdict
}

// part is the verdict on a part; without an action if no rule is about it.
func (v *view) part(s *subject, req *Request) Verdict {
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
	return f.verdict
}

// beginning is how a command begins, in the eyes of a head.
type beginning struct {
	known bool
	truth truth
	words []shell.Word // after it
}

// commands holds the rules about a program against a part.
func (f *facts) commands(p *program) {
	if len(p.rules) == 0 || len(f.command.Words) == 0 {
		return
	}
	var room [48]beginning
	begun := room[:]
	if len(p.heads) > len(room) {
		begun = make([]beginning, len(p.heads))
	}
	for _, c := range p.rules {
		b := &begun[c.head]
		if !b.known {
			b.known = true
			b.truth, b.words = p.heads[c.head].begins(f.command, f.program)
		}
		if b.truth != no {
			f.consider(c, c.command(f, b.truth, b.words))
		}
	}
}

// programOf is the name of a program as rules give it.
func programOf(w shell.Word) string {
	return strings.ToLower(strings.TrimPrefix(path.Base(w.Text), "="))
}

// consider adds what a rule comes to.
func (f *facts) consider(c *compiled, t truth) {
	if t == no || !c.concerns(f.req) || c.Action == Allow && f.command != nil && f.command.Mentioned {
		return
	}
	f.verdict = Worse(f.verdict, c.verdict(t, f.name()))
}

// argumentsOf are the files that the words of a command may name.
func (r *room) argumentsOf(c *shell.Command, req *Request) []file {
	files := r.free()
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
	}
	return files
}

// attached are the texts in a word that may name files too: --file=path, -Ipath,
// @path, file://path, from:to.
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

// filesOf appends what a word names: as it is, and in the folders that a script
// changes to.
func (r *room) filesOf(files []file, w shell.Word, folders []shell.Word, req *Request) []file {
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

// command says whether a rule about commands is about this one, which begins as it
// says as far as t tells, with words left.
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
	if len(c.places) > 0 && t != no {
		found := c.places.truth(f, func(m match, _ fileKind) bool { return m > apart })
		if cmd.More {
			found = max(found, maybe)
		}
		t = min(t, found)
	}
	return t
}

// names says whether one of the files of a part is one of the rule's. How a program
// uses its arguments is known of some only.
func (c *compiled) names(f *facts) truth {
	access := f.access
	if f.command != nil && c.Access == Write && onlyReads(f.program) {
		return no
	}
	if c.Access != "" && access != "" && c.Access != access {
		return no
	}
	writes := access == Write || c.Access == Write
	t := c.places.truth(f, func(m match, kind fileKind) bool {
		switch {
		case m >= about:
			return true
		case m == apart || writes:
			return false
		case kind == pattern || kind == listed:
			return f.habit == dumps
		}
		return f.habit >= seeks
	})
	if f.command != nil && f.command.More && c.Access != Write && (f.habit == dumps || f.habit == seeks && !f.command.Listed) {
		t = max(t, maybe)
	}
	return t
}

// places are those that a rule is about.
type places []place

// truth says whether one of the files is there. counts decides which matches that
// are not certain do.
func (ps places) truth(f *facts, counts func(m match, kind fileKind) bool) truth {
	t := no
	for i := range f.files {
		t = max(t, ps.of(&f.files[i], f.home, counts))
	}
	return t
}

func (ps places) of(f *file, home []string, counts func(m match, kind fileKind) bool) truth {
	if f.any != nil {
		most, least := no, yes
		for i := range f.any {
			t := ps.of(&f.any[i], home, counts)
			most, least = max(most, t), min(least, t)
		}
		if most == yes && least < yes {
			return some
		}
		return most
	}
	t, telling := no, !counts(uncertain, f.kind)
	for i := range ps {
		p := &ps[i]
		if p.apart(f, telling) {
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
