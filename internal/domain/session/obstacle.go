package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// Obstacle is what keeps an agent from making progress although it runs: the concluded value
// of all sources, and when the next prompt is offered in spite of it. The zero value is none.
type Obstacle struct {
	runtime.Obstacle

	Source runtime.Source `json:"source,omitempty"`
	Since  time.Time      `json:"since,omitzero"`
	// Probes is how many prompts, or starts, were tried since it began.
	Probes int `json:"probes,omitempty"`
	// ProbeAt is when the next one is tried, if nothing ends the obstacle before. Zero: the
	// obstacle holds nothing back.
	ProbeAt time.Time `json:"probe_at,omitzero"`
	// Released says that a person has asked for the next one to be tried at once.
	Released bool `json:"released,omitempty"`
}

// BlocksPrompts reports whether prompts wait while there is an obstacle of the kind: only a person, or
// time, ends it, and each prompt would be lost to it.
func (o *Obstacle) BlocksPrompts() bool {
	return o.Kind == runtime.ObstacleLogin || o.Kind == runtime.ObstacleLimit
}

// LimitProbe is how long after the end of a process that reported a limit without a known end
// the next start is tried.
const LimitProbe = 30 * time.Minute

// probePauses are the pauses before each prompt that is tried in spite of an obstacle; the
// last one repeats.
var probePauses = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// Schedule sets when the next prompt is tried: at the end of a limit that is known, else after
// a pause that grows with each one that was tried.
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

// IsSame reports whether another reading is about the same obstacle. Attempts and times of a
// program that repeats its request change with each attempt, and a refusal may name the request.
func (o *Obstacle) IsSame(other *Obstacle) bool {
	return o.Kind == other.Kind && (o.BlocksPrompts() || o.Detail == other.Detail || o.Kind == runtime.ObstacleRetrying || o.Kind == runtime.ObstacleNoNetwork || other.Detail == "")
}

// UnmarshalJSON reads a record, also one of before there were obstacles, which has a limit.
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
		return fmt.Errorf("cannot read the record of a session: %w", err)
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

// obstacleOf returns what one piece of evidence says of an obstacle. A limit and a login that are
// reported as an activity alone are obstacles as well.
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

// atRest are the activities in which no turn is in progress: what ended the last turn is seen then.
var atRest = []runtime.Activity{runtime.ActivityReady, runtime.ActivityIdle, runtime.ActivityBackground, runtime.ActivityLimited, runtime.ActivityWaiting}

// canExplain reports whether evidence of one activity may explain another one.
func canExplain(of, concluded runtime.Activity) bool {
	return of == concluded || slices.Contains(atRest, of) && slices.Contains(atRest, concluded)
}

// obstacle returns what keeps the agent from making progress: by the most trusted source that says
// so and fits the activity. What that source leaves out is filled in from the others of the
// same kind.
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
			// An error is an unclassified obstacle: another source may have
			// classified it.
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
			if !strings.Contains(out.Detail, " ") && len(o.Detail) > len(out.Detail) { // none, or a code
				out.Detail = o.Detail
			}
		}
	}
	return out
}
