package client

import (
	"context"
	"net/http"
	"time"
)

// Status is a city at a glance: a snapshot that the controller keeps, so that
// reading it costs no work for each session.
type Status struct {
	City       string     `json:"city"`
	Root       string     `json:"root"`
	Controller Controller `json:"controller"`
	Plan       PlanState  `json:"plan"`
	Agents     []Agent    `json:"agents"`
	At         time.Time  `json:"at"`                // when the snapshot was made
	Burn       *Burn      `json:"burn,omitempty"`    // nil: nothing was spent of late
	Budgets    []Budget   `json:"budgets,omitempty"` // those that are used up
}

// Controller is the process that keeps the city true.
type Controller struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Degraded  string    `json:"degraded,omitempty"` // why destructive acts are frozen; empty when they are not
	Notices   []string  `json:"notices,omitempty"`  // what a person should know of since the controller started, such as a store that was lost
	Stopping  bool      `json:"stopping,omitempty"`
	// Stuck: the stop of the city is over, and something could not be ended. The
	// controller stays for another stop; the next start replaces it.
	Stuck bool `json:"stuck,omitempty"`
	// SearchPath is the PATH in which the controller looks for the programs of agents.
	SearchPath string `json:"search_path,omitempty"`
}

// PlanState says whether the configuration on disk is the one in force.
type PlanState struct {
	LoadedAt time.Time `json:"loaded_at"`
	Error    string    `json:"error,omitempty"` // why the last edit was not taken; the old plan stays
}

// Agent is one configured agent and its session.
type Agent struct {
	Name      string    `json:"name"`    // the agent's qualified name
	Session   string    `json:"session"` // the session's name
	Provider  string    `json:"provider"`
	Desired   string    `json:"desired"` // "running", "suspended", "stopped" or "absent" (no longer configured)
	State     string    `json:"state"`   // the session's lifecycle, see the states below
	Activity  Activity  `json:"activity"`
	Reason    string    `json:"reason,omitempty"`
	PID       int       `json:"pid,omitempty"`
	Attached  int       `json:"attached"` // -1 if unknown to the provider
	StartedAt time.Time `json:"started_at,omitzero"`
	ActiveAt  time.Time `json:"active_at,omitzero"` // last output
	NextAt    time.Time `json:"next_at,omitzero"`   // when the controller tries again
	Restarts  int       `json:"restarts"`           // starts after the first, without a request
	Epoch     uint64    `json:"epoch,omitempty"`    // counts the instances of this agent
	Pending   int       `json:"pending,omitempty"`
	Queued    int       `json:"queued,omitempty"`   // prompts that wait
	Warning   string    `json:"warning,omitempty"`  // of the last start: it runs, and something is not as it should be
	Exit      string    `json:"exit,omitempty"`     // how the last instance ended
	Instance  string    `json:"instance,omitempty"` // public fingerprint of the instance token, never the token
	Drift     []string  `json:"drift,omitempty"`    // configuration fields that differ from what it was started with
	ReadAt    time.Time `json:"read_at,omitzero"`   // when the session was last observed
	Burn      *Burn     `json:"burn,omitempty"`     // nil: it spent nothing of late
	Held      string    `json:"held,omitempty"`     // why it gets no new prompts although it could take them: a budget, its guard
	// Guard is "guarded", "unguarded" (its worker has not shown that it asks before it
	// uses a tool) or "bypassed" (a tool ran although it was denied). Empty: the city has
	// no guard, or the agent does not run.
	Guard       string `json:"guard,omitempty"`
	GuardDetail string `json:"guard_detail,omitempty"`
	// InputBlocked says what is in the agent's input box, while that may hold text of an earlier
	// delivery which gc can neither prove gone nor remove: prompts wait until the box is empty.
	// Empty: nothing is known to block it.
	InputBlocked      string    `json:"input_blocked,omitempty"`
	InputBlockedSince time.Time `json:"input_blocked_since,omitzero"`
	// StalledSince is since when the agent shows no sign of progress in its turn, if that is
	// longer than progress_stall_timeout; zero: it is not stalled. LastSign is what it showed last.
	StalledSince time.Time `json:"stalled_since,omitzero"`
	LastSign     string    `json:"last_sign,omitempty"`
	// Obstacle is what keeps the agent from making progress although it runs, or, for a usage
	// limit, from being started; nil: nothing is known to.
	Obstacle *AgentObstacle `json:"obstacle,omitempty"`
	// Worker is the last report of the agent's worker about the run; nil: none has
	// reported.
	Worker *Worker `json:"worker,omitempty"`
}

