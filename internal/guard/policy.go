package guard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Policy is a checked sheet, ready to decide. It does not change.
type Policy struct {
	source      Source
	scratchPool sync.Pool // of *room
	memo        *memo
	fallback    Action
	rules       index
	none        index // of an agent without a role of its own
	roles       []role
}

type role struct {
	pattern  string
	fallback Action
	rules    index
}

// index finds the rules that may be about a call quickly.
type index struct {
	tools    []*compiled         // about a tool as a whole
	files    []*compiled         // about files
	named    map[string][]int    // of files: those about a file or a folder of that name
	anywhere []int               // of files: those that no name shows
	programs map[string]*program // about a program, by its name
	others   program             // about programs by a pattern
}

// program are the rules about one program.
type program struct {
	heads []head // each once
	rules []*compiled
}

func (p *program) add(c *compiled, h head) {
	c.head = slices.IndexFunc(p.heads, func(known head) bool { return slices.Equal(known, h) })
	if c.head < 0 {
		c.head = len(p.heads)
		p.heads = append(p.heads, h)
	}
	p.rules = append(p.rules, c)
}

// compiled is a rule with its texts taken apart.
type compiled struct {
	Rule
	heads          []head
	head           int // in its program
	any, all, none []term
	pathPatterns   pathPatterns
}

// RuleError is a fault of a rule. It names the rule and the remedy.
type RuleError struct {
	Set, Rule string
	Line      int // of the rule in its file; zero is not known
	Fault     string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %q of %q: %s", e.Rule, e.Set, e.Fault)
}

// DisableError is the id of a rule that is not wanted, and that is not there.
type DisableError struct{ ID string }

func (e *DisableError) Error() string {
	return fmt.Sprintf("there is no rule %q to disable", e.ID)
}

// Compile checks a sheet. The error joins a [*RuleError] for each fault, and a
// [*DisableError] for each unknown id.
func Compile(sheet Source) (*Policy, error) {
	b := builder{source: sheet, sets: map[string]string{}}
	p := &Policy{source: sheet, memo: newMemo()}
	p.rules, p.fallback = b.build(sheet.Sets, sheet.Default)
	p.fallback = cmp.Or(p.fallback, Allow)
	for _, r := range sheet.Roles {
		one := role{pattern: r.Role}
		one.rules, one.fallback = b.build(r.Sets, r.Default)
		p.roles = append(p.roles, one)
	}
	for _, id := range sheet.Disable {
		if _, ok := b.sets[id]; !ok {
			b.faults = append(b.faults, &DisableError{id})
		}
	}
	if err := errors.Join(b.faults...); err != nil {
		return nil, err
	}
	return p, nil
}

// Default returns what happens to what no rule is about, if no role says otherwise.
func (p *Policy) Default() Action { return p.fallback }

// Disabled reports whether a rule is not wanted.
func (s Source) Disabled(id string) bool { return slices.Contains(s.Disable, id) }

// Source returns what the policy was made from. It must not be changed.
func (p *Policy) Source() Source { return p.source }

// builder makes the indexes of a policy.
type builder struct {
	source Source
	sets   map[string]string // the set of each rule
	faults []error
}

// build makes the index of some sets. Without a default of its own it has the most
// severe one of the sets.
func (b *builder) build(sets []Set, fallback Action) (index, Action) {
	var out index
	severest := Action("")
	for _, set := range sets {
		if set.Default != "" && !set.Default.IsValid() {
			b.faults = append(b.faults, &RuleError{Set: set.Name, Fault: fmt.Sprintf("default %q is not one of allow, ask, deny", set.Default)})
		}
		if set.Default.severity() > severest.severity() {
			severest = set.Default
		}
		here := map[string]bool{}
		for _, rule := range set.Rules {
			fault := b.fault(set, rule)
			if here[rule.ID] && rule.ID != "" {
				fault = "another rule of the set has that id"
			}
			here[rule.ID] = true
			switch {
			case fault != "":
				b.faults = append(b.faults, &RuleError{Set: set.Name, Rule: rule.ID, Line: rule.Line, Fault: fault})
			case !slices.Contains(b.source.Disable, rule.ID):
				out.add(compile(rule))
			}
			b.sets[rule.ID] = set.Name
		}
	}
	return out, cmp.Or(fallback, severest)
}

