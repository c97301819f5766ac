package guard

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// Policy is a checked sheet, ready to decide. It does not change.
type Policy struct {
	fallback Action
	rules    index
	roles    []role
}

type role struct {
	pattern  string
	fallback Action
	rules    index
}

// index finds the rules that may be about a call quickly.
type index struct {
	tools    []*compiled            // about a tool as a whole
	files    []*compiled            // about files
	programs map[string][]*compiled // about a program, by its name
	others   []*compiled            // about programs by a pattern
}

// compiled is a rule with its texts taken apart.
type compiled struct {
	Rule
	heads          []head
	any, all, none []term
	places         []place
}

// RuleError is a fault of a rule. It names the rule and the remedy.
type RuleError struct {
	Set, Rule string
	Fault     string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %q of %q: %s", e.Rule, e.Set, e.Fault)
}

// Compile checks a sheet. The error joins a [*RuleError] for each fault.
func Compile(sheet Sheet) (*Policy, error) {
	var faults []error
	seen := map[string]string{}
	build := func(sets []Set, fallback Action) (index, Action) {
		var out index
		for _, set := range sets {
			fallback = cmp.Or(fallback, set.Default)
			for _, rule := range set.Rules {
				if slices.Contains(sheet.Disable, rule.ID) {
					continue
				}
				if err := check(set, rule, seen); err != nil {
					faults = append(faults, err)
					continue
				}
				out.add(compile(rule))
			}
		}
		return out, fallback
	}
	p := &Policy{}
	p.rules, p.fallback = build(sheet.Sets, sheet.Default)
	p.fallback = cmp.Or(p.fallback, Allow)
	for _, r := range sheet.Roles {
		one := role{pattern: r.Role}
		one.rules, one.fallback = build(r.Sets, r.Default)
		p.roles = append(p.roles, one)
	}
	return p, errors.Join(faults...)
}

// check returns the fault of a rule.
func check(set Set, r Rule, seen map[string]string) error {
	fault := ""
	switch where := seen[r.ID]; {
	case r.ID == "":
		fault = "it has no id"
	case where != "" && where != set.Name:
		fault = fmt.Sprintf("another rule of that id is in %q", where)
	case !r.Action.Known():
		fault = fmt.Sprintf("action %q is none of allow, ask, deny", r.Action)
	case r.Access != "" && r.Access != Read && r.Access != Write:
		fault = fmt.Sprintf("access %q is neither read nor write", r.Access)
	case r.Access != "" && len(r.Paths) == 0:
		fault = "access says how files are used, and it has no paths"
	case len(r.Commands) == 0 && len(r.Any)+len(r.All)+len(r.None) > 0:
		fault = "any, all and none are about the words of a command, and it has no commands"
	case slices.ContainsFunc(r.Commands, func(c string) bool { return strings.TrimSpace(c) == "" }):
		fault = "a command is empty"
	case slices.Contains(r.Paths, ""):
		fault = "a path is empty"
	}
	if fault != "" {
		return &RuleError{Set: set.Name, Rule: r.ID, Fault: fault}
	}
	seen[r.ID] = set.Name
	return nil
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
		c.places = append(c.places, placeOf(text))
	}
	return c
}

func (x *index) add(c *compiled) {
	switch {
	case len(c.heads) > 0:
		for i, h := range c.heads {
			one := *c
			one.heads = c.heads[i : i+1]
			if strings.ContainsAny(h[0], "*?") {
				x.others = append(x.others, &one)
				continue
			}
			if x.programs == nil {
				x.programs = map[string][]*compiled{}
			}
			x.programs[h[0]] = append(x.programs[h[0]], &one)
		}
	case len(c.places) > 0:
		x.files = append(x.files, c)
	default:
		x.tools = append(x.tools, c)
	}
}

// view is the part of a policy that is about one agent.
type view struct {
	indexes  [2]*index
	fallback Action
}

