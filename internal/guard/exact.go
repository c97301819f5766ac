package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/worker"
)

// exempt applies the rules with "exact" to the verdict on a whole call. Such a rule allows a call
// about which a person would be asked otherwise. A denial stays. The caller has
// checked that no part of the call is hidden and that it is certain which rules match.
func (v *view) exempt(req *Request, verdict Verdict) Verdict {
	if verdict.Action == Deny || verdict.Action == Allow && verdict.Rule != "" {
		return verdict
	}
	whole := ""
	for _, x := range v.indexes {
		for _, c := range x.exact {
			if !c.concerns(req) {
				continue
			}
			if whole == "" {
				if whole = wholeCall(req); whole == "" {
					return verdict
				}
			}
			if slices.Contains(c.Exact, whole) {
				return Verdict{Action: Allow, Rule: c.ID, Reason: c.Reason}
			}
		}
	}
	return verdict
}

// wholeCall returns the text that rules with "exact" are compared with: the command of a call that
// has one command and nothing else, or the file of a call that names one file. For any other call
// it returns "", so that no such rule matches.
func wholeCall(req *Request) string {
	names, fields, err := fieldsOf(req.Input)
	if err != nil {
		return ""
	}
	found := ""
	for _, name := range names {
		raw := fields[name]
		switch inputFields[plainName(name)] {
		case otherField:
			if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
				return "" // it may contain a command
			}
			continue
		case scriptField, fileField:
		case scriptsField, wordsField, folderField, patchField:
			return ""
		}
		one := text(raw)
		if one == "" || found != "" {
			return ""
		}
		found = one
	}
	return found
}

// AlwaysAllow returns the rule that allows a call of an agent from now on: the same tool, with
// exactly the same command or file. The ID depends on these alone. The error says why no such rule
// has this effect.
func (r *CityRules) AlwaysAllow(agent string, c worker.Call) (Rule, error) {
	if !r.on {
		return Rule{}, errors.New("city.toml has no [guard], so no rules are in force")
	}
	req := r.requestOf(agent, c)
	whole := wholeCall(&req)
	if whole == "" {
		return Rule{}, errors.New("the call is not a single command and does not concern a single file, so no rule can name it exactly")
	}
	sum := sha256.Sum256([]byte(agent + "\x00" + c.Tool + "\x00" + whole))
	rule := Rule{
		ID: "always-" + hex.EncodeToString(sum[:6]), Action: Allow, Reason: "a person chose to allow this call always",
		Tools: []string{literal(c.Tool)}, Agents: []string{literal(agent)}, Exact: []string{whole},
	}
	sheet := r.policy.Source()
	if ruleIDs(sheet)[rule.ID] {
		return Rule{}, fmt.Errorf("the rule %s exists already, and has no effect on this call", rule.ID)
	}
	sheet.Sets = append(slices.Clone(sheet.Sets), Set{Name: "always", Rules: []Rule{rule}})
	trial, err := Compile(sheet)
	if err != nil {
		return Rule{}, err
	}
	switch v := trial.Decide(req); {
	case v.Action == Deny:
		return Rule{}, fmt.Errorf("the rule %s denies the call", v.Rule)
	case v.Action == Ask:
		return Rule{}, errors.New("no rule can allow the call always, because what it does is known only when it runs")
	case v.Rule != rule.ID:
		return Rule{}, fmt.Errorf("the rule %s allows the call already", v.Rule)
	}
	return rule, nil
}

// literal returns a pattern that matches exactly the given text.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`).Replace(text)
}

// Explain returns the verdict on a call of an agent, and the verdict on each of its parts.
func (r *CityRules) Explain(agent string, c worker.Call) (Verdict, []PartVerdict) {
	return r.policy.Explain(r.requestOf(agent, c))
}
