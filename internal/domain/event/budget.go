package event

// The kinds of events about budgets.
const (
	BudgetExceeded Kind = "budget.exceeded"
	BudgetReleased Kind = "budget.released"
	BudgetLifted   Kind = "budget.lifted"
)

func budgetKinds() []KindInfo {
	name, who := Datum{"budget", "its name"}, Datum{"who", "the session or agent; absent: the city"}
	return []KindInfo{
		{BudgetExceeded, "a budget is used up, and its act is in force; reported again by a controller that starts meanwhile", []Datum{
			name, who,
			{"act", "warn, hold, interrupt or stop"},
			{"measure", "tokens, usd, turns or time"},
			{"used", "how much, as far as it is known"},
			{"limit", "how much there is"},
			{"unknown", "why it may be more"},
			{"until", "when it is over if nothing more is spent, RFC 3339; absent: not by itself"},
		}},
		{BudgetReleased, "a budget is not used up any more", []Datum{name, who}},
		{BudgetLifted, "a person reset a budget", []Datum{name, who}},
	}
}