// Worker is the state of a run by its worker's reports. That it says nothing is
// no evidence of anything.
type Worker struct {
	RunID         string    `json:"run_id"`
	Status        string    `json:"status" enum:"healthy,degraded,unhealthy"`
	State         string    `json:"state"` // the last transition that it reported, or "unknown"
	UptimeSeconds int64     `json:"uptime_seconds"`
	HeardAt       time.Time `json:"heard_at,omitzero"`       // when it last said anything
	ContextUsage  *float64  `json:"context_usage,omitempty"` // 0 to 1, of the context window; nil: not known
	Detail        string    `json:"detail,omitempty"`        // what is wrong with it
}

// Activity is what a running agent is doing, as far as gc knows.
type Activity struct {
	State      string    `json:"state"`          // "ready", "busy", "idle", "waiting", "limited", "background" or "unknown"
	Kind       string    `json:"kind,omitempty"` // of waiting
	Until      time.Time `json:"until,omitzero"` // of limited; zero: not known
	Source     string    `json:"source,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	Confidence string    `json:"confidence,omitempty"` // "certain", "likely" or "guess"
	Detail     string    `json:"detail,omitempty"`
}

// RunsAsConfigured is the reason of an agent about which there is nothing to report.
const RunsAsConfigured = "it runs as configured"

// The lifecycle states of a session. Readers treat an unknown word as unknown.
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

// RestartRequest names what to restart.
type RestartRequest struct {
	Targets []string `json:"targets"` // agents or sessions; empty is all
	// Instance restarts this instance only; see Agent.Instance. It goes with one
	// target.
	Instance string `json:"instance,omitempty"`
	// NotRunning leaves those alone that run or start: the others are started at once,
	// whatever went wrong with them before.
	NotRunning bool `json:"not_running,omitempty"`
}

// ApplyRequest names the agents or sessions whose changed configuration is put into force now;
// empty is all.
type ApplyRequest struct {
	Targets []string `json:"targets"`
}

// Status returns the city at a glance.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/status", nil)
}

// Restart restarts the targets, all agents if there are none, and returns when
// they have been stopped and their start is under way.
func (c *Client) Restart(ctx context.Context, targets ...string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/restart", RestartRequest{Targets: append([]string{}, targets...)})
}

// RestartInstance restarts the target if it is that instance still; another
// one is [ErrRefused].
func (c *Client) RestartInstance(ctx context.Context, target, instance string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/restart", RestartRequest{Targets: []string{target}, Instance: instance})
}

// StartFailed starts the targets that do not run at once, whatever went wrong with them before:
// their back-off and their quarantine are over. Those that run are left alone.
func (c *Client) StartFailed(ctx context.Context, targets ...string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/restart", RestartRequest{Targets: append([]string{}, targets...), NotRunning: true})
}

// Apply does now what a changed configuration asks for and what waits for the end of a turn or
// for an answer: for the targets, for all agents if there are none.
func (c *Client) Apply(ctx context.Context, targets ...string) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/apply", ApplyRequest{Targets: append([]string{}, targets...)})
}

// StopCity ends every session, returns what was found and ended, and lets the
// controller exit. Progress is on the event stream.
func (c *Client) StopCity(ctx context.Context) (Census, error) {
	return call[Census](ctx, c, http.MethodPost, "/v1/stop", nil)
}

// StopController lets the controller exit and leaves the sessions running.
func (c *Client) StopController(ctx context.Context) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/controller/stop", nil)
}
