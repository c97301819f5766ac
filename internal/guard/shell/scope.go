package shell

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scope is a place in a script: what is known there.
type scope struct {
	reader   *reader
	source   string
	via      []string
	depth    int
	loops    map[string][]Word // the values of loop variables
	assigned map[string]bool   // variables that the script sets somewhere
}

func (s *scope) stmts(list []*syntax.Stmt, in input) {
	if s.assigned == nil {
		s.assigned = map[string]bool{}
		for _, st := range list {
			s.noteAssigned(st)
		}
	}
	for _, st := range list {
		s.stmt(st, in)
	}
}

// noteAssigned notes which variables are set anywhere below a node.
func (s *scope) noteAssigned(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				s.assigned[n.Name.Value] = true
			}
		case *syntax.CallExpr: // read, mapfile, printf -v, getopts, unset: by name
			for _, w := range n.Args[min(1, len(n.Args)):] {
				if lit := w.Lit(); syntax.ValidName(lit) {
					s.assigned[lit] = true
				}
			}
		}
		return true
	})
}

func (s *scope) stmt(st *syntax.Stmt, in input) {
	if st == nil {
		return
	}
	c := Command{Via: s.via, Text: brief(s.text(st))}
	in = s.redirect(st.Redirs, &c, in)
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.call(cmd, c, in)
		return
	case *syntax.BinaryCmd:
		s.binary(cmd, in)
	case *syntax.ForClause:
		s.loop(cmd, in)
	default:
		s.below(st.Cmd, in)
	}
	if len(c.Reads)+len(c.Writes) > 0 {
		s.reader.found = append(s.reader.found, c)
	}
}

func (s *scope) text(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if int(to) > len(s.source) || from > to {
		return ""
	}
	return s.source[from:to]
}

// redirect notes the files of redirections and returns where the input comes from.
func (s *scope) redirect(redirs []*syntax.Redirect, c *Command, in input) input {
	for _, r := range redirs {
		s.substitutions(r.Word)
		s.substitutions(r.Hdoc)
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut:
			c.Reads = append(c.Reads, s.word(r.Word))
			in = input{redirected: true}
		case syntax.Hdoc, syntax.DashHdoc:
			w := s.word(r.Hdoc)
			in = input{redirected: true, known: w.Known, text: w.Text}
		case syntax.WordHdoc:
			w := s.word(r.Word)
			in = input{redirected: true, known: w.Known, text: w.Text}
		case syntax.DplIn:
			in = input{redirected: true}
		case syntax.DplOut:
			if w := s.word(r.Word); !isDescriptor(w) {
				c.Writes = append(c.Writes, w)
			}
		default: // all others write
			c.Writes = append(c.Writes, s.word(r.Word))
		}
	}
	return in
}

func isDescriptor(w Word) bool {
	return w.Known && strings.Trim(w.Text, "0123456789-") == ""
}

// call reads a simple command and what its words run to become words.
func (s *scope) call(cmd *syntax.CallExpr, c Command, in input) {
	for _, a := range cmd.Assigns {
		s.below(a, input{})
	}
	for _, w := range cmd.Args {
		s.substitutions(w)
	}
	if len(cmd.Args) == 0 {
		if len(c.Reads)+len(c.Writes) > 0 {
			s.reader.found = append(s.reader.found, c)
		}
		return
	}
	c.Words = s.words(cmd.Args)
	s.reader.command(c, in, s.depth)
}

// binary reads a list or a pipe.
func (s *scope) binary(cmd *syntax.BinaryCmd, in input) {
	s.stmt(cmd.X, in)
	if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
		in = s.output(cmd.X)
	}
	s.stmt(cmd.Y, in)
}

// output is what a command writes, if that is plain to see.
func (s *scope) output(st *syntax.Stmt) input {
	in := input{redirected: true}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(st.Redirs) > 0 {
		return in
	}
	words := s.words(call.Args)
	var parts []string
	for _, w := range words {
		if !w.Known || w.Glob {
			return in
		}
		parts = append(parts, w.Text)
	}
	switch {
	case parts[0] == "echo" && (len(parts) == 1 || !strings.HasPrefix(parts[1], "-") && !strings.Contains(strings.Join(parts, ""), `\`)):
		return input{redirected: true, known: true, text: strings.Join(parts[1:], " ")}
	case parts[0] == "printf" && len(parts) == 2 && !strings.ContainsAny(parts[1], `%\`):
		return input{redirected: true, known: true, text: parts[1]}
	}
	return in
}

// loop reads a for clause; its variable takes the values of its list.
func (s *scope) loop(cmd *syntax.ForClause, in input) {
	inner := *s
	if iter, ok := cmd.Loop.(*syntax.WordIter); ok {
		for _, w := range iter.Items {
			s.substitutions(w)
		}
		inner.loops = maps.Clone(s.loops)
		if inner.loops == nil {
			inner.loops = map[string][]Word{}
		}
		delete(inner.loops, iter.Name.Value)
		if values, ok := s.values(iter.Items); ok && !assignedIn(cmd.Do, iter.Name.Value) {
			inner.loops[iter.Name.Value] = values
		}
	} else {
		s.below(cmd.Loop, input{})
	}
	for _, st := range cmd.Do {
		inner.stmt(st, in)
	}
}

// values are the words of a loop's list; not ok if one of them is not known.
func (s *scope) values(items []*syntax.Word) ([]Word, bool) {
	values := s.words(items)
	for _, w := range values {
		if !w.Known {
			return nil, false
		}
	}
	return values, len(values) > 0 && len(values) <= maxWords
}

func assignedIn(body []*syntax.Stmt, name string) bool {
	inner := &scope{assigned: map[string]bool{}}
	for _, st := range body {
		inner.noteAssigned(st)
	}
	return inner.assigned[name]
}

// substitutions reads the commands that run so that a word gets its value.
func (s *scope) substitutions(w *syntax.Word) {
	if w != nil {
		s.below(w, input{})
	}
}

// below reads the statements inside a node, whatever it is.
func (s *scope) below(n syntax.Node, in input) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok {
			s.stmt(st, in)
			return false
		}
		return true
	})
}
