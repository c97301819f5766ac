package guard

import (
	"encoding/json"

	"gascity/client"
)

// CheckCall returns the verdict on a call and on its parts, in the form of the control API. A nil
// policy is that of a city without a guard.
func CheckCall(p *Policy, req Request) client.GuardCheck {
	out := client.GuardCheck{Guarded: p != nil, Role: req.Role, Agent: req.Agent, Parts: []client.GuardPart{}}
	if p == nil {
		out.GuardVerdict = client.GuardVerdict{Action: string(Allow), Reason: "city.toml has no [guard]: everything is allowed"}
		return out
	}
	verdict, parts := p.Explain(req)
	out.GuardVerdict = verdict.wire()
	for _, part := range parts {
		out.Parts = append(out.Parts, client.GuardPart{GuardVerdict: part.wire(), Via: part.Via, Incidental: part.Incidental})
	}
	return out
}

// wire converts the verdict to the form of the control API.
func (v Verdict) wire() client.GuardVerdict {
	return client.GuardVerdict{Action: string(v.Action), Rule: v.Rule, Reason: v.Reason, Part: v.Part}
}

// ShellInput returns the input of [ShellTool] that runs a script.
func ShellInput(script string) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"command": script}) // a map of texts is always valid
	return raw
}
