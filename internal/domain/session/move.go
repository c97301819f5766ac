package session

import (
	"errors"
	"time"
)

// Move applies a trigger to the state. The error is a [*TransitionError] for the
// log; the record is right all the same.
func (r *Record) Move(t Trigger, at time.Time) error {
	next, err := Next(r.State, t)
	r.enter(next, at)
	return err
}

// MoveTo applies the triggers that lead to a state, see [Route], and reports
// whether the state is another one then. The unknown state moves nothing.
func (r *Record) MoveTo(to State, at time.Time) (moved bool, err error) {
	if to == StateUnknown || to == r.State {
		return false, nil
	}
	from := r.State
	for _, t := range Route(from, to) {
		err = errors.Join(err, r.Move(t, at))
	}
	return r.State != from, err
}

func (r *Record) enter(s State, at time.Time) {
	if s != r.State {
		r.State, r.StateSince = s, at
	}
}

// IsDraining reports whether the present instance is to wind down. A drain that
// was meant for another one means nothing.
func (r *Record) IsDraining() bool { return r.Drain.Epoch != 0 && r.Drain.Epoch == r.Epoch }