// fault returns what is wrong with a rule.
func (b *builder) fault(set Set, r Rule) string {
	switch where := b.sets[r.ID]; {
	case r.ID == "":
		return "it has no id"
	case where != "" && where != set.Name:
		return fmt.Sprintf("another rule of that id is in %q", where)
	case !r.Action.IsValid():
		return fmt.Sprintf("action %q is not one of allow, ask, deny", r.Action)
	case r.Access != "" && r.Access != Read && r.Access != Write:
		return fmt.Sprintf("access %q is neither read nor write", r.Access)
	case r.Access != "" && len(r.Paths) == 0:
		return "access says how files are used, and it has no paths"
	case len(r.Commands) == 0 && len(r.Any)+len(r.All)+len(r.None) > 0:
		return "any, all and none are about the words of a command, and it has no commands"
	case slices.ContainsFunc(r.Commands, func(c string) bool { return strings.TrimSpace(c) == "" }):
		return "a command is empty"
	case slices.ContainsFunc(slices.Concat(r.Any, r.All, r.None, r.Paths, r.Tools, r.Roles, r.Agents), func(s string) bool { return s == "" }):
		return "a pattern is empty"
	}
	return ""
}

func compile(r Rule) *compiled {
	c := &compiled{Rule: r}
	for _, text := range r.Commands {
		c.heads = append(c.heads, headOf(text))
	}
	for _, group := range []struct {
		texts []string
		terms *[]term
	}{{r.Any, &c.any}, {r.All, &c.all}, {r.None, &c.none}} {
		for _, text := range group.texts {
			*group.terms = append(*group.terms, termOf(text))
		}
	}
	for _, text := range r.Paths {
		c.pathPatterns = append(c.pathPatterns, parsePathPattern(text))
	}
	return c
}

func (x *index) add(c *compiled) {
	switch {
	case len(c.heads) > 0:
		for i, h := range c.heads {
			one := *c
			one.heads = c.heads[i : i+1]
			if strings.ContainsAny(h[0], "*?\\") {
				x.others.add(&one, h)
				continue
			}
			if x.programs == nil {
				x.programs = map[string]*program{}
			}
			if x.programs[h[0]] == nil {
				x.programs[h[0]] = new(program)
			}
			x.programs[h[0]].add(&one, h)
		}
	case len(c.pathPatterns) > 0:
		x.addFiles(c)
	default:
		x.tools = append(x.tools, c)
	}
}

// addFiles takes up a rule about files. A name of a place that has no wildcard must
// be among those of every file there.
func (x *index) addFiles(c *compiled) {
	at := len(x.files)
	x.files = append(x.files, c)
	for _, p := range c.pathPatterns {
		name := p.named
		switch {
		case name == "" && !slices.Contains(x.anywhere, at):
			x.anywhere = append(x.anywhere, at)
		case name != "" && !slices.Contains(x.named[name], at):
			if x.named == nil {
				x.named = map[string][]int{}
			}
			x.named[name] = append(x.named[name], at)
		}
	}
}

// about appends the rules that may be about files, which are all certain, in
// their order.
func (x *index) about(rules []int, files []file) []int {
	rules = append(rules, x.anywhere...)
	for i := range files {
		for _, name := range files[i].parts {
			rules = append(rules, x.named[name]...)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// view is the part of a policy that is about one agent.
type view struct {
	indexes  [2]*index
	fallback Action
}

func (p *Policy) viewOf(req *Request) view {
	v := view{indexes: [2]*index{&p.rules, &p.none}, fallback: p.fallback}
	for i := range p.roles {
		r := &p.roles[i]
		if glob(r.pattern, req.Role) || glob(r.pattern, req.Agent) {
			v.indexes[1], v.fallback = &r.rules, cmp.Or(r.fallback, v.fallback)
			break
		}
	}
	return v
}

// concerns reports whether a rule is about this agent and tool.
func (c *compiled) concerns(req *Request) bool {
	return anyGlob(c.Tools, req.Tool) && anyGlob(c.Roles, req.Role) && anyGlob(c.Agents, req.Agent)
}

// verdict returns what a rule that holds so far comes to.
func (c *compiled) verdict(t truth, name string) Verdict {
	v := Verdict{Action: c.Action, Rule: c.ID, Reason: c.Reason, Part: name}
	switch {
	case t == no, t < yes && c.Action == Allow:
		return Verdict{}
	case t == maybe && c.Action == Deny:
		v.Action, v.Reason = Ask, "it cannot be decided beforehand whether this applies: "+c.Reason
	}
	return v
}

// tool returns the verdict on the tool as a whole; without an action if no rule is about it.
func (v *view) tool(req *Request) Verdict {
	var verdict Verdict
	for _, x := range v.indexes {
		for _, c := range x.tools {
			if c.concerns(req) {
				verdict = Worse(verdict, c.verdict(yes, ""))
			}
		}
	}
	return verdict
}
