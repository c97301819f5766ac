package notification

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// QuestionSubjects returns the subjects of an open question.
func QuestionSubjects(p *client.Pending) []Subject {
	asks := Subject{
		ID: p.ID, Kind: questionKind(p.Kind), Agent: p.Agent, Session: p.Session, Question: p.ID,
		Text: p.Agent + " asks: " + cmp.Or(p.Prompt, p.Tool), Since: p.Since,
	}
	if p.Escalated.IsZero() {
		return []Subject{asks}
	}
	overdue := asks
	overdue.ID, overdue.Kind, overdue.Since = overdueID(p.ID), Overdue, p.Escalated
	return []Subject{asks, overdue}
}

// overdueID returns the id of the subject that a question was not answered by its deadline.
func overdueID(question string) string { return question + "/overdue" }

// questionKind returns the kind of a subject for the kind of a pending question.
func questionKind(kind string) Kind {
	switch kind {
	case runtime.WaitPermission:
		return Permission
	case runtime.WaitLogin:
		return Login
	case runtime.WaitLimit:
		return Limit
	case client.PendingInputBlocked, client.PendingStalled:
		return Input
	}
	return Question
}

// Fold applies an event. It reports whether the open subjects changed.
func (s *State) Fold(e *client.Event) bool {
	s.Cursor = e.ID
	switch event.Kind(e.Kind) {
	case event.PendingRaised:
		subject := s.subject(e, questionKind(e.Data["kind"]))
		subject.ID, subject.Question = e.Data["id"], e.Data["id"]
		s.Close(func(other *Subject) bool { // the question says more
			return other.Question == "" && other.Session == e.Session && other.Kind == subject.Kind
		})
		return s.Raise(subject)
	case event.PendingEscalated:
		subject := s.subject(e, Overdue)
		subject.ID, subject.Question = overdueID(e.Data["id"]), e.Data["id"]
		return s.Raise(subject)
	case event.PendingAnswered, event.PendingResolved, event.PendingExpired, event.PendingGone:
		return s.Close(func(other *Subject) bool { return other.Question != "" && other.Question == e.Data["id"] })
	case event.BudgetExceeded:
		return e.Data["act"] != "warn" && s.raiseOnce(s.subject(e, Budget))
	case event.BudgetReleased, event.BudgetLifted:
		return s.Close(func(other *Subject) bool {
			return other.Kind == Budget && other.Name == e.Data["budget"] && other.Agent == e.Agent && other.Session == e.Session
		})
	case event.PromptDead:
		return s.Raise(s.subject(e, Prompt))
	default:
		return s.foldSession(e)
	}
}

// foldSession applies an event about the life of a session.
func (s *State) foldSession(e *client.Event) bool {
	switch event.Kind(e.Kind) {
	case event.SessionObstacle:
		kind := Kind(e.Data["obstacle"])
		changed := s.Close(func(other *Subject) bool { return s.isObstacle(other, e.Session) && other.Kind != kind })
		return (kind == Login || kind == Limit) && s.raiseOnce(s.subject(e, kind)) || changed
	case event.SessionLimited:
		return s.raiseOnce(s.subject(e, Limit))
	case event.SessionObstacleOver:
		return s.Close(func(other *Subject) bool { return s.isObstacle(other, e.Session) })
	case event.SessionQuarantined:
		return s.raiseOnce(s.subject(e, Quarantine))
	case event.SessionStarted, event.SessionReset, event.SessionStopped:
		delete(s.Turns, e.Session)
		return s.Close(func(other *Subject) bool {
			return other.Session == e.Session && (other.Kind == Quarantine || s.isObstacle(other, e.Session))
		})
	case event.SessionExited, event.SessionLost:
		delete(s.Turns, e.Session)
		return s.Raise(s.subject(e, Exit))
	case event.SessionActivity:
		return s.foldActivity(e)
	default:
		return false
	}
}

// isObstacle reports whether the subject is an obstacle of the session, and not a question.
func (*State) isObstacle(subject *Subject, session string) bool {
	return subject.Session == session && subject.Question == "" && (subject.Kind == Login || subject.Kind == Limit)
}

// foldActivity records when a turn begins, and raises a subject when it is over. A question and an unknown activity do not end
// a turn.
func (s *State) foldActivity(e *client.Event) bool {
	began, busy := s.Turns[e.Session]
	switch runtime.Activity(e.Data["activity"]) {
	case runtime.ActivityBusy:
		if !busy {
			if s.Turns == nil {
				s.Turns = map[string]time.Time{}
			}
			s.Turns[e.Session] = e.Time
		}
	case runtime.ActivityIdle, runtime.ActivityReady:
		delete(s.Turns, e.Session)
		if busy {
			subject := s.subject(e, Turn)
			subject.Took = e.Time.Sub(began)
			return s.Raise(subject)
		}
	default: // the turn goes on
	}
	return false
}

// subject returns a subject about an event.
func (*State) subject(e *client.Event, kind Kind) Subject {
	return Subject{
		ID: "e-" + strconv.FormatUint(e.ID, 10), Kind: kind, Agent: e.Agent, Session: e.Session, Text: e.Text, Since: e.Time, Name: e.Data["budget"],
	}
}

// Raise adds a subject. It reports false if the subject is already open.
func (s *State) Raise(subject Subject) bool {
	for i := range s.Open {
		if s.Open[i].ID == subject.ID {
			return false
		}
	}
	s.Open = append(s.Open, subject)
	return true
}

// raiseOnce is Raise for a subject that is reported again while it is still true: by a new controller, or as another kind of
// event.
func (s *State) raiseOnce(subject Subject) bool {
	same := func(other Subject) bool {
		return other.Kind == subject.Kind && other.Session == subject.Session && other.Agent == subject.Agent && other.Name == subject.Name
	}
	return !slices.ContainsFunc(s.Open, same) && s.Raise(subject)
}

// Close removes the open subjects for which is returns true. It reports whether there was one.
func (s *State) Close(is func(*Subject) bool) bool {
	before := len(s.Open)
	s.Open = slices.DeleteFunc(s.Open, func(one Subject) bool { return is(&one) })
	return len(s.Open) < before
}

// CorrectTimes corrects the times that are in the future because the clock was set back: an open subject begins now, and a sink gets
// everything that is open, because a later subject may seem earlier than the sink. It reports whether it changed something.
func (s *State) CorrectTimes(now time.Time) (changed bool) {
	for sink, since := range s.Sinks {
		if since.After(now) {
			s.Sinks[sink], changed = time.Time{}, true
		}
	}
	for i := range s.Open {
		if s.Open[i].Since.After(now) {
			s.Open[i].Since, changed = now, true
		}
	}
	for session, began := range s.Turns {
		if began.After(now) {
			s.Turns[session], changed = now, true
		}
	}
	return changed
}
