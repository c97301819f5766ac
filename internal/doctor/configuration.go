package doctor

import (
	"gascity/client"
)

// permissions reports which agents run their tools without asking.
func (x *examination) permissions() {
	const check = "permissions"
	words := x.r.UnaskedText()
	switch {
	case words == "":
	case x.r.Rules.Guarded():
		x.ok(check, "%s", words)
	default:
		x.warn(check, words, x.r.AskingRemedy())
	}
}

// guarded reports whether tools are guarded. A city without a guard is not an error.
func (x *examination) guarded() {
	if !x.r.Rules.Guarded() {
		x.ok("guard", "%s has no [guard]: agents may use every tool", client.CityFile)
		return
	}
	x.ok("guard", "%d rules; for a call that no rule matches: %s", x.r.Rules.Count(), x.r.Rules.Policy().Default())
}
