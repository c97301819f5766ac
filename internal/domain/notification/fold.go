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

// QuestionSubjects returns the subjects of notifications about an open question: the question itself and, if it was not answered
// by its deadline, that it is overdue.
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

// Fold updates the list of open subjects with an event of the city. It returns true if the list changed.
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
		return e.Data["act"] != "warn" && s.raiseBudget(e)
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

// raiseBudget raises a budget that is used up. One that is already open gets the new end.
func (s *State) raiseBudget(e *client.Event) bool {
	subject := s.subject(e, Budget)
	if until, err := time.Parse(time.RFC3339, e.Data["until"]); err == nil {
		subject.Until = until
	}
	at := s.indexOf(&subject)
	if at < 0 {
		return s.Raise(subject)
	}
	changed := !s.Open[at].Until.Equal(subject.Until)
	s.Open[at].Until = subject.Until
	return changed
}

// CloseEnded removes the budgets whose end is not after now. It is for the start of a controller: no event says that a budget became
// free while no controller ran. It reports whether there was one.
func (s *State) CloseEnded(now time.Time) bool {
	return s.Close(func(one *Subject) bool { return one.Kind == Budget && !one.Until.IsZero() && !one.Until.After(now) })
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

// isObstacle reports whether the subject is about a login or a limit of the session that no question reports.
func (*State) isObstacle(subject *Subject, session string) bool {
	return subject.Session == session && subject.Question == "" && (subject.Kind == Login || subject.Kind == Limit)
}

// foldActivity records when a turn of an agent begins, and adds a subject when the turn is over. A question and an unknown
// activity do not end a turn. It returns true if the open subjects changed.
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

// subject returns a subject of the given kind about the event.
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

// raiseOnce adds a subject unless an open one has the same kind, session, agent and name. It is for facts that are reported again
// while they last, for example by a new controller. It returns true if the subject was added.
func (s *State) raiseOnce(subject Subject) bool {
	return s.indexOf(&subject) < 0 && s.Raise(subject)
}

// indexOf returns the index of the open subject about the same thing, also under another id; -1 if there is none.
func (s *State) indexOf(subject *Subject) int {
	return slices.IndexFunc(s.Open, func(other Subject) bool {
		return other.Kind == subject.Kind && other.Session == subject.Session && other.Agent == subject.Agent && other.Name == subject.Name
	})
}

// Close removes the open subjects for which the function matches returns true. It returns true if it removed any.
func (s *State) Close(matches func(*Subject) bool) bool {
	before := len(s.Open)
	s.Open = slices.DeleteFunc(s.Open, func(one Subject) bool { return matches(&one) })
	return len(s.Open) < before
}

// CorrectTimes replaces times that are in the future, because the clock was set back. An open subject then begins now. A sink
// then gets all open subjects, because the time since when it gets subjects is not known any more. It returns true if it changed
// something.
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
