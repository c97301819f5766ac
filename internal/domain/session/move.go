package session

import (
	"errors"
	"time"
)

// Move applies a trigger to the state. If the trigger was not expected, it returns a
// [*TransitionError] for the log; the state is set nevertheless.
func (r *Record) Move(t Trigger, at time.Time) error {
	next, err := Next(r.State, t)
	r.enter(next, at)
	return err
}

// MoveTo applies the triggers that lead to the state to, see [Route], and reports whether the
// state changed. StateUnknown changes nothing.
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

// enter sets the state and, if it changed, its time.
func (r *Record) enter(s State, at time.Time) {
	if s != r.State {
		r.State, r.StateSince = s, at
	}
}

// IsDraining reports whether the current instance was asked to finish its work. A drain of another
// instance does not count.
func (r *Record) IsDraining() bool { return r.Drain.Epoch != 0 && r.Drain.Epoch == r.Epoch }
