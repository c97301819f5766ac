package shell

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// value is the value of a variable.
type value struct {
	words []Word // one word, unless the variable is an array
	array bool
}

// maxValue is the maximum length of a variable's value that is tracked.
const maxValue = 4096

// scriptSurvey states what a script does to its variables anywhere.
type scriptSurvey struct {
	sets   map[string]int // how often each variable is set
	opaque bool           // the script may set any variable
	moves  bool           // the script may change its working directory
}

// surveyed is a script that is surveyed at the first call of get.
type surveyed struct {
	node syntax.Node
	done *scriptSurvey
}

// get returns the survey of the script, which is made at the first call.
func (s *surveyed) get() *scriptSurvey {
	if s.done == nil {
		s.done = survey(s.node)
	}
	return s.done
}

// survey counts how often each variable is set in a script. The guard uses the value of a variable
// only if it is set exactly once, before its use and on every path to it.
func survey(n syntax.Node) *scriptSurvey {
	s := &scriptSurvey{sets: map[string]int{}}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			s.assign(n)
		case *syntax.WordIter:
			s.sets[n.Name.Value]++
		case *syntax.CoprocClause:
			s.opaque = true
		case *syntax.Redirect:
			if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
				s.sets[strings.Trim(n.N.Value, "{}")] += 2
			}
		case *syntax.ParamExp:
			if n.Exp != nil && n.Param != nil { // ${x:=y}
				s.sets[n.Param.Value] += 2
			}
			if n.Excl {
				s.opaque = true
			}
		case *syntax.CallExpr: // read, mapfile, printf -v, getopts, unset and let set variables by name
			s.call(n)
		case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause:
			s.arithmetic(n)
		}
		return true
	})
	return s
}

// assign counts an assignment. An assignment to an unknown name may set any variable.
func (s *scriptSurvey) assign(a *syntax.Assign) {
	switch {
	case a.Name == nil:
		if a.Value == nil || !strings.HasPrefix(a.Value.Lit(), "-") || strings.Contains(a.Value.Lit(), "n") {
			s.opaque = true // declare "$x", declare -n
		}
	case a.Naked:
	case a.Append, a.Index != nil:
		s.sets[a.Name.Value] += 2
	default:
		s.sets[a.Name.Value]++
	}
}

// setters contains the builtins that set the variables which their words name.
var setters = map[string]bool{
	"read": true, "mapfile": true, "readarray": true, "printf": true, "getopts": true, "unset": true, "let": true, "wait": true,
	"declare": true, "typeset": true, "local": true, "export": true, "readonly": true, "integer": true, "set": true,
}

// call counts the variables that a command may set, such as read, and records whether it may change
// the working directory.
func (s *scriptSurvey) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	program := strings.ReplaceAll(c.Args[0].Lit(), `\`, "")
	switch program {
	case "cd", "pushd", "popd", "chdir":
		s.moves = true
	case "", "eval", "source", ".", "trap", "enable", "builtin", "command", "alias":
		s.opaque = true // the command may set any variable
	}
	for _, w := range c.Args[1:] {
		text, _, _ := strings.Cut(w.Lit(), "=")
		if syntax.ValidName(text) {
			s.sets[text] += 2
		} else if setters[program] && w.Lit() == "" {
			s.opaque = true
		}
	}
}

// arithmetic counts each name in an arithmetic expression as set twice, which makes its value
// unknown.
func (s *scriptSurvey) arithmetic(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
			s.sets[w.Lit()] += 2
		}
		return true
	})
}

// set records the value that an assignment gives to a variable, if the variable is set only here
// and on every path.
func (s *scope) set(a *syntax.Assign) {
	if a.Name == nil || a.Naked || !s.runsOnce || s.script.get().opaque || s.script.get().sets[a.Name.Value] != 1 {
		return
	}
	v := value{array: a.Array != nil}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil || e.Value == nil {
				return
			}
			v.words = append(v.words, s.words([]*syntax.Word{e.Value})...)
		}
	} else {
		w := s.word(a.Value)
		w.Glob = false // the shell does not expand patterns in an assignment
		v.words = []Word{w}
	}
	size := 0
	for _, w := range v.words {
		if size += len(w.Text); !w.Known || w.Glob || size > maxValue {
			return
		}
	}
	if s.values == nil {
		s.values = map[string]value{}
	} else {
		s.values = maps.Clone(s.values)
	}
	s.values[a.Name.Value] = v
}

// value returns the value of a variable as text. ok is false if it is not known without running the
// script.
func (s *scope) value(p *syntax.ParamExp) (string, bool) {
	if !plain(p) {
		return "", false
	}
	name := p.Param.Value
	if name == "HOME" && s.reader.opts.Home != "" && s.script.get().sets[name] == 0 && !s.script.get().opaque {
		return s.reader.opts.Home, true
	}
	if name == "PWD" && s.reader.opts.Dir != "" && s.script.get().sets[name] == 0 && !s.script.get().opaque && !s.script.get().moves {
		return s.reader.opts.Dir, true
	}
	v, ok := s.values[name]
	if !ok || v.array {
		return "", false
	}
	return v.words[0].Text, true
}

// fields returns the words that a variable stands for, if the whole word w is the variable. ok is
// false if they are not known.
func (s *scope) fields(w *syntax.Word) ([]Word, bool) {
	if len(s.values) == 0 {
		return nil, false
	}
	part, quoted := single(w)
	p, ok := part.(*syntax.ParamExp)
	if !ok || !simple(p) || s.script.get().sets["IFS"] > 0 {
		return nil, false
	}
	v, ok := s.values[p.Param.Value]
	if !ok {
		return nil, false
	}
	switch index, _ := p.Index.(*syntax.Word); {
	case v.array != (p.Index != nil):
		return nil, false
	case v.array && (index == nil || index.Lit() != "@" && (index.Lit() != "*" || quoted)):
		return nil, false
	case quoted:
		return v.words, true
	}
	var out []Word
	for _, w := range v.words {
		for field := range strings.FieldsSeq(w.Text) {
			out = append(out, Word{Text: field, Known: true, Glob: strings.ContainsAny(field, "*?[")})
		}
	}
	return out, true
}
