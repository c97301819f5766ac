package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scope is a position in a script with what is known there.
type scope struct {
	reader          *reader
	source          string
	within          Command // the command that runs the script
	depth           int
	script          *surveyed
	values          map[string]value  // the known values of variables
	loops           map[string][]Word // the values of loop variables
	runsOnce        bool              // every run of the script executes this position exactly once
	stdinRedirected bool              // exec has redirected the input of the shell before this position
}

// place returns a command at this position of the script, without words. text is its source text.
func (s *scope) place(text string) Command {
	c := s.within
	c.Words, c.Reads, c.Writes, c.More, c.Listed, c.Hidden = nil, nil, nil, false, false, ""
	c.Text = brief(text)
	return c
}

// stmts collects the commands in a list of statements. in describes their input.
func (s *scope) stmts(list []*syntax.Stmt, in input) {
	for _, st := range list {
		if s.stdinRedirected {
			in = input{redirected: true}
		}
		s.stmt(st, in)
	}
}

// stmt collects the commands in one statement. in describes its input.
func (s *scope) stmt(st *syntax.Stmt, in input) {
	if st == nil {
		return
	}
	if st.Background || st.Coprocess {
		inner := *s
		inner.runsOnce = false
		s = &inner
	}
	c := s.place(s.text(st))
	in = s.redirect(st.Redirs, &c, in)
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.call(cmd, c, in)
		return
	case *syntax.BinaryCmd:
		s.binary(cmd, in)
	case *syntax.ForClause:
		s.reader.repeats++
		s.loop(cmd, in)
		s.reader.repeats--
	case *syntax.WhileClause:
		s.reader.repeats++
		s.below(st.Cmd, in)
		s.reader.repeats--
	case *syntax.Block:
		inner := *s
		inner.stmts(cmd.Stmts, in)
	case *syntax.FuncDecl, *syntax.CoprocClause: // their input depends on the caller
		if f, ok := cmd.(*syntax.FuncDecl); ok && multiplies(f) {
			s.reader.hide(c, "it starts itself again and again")
		}
		s.reader.repeats++
		s.below(st.Cmd, input{redirected: true})
		s.reader.repeats--
	case *syntax.DeclClause:
		s.declare(cmd, c)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		s.below(st.Cmd, in)
		s.literals(st.Cmd)
	case nil:
	default:
		s.below(st.Cmd, in)
	}
	if len(c.Reads)+len(c.Writes) > 0 {
		s.reader.add(c)
	}
}

// multiplies reports whether a function calls itself twice or in the background, so that it would
// start more and more processes.
func multiplies(f *syntax.FuncDecl) bool {
	if f.Name == nil {
		return false
	}
	calls := 0
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		st, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		if call, ok := st.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == f.Name.Value {
			calls++
			if st.Background || st.Coprocess {
				calls++
			}
		}
		return true
	})
	return calls > 1
}

// text returns the part of the script's text that a node of the syntax tree was parsed from.
func (s *scope) text(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if int(to) > len(s.source) || from > to {
		return ""
	}
	return s.source[from:to]
}

// redirect adds the files that redirections read and write to c, and returns what is known of the
// standard input of c after them. in is the standard input before them.
func (s *scope) redirect(redirs []*syntax.Redirect, c *Command, in input) input {
	for _, r := range redirs {
		s.substitutions(r.Word)
		s.substitutions(r.Hdoc)
		if r.Op == syntax.WordHdoc {
			s.reader.expansions(*c, s.word(r.Word), s.depth)
		}
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut:
			c.Reads = append(c.Reads, s.word(r.Word))
			if r.Op == syntax.RdrInOut {
				c.Writes = append(c.Writes, s.word(r.Word))
			}
			in = input{redirected: true, piped: stream(s.word(r.Word))}
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			in = s.redirectText(r, in)
		case syntax.DplIn:
			in = input{redirected: true}
		case syntax.DplOut:
			if w := s.word(r.Word); !isDescriptor(w) {
				c.Writes = append(c.Writes, w)
			}
		default: // all others write
			c.Writes = append(c.Writes, s.word(r.Word))
		}
		if r.N != nil && r.N.Value == "0" && (r.Op == syntax.DplOut || r.Op == syntax.RdrOut) { // 0>&1
			in = input{redirected: true}
		}
	}
	return in
}

// isDescriptor reports whether a word is the number of a file descriptor.
func isDescriptor(w Word) bool {
	return w.Known && strings.Trim(w.Text, "0123456789-") == ""
}

// call collects a simple command, and the commands that run to compute its words.
func (s *scope) call(cmd *syntax.CallExpr, c Command, in input) {
	for _, a := range cmd.Assigns {
		s.below(a, input{})
		s.environ(a)
	}
	for _, w := range cmd.Args {
		s.substitutions(w)
	}
	if len(cmd.Args) == 0 {
		for _, a := range cmd.Assigns {
			s.set(a)
		}
		if len(c.Reads)+len(c.Writes) > 0 {
			s.reader.add(c)
		}
		return
	}
	c.Words = s.words(cmd.Args)
	if len(c.Words) == 0 { // an empty variable
		return
	}
	if slices.ContainsFunc(cmd.Args, qualified) {
		c.Hidden = "it holds a pattern that some shells run"
		s.reader.add(c)
		return
	}
	if c.Words[0].Known && c.Words[0].Text == "exec" && len(c.Words) == 1 && in.redirected {
		s.stdinRedirected = true
	}
	s.reader.command(c, in, s.depth)
}

