package worker

import "time"

// HealthStatus is the condition of a run.
type HealthStatus string

// The conditions.
const (
	Healthy   HealthStatus = "healthy"
	Degraded  HealthStatus = "degraded"
	Unhealthy HealthStatus = "unhealthy"
)

// Health is the answer to GET /health, and the body of POST /health, with which a worker answers a
// "health" message. A missing answer proves nothing.
type Health struct {
	Status        HealthStatus `json:"status"`
	RunID         string       `json:"run_id"`
	UptimeSeconds int64        `json:"uptime_seconds"`
	CurrentState  string       `json:"current_state"` // "idle", "busy", "stopping", or another value of the city
	LastActivity  *time.Time   `json:"last_activity,omitempty"`
	ContextUsage  *float64     `json:"context_usage"` // used part of the context window, 0 to 1; null if unknown
	Error         *string      `json:"error"`
	// Question is the id of the message that is answered; empty in GET.
	Question string `json:"question,omitempty"`
	// Asked reports that the worker itself answered just now. Otherwise the answer is what the city
	// knows.
	Asked bool `json:"asked,omitempty"`
}
