package worker

// Interrupt is the body of POST /interrupt, and the data of an "interrupt" message. The worker ends
// the turn. It acknowledges with [Consumed] when no part of the turn continues and the input is
// empty.
type Interrupt struct {
	RunID  string `json:"run_id"`
	Reason string `json:"reason,omitempty"`
}

// InterruptAnswer is the answer to POST /interrupt. The city sends it when the end of the turn is
// confirmed or the wait has timed out.
type InterruptAnswer struct {
	Confirmed bool   `json:"confirmed"`
	Detail    string `json:"detail,omitempty"`
}

// Compact is the data of a "compact" message: the worker must make the context smaller now. At most
// one of compaction, hand-off and restart is in progress at a time.
type Compact struct {
	RunID  string `json:"run_id"`
	Reason string `json:"reason,omitempty"`
}
