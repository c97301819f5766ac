package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// Obstacle is what prevents a running agent from making progress, according to all sources, and
// when the next prompt is tried in spite of it. The zero value means no obstacle.
type Obstacle struct {
	runtime.Obstacle

	Source runtime.Source `json:"source,omitempty"`
	Since  time.Time      `json:"since,omitzero"`
	// Probes is how many prompts or starts were tried since the obstacle began.
	Probes int `json:"probes,omitempty"`
	// ProbeAt is when the next prompt or start is tried, unless the obstacle ends before. Zero:
	// the obstacle does not block prompts or starts.
	ProbeAt time.Time `json:"probe_at,omitzero"`
	// Released is true if a person asked to try the next prompt or start at once.
	Released bool `json:"released,omitempty"`
}

// BlocksPrompts reports whether prompts wait while the obstacle exists. They wait for a login and
// for a limit, because only a person or time removes these and each prompt would fail.
func (o *Obstacle) BlocksPrompts() bool {
	return o.Kind == runtime.ObstacleLogin || o.Kind == runtime.ObstacleLimit
}

// LimitProbe is the delay before the next start after a process reported a limit without a reset
// time and exited.
const LimitProbe = 30 * time.Minute

// probePauses are the delays before each prompt that is tried in spite of an obstacle; the last
// one repeats.
var probePauses = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// Schedule sets when the next prompt is tried: at the reset time of a limit if that is known, else
// after a delay that grows with each tried prompt.
func (o *Obstacle) Schedule(now time.Time) {
	o.Released = false
	switch {
	case !o.BlocksPrompts():
		o.ProbeAt = time.Time{}
	case o.ResetAt.After(now):
		o.ProbeAt = o.ResetAt
	default:
		o.ProbeAt = now.Add(probePauses[min(o.Probes, len(probePauses)-1)])
	}
}

// IsSame reports whether other, from another reading, describes the same obstacle as o. Details of
// a retry or a network failure change with each attempt, so they are not compared.
func (o *Obstacle) IsSame(other *Obstacle) bool {
	return o.Kind == other.Kind && (o.BlocksPrompts() || o.Detail == other.Detail || o.Kind == runtime.ObstacleRetrying || o.Kind == runtime.ObstacleNoNetwork || other.Detail == "")
}

// UnmarshalJSON decodes a record. In a record of an earlier version the limit is in the member
// "limited" instead of an obstacle.
func (r *Record) UnmarshalJSON(text []byte) error {
	type fields Record
	stored := struct {
		*fields

		Limited struct {
			Since  time.Time      `json:"since"`
			Until  time.Time      `json:"until"`
			Source runtime.Source `json:"source"`
			Detail string         `json:"detail"`
		} `json:"limited"`
	}{fields: (*fields)(r)}
	if err := json.Unmarshal(text, &stored); err != nil {
		return fmt.Errorf("cannot decode the record of a session: %w", err)
	}
	if old := stored.Limited; !old.Since.IsZero() && r.Obstacle.Kind == "" {
		r.Obstacle = Obstacle{
			Obstacle: runtime.Obstacle{Kind: runtime.ObstacleLimit, Detail: old.Detail, ResetAt: old.Until}, Source: old.Source, Since: old.Since,
		}
		if r.Obstacle.ProbeAt = old.Until; old.Until.IsZero() {
			r.Obstacle.ProbeAt = old.Since.Add(LimitProbe)
		}
	}
	return nil
}

// obstacleOf returns the obstacle in one piece of evidence; the zero value if there is none. The
// activities limited and waiting for a login count as obstacles as well.
func obstacleOf(e *runtime.Evidence) (o runtime.Obstacle) {
	if o = e.Obstacle; o.Kind != "" {
		return o
	}
	switch {
	case e.Activity == runtime.ActivityLimited:
		return runtime.Obstacle{Kind: runtime.ObstacleLimit, Detail: e.Detail, ResetAt: e.Until}
	case e.Activity == runtime.ActivityWaiting && e.Kind == runtime.WaitLogin:
		return runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: e.Detail}
	}
	return o
}

// atRest lists the activities in which no turn is in progress. In these, the obstacle that ended
// the last turn is visible.
var atRest = []runtime.Activity{runtime.ActivityReady, runtime.ActivityIdle, runtime.ActivityBackground, runtime.ActivityLimited, runtime.ActivityWaiting}

// canExplain reports whether an obstacle applies to the concluded activity, if its evidence reports
// the activity of. It does if the two are the same, or if in both no turn is in progress.
func canExplain(of, concluded runtime.Activity) bool {
	return of == concluded || slices.Contains(atRest, of) && slices.Contains(atRest, concluded)
}

// obstacle returns what prevents the agent from making progress, according to the most trusted
// source that reports an obstacle and fits the activity. Missing fields are filled in from other
// sources with the same kind of obstacle.
func (f *fusion) obstacle(concluded runtime.Activity) Obstacle {
	var out Obstacle
	for _, i := range f.live {
		e := &f.evidence.latest[i]
		o := obstacleOf(&e.Evidence)
		if o.Kind == "" || !canExplain(e.Activity, concluded) {
			continue
		}
		switch {
		case out.Kind == "", out.Kind == runtime.ObstacleError && o.Kind != runtime.ObstacleRetrying:
			// An error says the least. Another source may know what kind of
			// obstacle it is. That the agent tries again does not show the kind.
			detail := out.Detail
			out = Obstacle{Obstacle: o, Source: e.Source, Since: e.Since}
			if len(detail) > len(o.Detail) && o.Kind == runtime.ObstacleError {
				out.Detail = detail
			}
		case out.Kind == o.Kind:
			if out.Attempt == 0 {
				out.Attempt, out.Of, out.NextTry = o.Attempt, o.Of, o.NextTry
			}
			if out.ResetAt.IsZero() {
				out.ResetAt = o.ResetAt
			}
			if !strings.Contains(out.Detail, " ") && len(o.Detail) > len(out.Detail) { // empty, or only a code
				out.Detail = o.Detail
			}
		}
	}
	return out
}
