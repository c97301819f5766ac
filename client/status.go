package client

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"time"
)

// Status is a summary of a city. The controller keeps it as a snapshot, so reading it causes no
// work for each session.
type Status struct {
	City       string     `json:"city"`
	Root       string     `json:"root"`
	Controller Controller `json:"controller"`
	Plan       PlanState  `json:"plan"`
	Agents     []Agent    `json:"agents"`
	At         time.Time  `json:"at"`                // time of the snapshot
	Burn       *Burn      `json:"burn,omitempty"`    // nil if nothing was spent recently
	Budgets    []Budget   `json:"budgets,omitempty"` // exceeded budgets
}

// Controller is the controller process of the city.
type Controller struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Degraded  string    `json:"degraded,omitempty"` // why the controller stops and starts nothing; empty if it works normally
	Notices   []string  `json:"notices,omitempty"`  // problems since the start of the controller that a person should know, such as a lost store
	Stopping  bool      `json:"stopping,omitempty"`
	// Stuck: the stop of the city has ended, and something could not be stopped. The controller
	// keeps running for another stop; the next start replaces it.
	Stuck bool `json:"stuck,omitempty"`
	// SearchPath is the PATH in which the controller searches for the programs of agents.
	SearchPath string `json:"search_path,omitempty"`
}

// PlanState reports whether the configuration on disk is active.
type PlanState struct {
	LoadedAt time.Time `json:"loaded_at"`
	Error    string    `json:"error,omitempty"` // why the last change of the file was not applied; the previous configuration stays active
}

// Agent is one configured agent and its session.
type Agent struct {
	Name      string    `json:"name"`    // the agent's qualified name
	Session   string    `json:"session"` // the session's name
	Provider  string    `json:"provider"`
	Desired   string    `json:"desired"` // one of the Desired constants
	State     string    `json:"state"`   // the session's lifecycle, see the states below
	Activity  Activity  `json:"activity"`
	Reason    string    `json:"reason,omitempty"`
	PID       int       `json:"pid,omitempty"`
	Attached  int       `json:"attached"` // number of attached terminals; -1 if the provider does not know it
	StartedAt time.Time `json:"started_at,omitzero"`
	ActiveAt  time.Time `json:"active_at,omitzero"` // time of the last output
	NextAt    time.Time `json:"next_at,omitzero"`   // when the controller tries again
	Restarts  int       `json:"restarts"`           // number of starts after the first, without requested ones
	Epoch     uint64    `json:"epoch,omitempty"`    // number of instances of this agent so far
	Pending   int       `json:"pending,omitempty"`
	Queued    int       `json:"queued,omitempty"`   // number of waiting prompts
	Warning   string    `json:"warning,omitempty"`  // problem of the last start, although the agent runs
	Exit      string    `json:"exit,omitempty"`     // how the last instance exited
	Instance  string    `json:"instance,omitempty"` // public hash of the instance token, never the token
	Drift     []string  `json:"drift,omitempty"`    // configuration fields that have changed since its start
	ReadAt    time.Time `json:"read_at,omitzero"`   // when the session was last observed
	Burn      *Burn     `json:"burn,omitempty"`     // nil if it spent nothing recently
	Held      string    `json:"held,omitempty"`     // why it gets no new prompts although it could accept them: a budget, its guard
	// Guard is "guarded", "unguarded" (its worker has not shown that it asks before it uses a tool)
	// or "bypassed" (a tool ran although it was denied). It is empty if the city has no guard or
	// the agent does not run.
	Guard       string `json:"guard,omitempty"`
	GuardDetail string `json:"guard_detail,omitempty"`
	// InputBlocked describes the text in the agent's input box, while that may be text of an
	// earlier delivery which gc can neither prove gone nor remove. Prompts wait until the input box
	// is empty. Empty means that nothing is known to block it.
	InputBlocked      string    `json:"input_blocked,omitempty"`
	InputBlockedSince time.Time `json:"input_blocked_since,omitzero"`
	// StalledSince is the time since which the agent has shown no signal of progress in its turn,
	// if that is longer ago than progress_stall_timeout. Zero means not stalled. LastSign describes
	// the last signal.
	StalledSince time.Time `json:"stalled_since,omitzero"`
	LastSign     string    `json:"last_sign,omitempty"`
	// Obstacle is what keeps a running agent from making progress, or, for a usage limit, from
	// being started. Nil means that none is known.
	Obstacle *AgentObstacle `json:"obstacle,omitempty"`
	// Worker is the last report of the agent's worker about the run. Nil means that there was no
	// report.
	Worker *Worker `json:"worker,omitempty"`
}

