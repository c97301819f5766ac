// Package guard decides whether an agent may use a tool. Rules are data; a shell
// command is judged on its syntax tree, program by program (see
// [gascity/internal/guard/shell]). It is pure: no files, no clock, no state.
//
// A call has parts: the tool itself, each program that it would run, each file that
// it names. A part gets the most severe action of the rules that fit it, else the
// default; the call gets the most severe action of its parts. Where it is unknown
// whether a rule fits, because a word depends on what happens when it runs, a rule
// that denies or asks makes it ask, and a rule that allows does nothing.
package guard

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Action is what happens to a call.
type Action string

// The actions, the mildest first.
const (
	Allow Action = "allow"
	Ask   Action = "ask" // a person decides; without an answer it is deny
	Deny  Action = "deny"
)

// severity orders actions; the empty one, no word, is below all.
func (a Action) severity() int {
	switch a {
	case "":
		return 0
	case Allow:
		return 1
	case Ask:
		return 2
	case Deny:
	}
	return 3
}

// IsValid reports whether the action is one of those above.
func (a Action) IsValid() bool { return a == Allow || a == Ask || a == Deny }

// Request is a tool that an agent wants to use.
type Request struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
	Role  string          `json:"role,omitempty"`
	Agent string          `json:"agent,omitempty"`
	Home  string          `json:"home,omitempty"` // the agent's home folder; empty is unknown
	Dir   string          `json:"dir,omitempty"`  // where it works; empty is unknown
	Now   string          `json:"now,omitempty"`  // where it says that it is now; empty is Dir
}

// Verdict is the decision on a call.
type Verdict struct {
	Action Action `json:"action"`
	Rule   string `json:"rule,omitempty"`   // the id of the rule that decided; empty is the default
	Reason string `json:"reason,omitempty"` // for the agent and for people
	Part   string `json:"part,omitempty"`   // what it is about: a command or a file; empty is the tool itself
}

// PartVerdict is what one part of a call came to.
type PartVerdict struct {
	Verdict

	// Via are the programs that it was seen through, outermost first.
	Via []string `json:"via,omitempty"`
	// Incidental says that it needs no permission of its own: no rule is about it, and
	// another part answers for it.
	Incidental bool `json:"incidental,omitempty"`
}

// Worse returns the more severe of two verdicts, the first if they are alike.
func Worse(a, b Verdict) Verdict {
	if b.Action.severity() > a.Action.severity() {
		return b
	}
	return a
}

// truth is whether something holds, as far as it can be known.
type truth int8

const (
	no    truth = iota
	maybe       // it depends on the run
	some        // in some of the cases that come one after the other
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// not returns the truth of the contrary.
func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	case maybe, some:
	}
	return t
}

// at bounds a truth.
func (t truth) at(most truth) truth { return min(t, most) }

// Decide returns the verdict on a call. It is safe for concurrent use.
func (p *Policy) Decide(req Request) Verdict {
	if known, ok := p.memo.find(&req); ok {
		return known
	}
	v := p.judge(&req, nil)
	p.memo.add(&req, v)
	return v
}

// Explain returns the verdict on a call and what each of its parts came to.
func (p *Policy) Explain(req Request) (Verdict, []PartVerdict) {
	var parts []PartVerdict
	v := p.judge(&req, func(part PartVerdict) { parts = append(parts, part) })
	return v, parts
}

// judge decides, and reports each part.
func (p *Policy) judge(req *Request, tell func(PartVerdict)) Verdict {
	view := p.viewOf(req)
	tool := view.tool(req)
	if tool.Action == Deny {
		return tool
	}
	room := p.acquireScratch()
	defer p.releaseScratch(room)
	subjects, err := room.read(req)
	if err != nil {
		return Worse(tool, Verdict{Action: Ask, Rule: RuleUnreadable, Reason: err.Error()})
	}
	fallback := tool
	if fallback.Action == "" {
		fallback = Verdict{Action: view.fallback, Reason: defaultReason(view.fallback, req.Tool)}
	}
	var verdict Verdict
	for i := range subjects {
		part := &subjects[i].part
		v := view.part(&subjects[i], req)
		incidental := v.Action == "" && part.incidental(fallback.Action)
		if v.Action == "" && !incidental {
			v = fallback
			v.Part = part.name()
		}
		v = Worse(v, part.hidden())
		if tell != nil {
			told := PartVerdict{Verdict: v, Via: part.via(), Incidental: incidental}
			told.Part = part.name()
			tell(told)
		}
		verdict = Worse(verdict, v)
	}
	if verdict.Action == "" {
		return fallback
	}
	return Worse(verdict, tool)
}

// The ids of the rules that are always there.
const (
	// RuleHidden asks about a command that runs what cannot be seen.
	RuleHidden = "hidden-command"
	// RuleUnreadable asks about a call that cannot be read.
	RuleUnreadable = "unreadable-call"
)

func defaultReason(a Action, tool string) string {
	switch a {
	case Deny:
		return fmt.Sprintf("no rule allows %s here", tool)
	case Ask:
		return fmt.Sprintf("no rule decides about %s", tool)
	case Allow:
	}
	return ""
}

// readable makes unknown parts of a word visible.
func readable(text string) string { return strings.ReplaceAll(text, "\x00", "…") }