// qualified reports whether a wildcard pattern in a word may run a command in some shells, as
// *(e:'command':) does in zsh.
func qualified(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		g, ok := p.(*syntax.ExtGlob)
		return ok && strings.ContainsAny(g.Pattern.Value, "'\":$`+")
	})
}

// declare collects the commands that run in export and similar builtins. Such a builtin without a
// variable is itself collected as a command, because it prints all variables.
func (s *scope) declare(d *syntax.DeclClause, c Command) {
	s.below(d, input{})
	s.literals(d)
	if !slices.ContainsFunc(d.Args, func(a *syntax.Assign) bool { return a.Name != nil }) {
		c.Words = []Word{{Text: d.Variant.Value, Known: true}}
		for _, a := range d.Args {
			c.Words = append(c.Words, s.word(a.Value))
		}
		s.reader.add(c)
	}
	for _, a := range d.Args {
		s.environ(a)
		if v := d.Variant.Value; v == "export" || v == "readonly" {
			s.set(a)
		}
	}
}

// binary collects the commands on both sides of &&, || or a pipe. in describes the input of the
// first one.
func (s *scope) binary(cmd *syntax.BinaryCmd, in input) {
	inner := *s
	inner.runsOnce = s.runsOnce && cmd.Op == syntax.AndStmt
	inner.stmt(cmd.X, in)
	if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
		in = s.output(cmd.X)
		in.piped = true
	}
	inner.stmt(cmd.Y, in)
	s.stdinRedirected = s.stdinRedirected || inner.stdinRedirected
}

// loop collects the commands in a for loop. In its body, the loop variable has the values of its
// list.
func (s *scope) loop(cmd *syntax.ForClause, in input) {
	inner := *s
	inner.runsOnce = false
	if iter, ok := cmd.Loop.(*syntax.WordIter); ok {
		for _, w := range iter.Items {
			s.substitutions(w)
		}
		inner.loops = maps.Clone(s.loops)
		if inner.loops == nil {
			inner.loops = map[string][]Word{}
		}
		name := iter.Name.Value
		delete(inner.loops, name)
		for _, w := range s.words(iter.Items) {
			s.reader.expansions(s.place(w.Text), w, s.depth)
		}
		if values, ok := s.loopValues(iter.Items); ok && !cmd.Select && !s.script.get().opaque && !assignedIn(cmd.Do, name) {
			inner.loops[name] = values
		}
	} else {
		s.below(cmd.Loop, input{})
	}
	inner.stmts(cmd.Do, in)
}

// assignedIn reports whether the body of a loop sets the variable.
func assignedIn(body []*syntax.Stmt, name string) bool {
	for _, st := range body {
		if in := survey(st); in.opaque || in.sets[name] > 0 {
			return true
		}
	}
	return false
}

// loopValues returns the words in the list of a loop. ok is false if one of them is unknown or
// there are too many.
func (s *scope) loopValues(items []*syntax.Word) ([]Word, bool) {
	values := s.words(items)
	for _, w := range values {
		if !w.Known && !w.Listed {
			return nil, false
		}
	}
	return values, len(values) > 0 && len(values) <= maxWords
}

// substitutions collects the commands that run to compute the value of a word.
func (s *scope) substitutions(w *syntax.Word) {
	if w != nil && !literal(w.Parts) {
		s.below(w, input{})
	}
}

// literal reports whether no command runs to compute the value of these parts of a word.
func literal(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !literal(p.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// below collects the commands in all statements inside a node of the syntax tree. in describes their
// input, until exec redirects the input of the shell.
func (s *scope) below(n syntax.Node, in input) {
	inner := *s
	inner.runsOnce = false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if inner.stdinRedirected {
				in = input{redirected: true}
			}
			inner.stmt(n, in)
			return false
		case *syntax.ProcSubst:
			if n.Op == syntax.CmdOut { // it reads what the command writes
				inner.stmts(n.Stmts, input{redirected: true, piped: true})
				return false
			}
			inner.stmts(n.Stmts, input{})
			return false
		}
		inner.arithmetic(n)
		return true
	})
}

// arithmetic collects the commands in texts that the shell evaluates as arithmetic, where it runs
// substitutions in an index again.
func (s *scope) arithmetic(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ParamExp:
		if n.Index != nil {
			s.literals(n.Index)
		}
		if n.Slice != nil && n.Slice.Offset != nil {
			s.literals(n.Slice.Offset)
		}
		if n.Slice != nil && n.Slice.Length != nil {
			s.literals(n.Slice.Length)
		}
	case *syntax.ArithmExp:
		s.literals(n.X)
	case *syntax.CStyleLoop:
		s.literals(n)
	case *syntax.Assign:
		if n.Index != nil {
			s.literals(n.Index)
		}
	case *syntax.ArrayElem:
		if n.Index != nil {
			s.literals(n.Index)
		}
	}
}

// literals collects the commands in quoted texts inside a node that the shell may evaluate again,
// such as names of array elements.
func (s *scope) literals(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			s.reader.expansions(s.place(""), s.word(w), s.depth)
		}
		return true
	})
}
