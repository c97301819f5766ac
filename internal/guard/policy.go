package guard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Policy is a checked and compiled [Source]. It does not change.
type Policy struct {
	source      Source
	scratchPool sync.Pool // contains *scratch
	memo        *memo
	fallback    Action
	rules       index
	none        index // empty: for an agent that no role matches
	roles       []role
}

// role contains the additional rules for one pattern of roles.
type role struct {
	pattern  string
	fallback Action
	rules    index
}

// index finds the rules that may match a part.
type index struct {
	tools    []*compiled         // rules about a whole tool
	exact    []*compiled         // rules about whole calls
	files    []*compiled         // rules about files
	named    map[string][]int    // indexes in files: rules whose paths contain a part with this name
	anywhere []int               // indexes in files: rules without such a part
	programs map[string]*program // rules about programs, by name
	others   program             // rules with a pattern of programs
}

// program contains the rules about one program.
type program struct {
	heads []head // without duplicates
	rules []*compiled
}

// add adds a rule whose command begins with the head h.
func (p *program) add(c *compiled, h head) {
	c.head = slices.IndexFunc(p.heads, func(known head) bool { return slices.Equal(known, h) })
	if c.head < 0 {
		c.head = len(p.heads)
		p.heads = append(p.heads, h)
	}
	p.rules = append(p.rules, c)
}

// compiled is a rule with its texts parsed.
type compiled struct {
	Rule
	head           int // of a rule about a command: index in program.heads
	any, all, none []term
	pathPatterns   pathPatterns
}

// RuleError is an error in a rule.
type RuleError struct {
	Set, Rule string
	Line      int // of the rule in its file; zero: unknown
	Fault     string
}

// Error returns the message for people, with the rule and its set.
func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %q of %q: %s", e.Rule, e.Set, e.Fault)
}

// DisableError reports that the id of a disabled rule does not exist.
type DisableError struct{ ID string }

// Error returns the message for people.
func (e *DisableError) Error() string {
	return fmt.Sprintf("there is no rule %q to disable", e.ID)
}

// Compile checks and compiles a source. The error joins a [*RuleError] for each error in a rule
// and a [*DisableError] for each unknown id.
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

// Default returns the action for calls that no rule matches, unless a role has another default.
func (p *Policy) Default() Action { return p.fallback }

// Disabled reports whether a rule is disabled.
func (s Source) Disabled(id string) bool { return slices.Contains(s.Disable, id) }

// Source returns the source of the policy. It must not be changed.
func (p *Policy) Source() Source { return p.source }

// builder builds the indexes of a policy.
type builder struct {
	source Source
	sets   map[string]string // the set of each rule
	faults []error
}

// build returns the index of the rules of some sets and their default action: fallback or, if that is empty, the most severe
// default of the sets.
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

// fault returns what is wrong with a rule; empty if it is valid.
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
	case len(r.Exact) > 0 && r.Action != Allow:
		return "exact is for rules that allow; deny or ask with commands or paths"
	case len(r.Exact) > 0 && len(r.Commands)+len(r.Any)+len(r.All)+len(r.None)+len(r.Paths) > 0:
		return "exact is about the whole call, so the rule can have no commands, any, all, none and paths"
	case len(r.Commands) == 0 && len(r.Any)+len(r.All)+len(r.None) > 0:
		return "any, all and none are about the words of a command, and it has no commands"
	case slices.ContainsFunc(r.Commands, func(c string) bool { return strings.TrimSpace(c) == "" }):
		return "a command is empty"
	case slices.ContainsFunc(slices.Concat(r.Any, r.All, r.None, r.Exact, r.Paths, r.Tools, r.Roles, r.Agents), func(s string) bool { return s == "" }):
		return "a pattern is empty"
	}
	return ""
}

// compile returns a rule in the form in which it is compared with calls.
func compile(r Rule) *compiled {
	c := &compiled{Rule: r}
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

// add adds a rule to the list of the index that fits its kind: tools, whole
// calls, programs or files.
func (x *index) add(c *compiled) {
	switch {
	case len(c.Exact) > 0:
		x.exact = append(x.exact, c)
	case len(c.Commands) > 0:
		for _, text := range c.Commands {
			one, h := *c, headOf(text)
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

// addFiles adds a rule about files to the index. If a pattern has a part without wildcards, every matching path contains that
// part, so the rule is found by it.
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

// about appends the indexes of the rules that may match these files to rules, and returns all of them sorted. The paths of the
// files must be known.
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

// view contains the indexes of a policy that apply to one agent.
type view struct {
	indexes  [2]*index
	fallback Action
}

// viewOf returns the rules that apply to the agent of a request: the common ones and those of its role.
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

// concerns reports whether the rule applies to the agent, its role and the tool of the request.
func (c *compiled) concerns(req *Request) bool {
	return anyGlob(c.Tools, req.Tool) && anyGlob(c.Roles, req.Role) && anyGlob(c.Agents, req.Agent)
}

// verdict returns the verdict of the rule about one part of a call. t says whether the rule matches. If that is not certain, a
// rule that allows has no verdict, and a rule that denies asks a person. name is the part's name.
func (c *compiled) verdict(t truth, name string) Verdict {
	v := Verdict{Action: c.Action, Rule: c.ID, Reason: c.Reason, Part: name}
	switch {
	case t == no, t < yes && c.Action == Allow:
		return Verdict{}
	case t == maybe && c.Action == Deny:
		v.Action, v.Reason = Ask, "it is not known before the run whether this rule applies: "+c.Reason
	}
	return v
}

// tool returns the verdict of the rules about the tool as a whole; its action is empty if no rule matches.
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
