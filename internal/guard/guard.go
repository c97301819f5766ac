// Package guard decides whether an agent may use a tool. Rules are data. A shell command is
// parsed, and each program in it is checked (see [gascity/internal/guard/shell]). A [Policy] is
// pure: it uses no files, no clock and no state.
//
// A call has parts: the tool itself, each program that it would run, each file that it names. A
// part gets the most severe action of the rules that match it, else the default. The call gets the
// most severe action of its parts. If it is unknown whether a rule matches, because a word is
// known only when the command runs, a rule that denies or asks results in ask, and a rule that
// allows has no effect. Last, a rule with exact allows a whole call that would otherwise be asked
// about.
//
// [CityRules] are the rules of a city's configuration. An [Evaluator] decides by them, and records
// the decided calls in the audit log.
package guard

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Action is the result of a decision about a call.
type Action string

// The actions, the mildest first.
const (
	Allow Action = "allow"
	Ask   Action = "ask" // a person decides; without an answer the call is denied
	Deny  Action = "deny"
)

// severity returns a number for comparing actions: the more severe, the greater. The empty action
// has 0.
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

// IsValid reports whether the action is allow, ask or deny.
func (a Action) IsValid() bool { return a == Allow || a == Ask || a == Deny }

// Request is a tool call that an agent wants to make.
type Request struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
	Role  string          `json:"role,omitempty"`
	Agent string          `json:"agent,omitempty"`
	Home  string          `json:"home,omitempty"` // the agent's home directory; empty: unknown
	Dir   string          `json:"dir,omitempty"`  // the agent's working directory; empty: unknown
	Now   string          `json:"now,omitempty"`  // the current directory that the agent reports; empty: Dir
}

// Verdict is the decision on a call.
type Verdict struct {
	Action Action `json:"action"`
	Rule   string `json:"rule,omitempty"`   // the id of the rule that decided; empty: the default
	Reason string `json:"reason,omitempty"` // for the agent and for people
	Part   string `json:"part,omitempty"`   // the command or file that decided; empty: the tool itself
}

// PartVerdict is the verdict on one part of a call.
type PartVerdict struct {
	Verdict

	// Via contains the programs that run the part, outermost first.
	Via []string `json:"via,omitempty"`
	// Incidental is true if the part needs no permission of its own: no rule matches it, and
	// another part covers it.
	Incidental bool `json:"incidental,omitempty"`
	// File is true for a file that the call uses, and false for a program that it runs.
	File bool `json:"file,omitempty"`
	// Access states how the call uses the file; empty: unknown.
	Access Access `json:"access,omitempty"`
}

// Worse returns the more severe of two verdicts, the first if they are equally severe.
func Worse(a, b Verdict) Verdict {
	if b.Action.severity() > a.Action.severity() {
		return b
	}
	return a
}

// truth states whether something is true, as far as it can be known before the command runs.
type truth int8

const (
	no    truth = iota
	maybe       // it is known only when the command runs
	some        // true for some of the values that the command certainly uses
	yes
)

// truthOf returns yes for true and no for false.
func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// not returns the opposite truth; what is uncertain stays uncertain.
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

// Decide returns the verdict on a call. It is safe for concurrent use.
func (p *Policy) Decide(req Request) Verdict {
	if known, ok := p.memo.find(&req); ok {
		return known
	}
	v := p.judge(&req, nil)
	p.memo.add(&req, v)
	return v
}

// Explain returns the verdict on a call and the verdict on each of its parts.
func (p *Policy) Explain(req Request) (Verdict, []PartVerdict) {
	var parts []PartVerdict
	v := p.judge(&req, func(part PartVerdict) { parts = append(parts, part) })
	return v, parts
}

// judge computes the verdict on a call. If report is not nil, it is called with the verdict on each
// part.
func (p *Policy) judge(req *Request, report func(PartVerdict)) Verdict {
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
	sure := true
	for i := range subjects {
		part := &subjects[i].part
		v, certain := view.part(&subjects[i], req)
		incidental := v.Action == "" && part.incidental(fallback.Action)
		if v.Action == "" && !incidental {
			v = fallback
			v.Part = part.name()
		}
		hidden := part.hidden()
		sure = sure && certain && hidden.Action == ""
		v = Worse(v, hidden)
		if report != nil {
			result := PartVerdict{Verdict: v, Via: part.via(), Incidental: incidental, File: part.file != nil, Access: part.access}
			result.Part = part.name()
			report(result)
		}
		verdict = Worse(verdict, v)
	}
	if verdict.Action == "" {
		verdict = fallback
	} else {
		verdict = Worse(verdict, tool)
	}
	if sure {
		return view.exempt(req, verdict)
	}
	return verdict
}

// The ids of the rules that always apply.
const (
	// RuleHidden asks about a command that runs something that the guard cannot see.
	RuleHidden = "hidden-command"
	// RuleUnreadable asks about a call that the guard cannot read.
	RuleUnreadable = "unreadable-call"
)

// defaultReason returns the reason text for a default action.
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

// readable returns a word for people, with "…" in place of the parts that are not known.
func readable(text string) string { return strings.ReplaceAll(text, "\x00", "…") }
