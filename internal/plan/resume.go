package plan

// Resume says how an agent's conversation is chosen and continued.
type Resume struct{}
