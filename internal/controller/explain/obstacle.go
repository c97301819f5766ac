package explain

import (
	"strconv"

	"gascity/client"
	"gascity/internal/domain/session"
)

// Obstacle returns an obstacle in the form of the control API; nil if there is none.
func Obstacle(o *session.Obstacle) *client.AgentObstacle {
	if o.Kind == "" {
		return nil
	}
	return &client.AgentObstacle{
		Kind: o.Kind, Detail: o.Detail, Attempt: o.Attempt, Of: o.Of, NextTry: o.NextTry, ResetAt: o.ResetAt, ProbeAt: o.ProbeAt,
		Probes: o.Probes, Source: string(o.Source), Since: o.Since,
	}
}

// ObstacleText returns an obstacle as one line without times; empty if there is none.
func ObstacleText(o *session.Obstacle) string {
	if c := Obstacle(o); c != nil {
		return c.String()
	}
	return ""
}

// ObstacleData returns the data of a session.obstacle event.
func ObstacleData(o *session.Obstacle) map[string]string {
	data := map[string]string{"obstacle": o.Kind, "source": string(o.Source)}
	for key, value := range map[string]string{"detail": o.Detail, "reset_at": Stamp(o.ResetAt), "probe_at": Stamp(o.ProbeAt)} {
		if value != "" {
			data[key] = value
		}
	}
	if o.Attempt > 0 {
		data["attempt"] = strconv.Itoa(o.Attempt)
	}
	return data
}
