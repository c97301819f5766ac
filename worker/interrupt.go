package worker

// Interrupt is the body of POST /interrupt, and the data of an "interrupt"
// message. The worker ends the turn and acknowledges with [Consumed] when nothing
// of it goes on and the input is empty.
type Interrupt struct {
	RunID  string `json:"run_id"`
	Reason string `json:"reason,omitempty"`
}

// InterruptAnswer is the answer to POST /interrupt, given when the turn's end is
// confirmed or the wait is over.
type InterruptAnswer struct {
	Confirmed bool   `json:"confirmed"`
	Detail    string `json:"detail,omitempty"`
}

// Compact is the data of a "compact" message: make the context smaller now. The
// city sends it under the lock that compaction, hand-off and restart share.
type Compact struct {
	RunID  string `json:"run_id"`
	Reason string `json:"reason,omitempty"`
}
