package worker

import "time"

// HealthStatus is a run's condition in one word.
type HealthStatus string

// The conditions.
const (
	Healthy   HealthStatus = "healthy"
	Degraded  HealthStatus = "degraded"
	Unhealthy HealthStatus = "unhealthy"
)

// Health is the answer to GET /health, and the body of POST /health, by which a
// worker answers a "health" message. No answer is evidence of nothing.
type Health struct {
	Status        HealthStatus `json:"status"`
	RunID         string       `json:"run_id"`
	UptimeSeconds int64        `json:"uptime_seconds"`
	CurrentState  string       `json:"current_state"` // "idle", "busy", "stopping"; the city adds its own words
	LastActivity  *time.Time   `json:"last_activity,omitempty"`
	ContextUsage  *float64     `json:"context_usage"` // 0 to 1; null is unknown
	Error         *string      `json:"error"`
	// Question is the id of the message that is answered; empty in GET.
	Question string `json:"question,omitempty"`
	// Asked says that the worker itself answered just now; otherwise it is what the
	// city knows.
	Asked bool `json:"asked,omitempty"`
}