// Worker is the state of a run, as its worker reports it. Missing reports prove nothing.
type Worker struct {
	RunID         string    `json:"run_id"`
	Status        string    `json:"status" enum:"healthy,degraded,unhealthy"`
	State         string    `json:"state"` // the last reported transition, or "unknown"
	UptimeSeconds int64     `json:"uptime_seconds"`
	HeardAt       time.Time `json:"heard_at,omitzero"`       // time of the last report
	ContextUsage  *float64  `json:"context_usage,omitempty"` // used part of the context window, 0 to 1; nil if unknown
	Detail        string    `json:"detail,omitempty"`        // description of the problem
}

// Activity is what a running agent is doing, as far as gc knows.
type Activity struct {
	State      string    `json:"state"`          // "ready", "busy", "idle", "waiting", "limited", "background" or "unknown"
	Kind       string    `json:"kind,omitempty"` // of waiting
	Until      time.Time `json:"until,omitzero"` // for limited: the end; zero if unknown
	Source     string    `json:"source,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	Confidence string    `json:"confidence,omitempty"` // "certain", "likely" or "guess"
	Detail     string    `json:"detail,omitempty"`
}

// RunsAsConfigured is the reason text of an agent without any problem or pending change.
const RunsAsConfigured = "it runs as configured"

// The desired states of a session.
const (
	DesiredRunning   = "running"
	DesiredSuspended = "suspended"
	DesiredStopped   = "stopped" // the city stops, or the session's work is done
	DesiredAbsent    = "absent"  // not configured any more
)

// The lifecycle states of a session. Readers treat any other value as StateUnknown.
const (
	StateCreating    = "creating"
	StateStarting    = "starting"
	StateRunning     = "running"
	StateDraining    = "draining"
	StateStopping    = "stopping"
	StateStopped     = "stopped"
	StateAsleep      = "asleep"
	StateSuspended   = "suspended"
	StateQuarantined = "quarantined"
	StateFailed      = "failed"
	StateLost        = "lost"
	StateUnknown     = "unknown"
)

// RestartRequest selects what to restart.
type RestartRequest struct {
	Targets []string `json:"targets"` // agents or sessions; empty means all
	// Instance restarts only this instance; see Agent.Instance. It requires exactly one target.
	Instance string `json:"instance,omitempty"`
	// NotRunning skips targets that run or start. The others start at once, whatever failed before.
	NotRunning bool `json:"not_running,omitempty"`
}

// ApplyRequest selects the agents or sessions whose changed configuration is applied now; empty
// means all.
type ApplyRequest struct {
	Targets []string `json:"targets"`
}

// Status returns the summary of the city.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/status", nil)
}

// WatchStatus returns the status of the city, and then each status that differs from the one before by more than the times at
// which it was read. It ends when ctx ends or the caller leaves the loop. An error is the last value; it means that the
// connection is lost, for example because the controller exits.
func (c *Client) WatchStatus(ctx context.Context) iter.Seq2[Status, error] {
	return watch[Status](ctx, c, "/v1/status/stream", "status")
}

// WithoutReadTimes returns the status without the times at which it was read. They change although nothing else does.
func (s Status) WithoutReadTimes() Status {
	s.At = time.Time{}
	s.Agents = slices.Clone(s.Agents)
	for i := range s.Agents {
		a := &s.Agents[i]
		a.ReadAt = time.Time{}
		if a.Worker != nil {
			worker := *a.Worker
			worker.UptimeSeconds, worker.HeardAt = 0, time.Time{}
			a.Worker = &worker
		}
	}
	return s
}

// Restart restarts the targets, or all agents if there are none. It returns when they have been
// stopped and their start has begun.
func (c *Client) Restart(ctx context.Context, targets ...string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/restart", RestartRequest{Targets: append([]string{}, targets...)})
}

// RestartInstance restarts the target if the given instance still runs. If another one runs, the
// error is [ErrRefused].
func (c *Client) RestartInstance(ctx context.Context, target, instance string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/restart", RestartRequest{Targets: []string{target}, Instance: instance})
}

// StartFailed starts the targets that do not run at once, whatever failed before. It ends their
// backoff and quarantine. It does not change running targets.
func (c *Client) StartFailed(ctx context.Context, targets ...string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/restart", RestartRequest{Targets: append([]string{}, targets...), NotRunning: true})
}

// Apply applies a changed configuration now, also changes that wait for the end of a turn or for an
// answer. It does so for the targets, or for all agents if there are none.
func (c *Client) Apply(ctx context.Context, targets ...string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/apply", ApplyRequest{Targets: append([]string{}, targets...)})
}

// StopCity stops every session and then the controller. It returns what was found and stopped. The
// event stream reports the progress.
func (c *Client) StopCity(ctx context.Context) (Census, error) {
	return call[Census](ctx, c, http.MethodPost, "/v1/stop", nil)
}

// StopController stops the controller. The sessions continue to run.
func (c *Client) StopController(ctx context.Context) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/controller/stop", nil)
}
