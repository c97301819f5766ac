package event

// The kinds of events about budgets.
const (
	BudgetExceeded Kind = "budget.exceeded"
	BudgetReleased Kind = "budget.released"
	BudgetLifted   Kind = "budget.lifted"
)
