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
		{BudgetExceeded, "a budget is used up, and its act applies; a controller that starts later reports it again", []Datum{
			name, who,
			{"act", "warn, hold, interrupt or stop"},
			{"measure", "tokens, usd, turns or time"},
			{"used", "how much is known to be used"},
			{"limit", "the limit of the budget"},
			{"unknown", "why the real use may be greater"},
			{"until", "when the budget is free again if there is no more usage, RFC 3339; absent: never by itself"},
		}},
		{BudgetReleased, "a budget is not used up any more", []Datum{name, who}},
		{BudgetLifted, "a person reset a budget", []Datum{name, who}},
	}
}