func (p *Policy) viewOf(req Request) view {
	v := view{indexes: [2]*index{&p.rules, {}}, fallback: p.fallback}
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
func (c *compiled) concerns(req Request) bool {
	return anyGlob(c.Tools, req.Tool) && anyGlob(c.Roles, req.Role) && anyGlob(c.Agents, req.Agent)
}

// verdict is what a rule that holds so far comes to.
func (c *compiled) verdict(t truth, name string) Verdict {
	v := Verdict{Action: c.Action, Rule: c.ID, Reason: c.Reason, Part: name}
	switch {
	case t == no, t == maybe && c.Action == Allow:
		return Verdict{}
	case t == maybe && c.Action == Deny:
		v.Action, v.Reason = Ask, "it cannot be told beforehand whether this applies: "+c.Reason
	}
	return v
}

// tool is the verdict on the tool as a whole; without an action if no rule is about it.
func (v view) tool(req Request) Verdict {
	var verdict Verdict
	for _, x := range v.indexes {
		for _, c := range x.tools {
			if c.concerns(req) {
				verdict = worse(verdict, c.verdict(yes, ""))
			}
		}
	}
	return verdict
}

// part is the verdict on a part; without an action if no rule is about it.
func (v view) part(p *part, req Request) Verdict {
	f := facts{req: req, part: p}
	if req.Home != "" {
		f.home = strings.Split(strings.Trim(req.Home, "/"), "/")
	}
	if p.file != nil {
		f.files = []file{fileOf(*p.file, req)}
	} else {
		f.files = argumentsOf(p.command, req)
	}
	for _, x := range v.indexes {
		if p.command != nil {
			for _, c := range x.about(p.command) {
				f.consider(c, c.command(&f))
			}
			for _, c := range x.others {
				f.consider(c, c.command(&f))
			}
		}
		for _, c := range x.files {
			f.consider(c, c.names(&f, p.access, p.command != nil))
		}
	}
	if p.command != nil && p.command.Hidden != "" {
		f.verdict = worse(f.verdict, Verdict{Action: Ask, Rule: RuleHidden, Reason: p.command.Hidden, Part: p.name()})
	}
	return f.verdict
}

// facts are what is known of one part while rules are held against it.
type facts struct {
	req     Request
	part    *part
	files   []file
	home    []string
	verdict Verdict
}

// consider adds what a rule comes to.
func (f *facts) consider(c *compiled, t truth) {
	if t != no && c.concerns(f.req) {
		f.verdict = worse(f.verdict, c.verdict(t, f.part.name()))
	}
}

// argumentsOf are the words of a command that may name files.
func argumentsOf(c *shell.Command, req Request) []file {
	var files []file
	for i, w := range c.Words {
		if i > 0 && (!isOption(w) || strings.Contains(w.Text, "=")) {
			files = append(files, fileOf(w, req))
		}
	}
	return files
}

// about returns the rules about a command's program; all of them where that is not
// known.
func (x *index) about(c *shell.Command) []*compiled {
	if len(c.Words) == 0 || len(x.programs) == 0 {
		return nil
	}
	if c.Words[0].Known {
		return x.programs[path.Base(c.Words[0].Text)]
	}
	var all []*compiled
	for _, rules := range x.programs {
		all = append(all, rules...)
	}
	return all
}

// command says whether a rule about commands is about this one.
func (c *compiled) command(f *facts) truth {
	cmd := f.part.command
	t, words := c.heads[0].begins(cmd)
	if t == no {
		return no
	}
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
		t = min(t, yes-term.among(words, cmd.More))
	}
	if len(c.places) > 0 && t != no {
		found := c.names(f, "", true)
		if cmd.More {
			found = max(found, maybe)
		}
		t = min(t, found)
	}
	return t
}

// names says whether one of the files is one of the rule's. How a program uses its
// arguments is not known: a rule about writing needs one that is known.
func (c *compiled) names(f *facts, access Access, arguments bool) truth {
	if c.Access != "" && access != "" && c.Access != access {
		return no
	}
	t := no
	for _, file := range f.files {
		for _, p := range c.places {
			t = max(t, p.holds(file, f.home))
		}
	}
	if t == maybe && arguments && c.Access == Write {
		return no
	}
	return t
}
