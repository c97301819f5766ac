package notification

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/event"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fold applies events of agent a, one second after the other.
func fold(s *State, events ...client.Event) {
	for _, e := range events {
		e.ID = s.Cursor + 1
		if e.Time.IsZero() {
			e.Time = noon.Add(time.Duration(e.ID) * time.Second)
		}
		e.Agent, e.Session = "a", "s-a"
		s.Fold(&e)
	}
}

// ev returns an event with data: keys and values.
func ev(kind event.Kind, data ...string) client.Event {
	e := client.Event{Kind: string(kind), Text: string(kind), Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		e.Data[data[i]] = data[i+1]
	}
	return e
}

// TestFoldOpensAndClosesSubjects checks which events begin something that a person is notified of, and which events end it.
func TestFoldOpensAndClosesSubjects(t *testing.T) {
	t.Parallel()
	busy, idle := ev(event.SessionActivity, "activity", "busy"), ev(event.SessionActivity, "activity", "idle")
	waiting := ev(event.SessionActivity, "activity", "waiting")
	asks := ev(event.PendingRaised, "id", "q-1", "kind", "permission")
	for name, c := range map[string]struct {
		events []client.Event
		want   []Kind
	}{
		"a question":                        {[]client.Event{asks}, []Kind{Permission}},
		"twice the same":                    {[]client.Event{asks, asks}, []Kind{Permission}},
		"answered":                          {[]client.Event{asks, ev(event.PendingAnswered, "id", "q-1")}, nil},
		"another is answered":               {[]client.Event{asks, ev(event.PendingAnswered, "id", "q-2")}, []Kind{Permission}},
		"gone":                              {[]client.Event{asks, ev(event.PendingGone, "id", "q-1")}, nil},
		"overdue":                           {[]client.Event{asks, ev(event.PendingEscalated, "id", "q-1")}, []Kind{Permission, Overdue}},
		"overdue and answered":              {[]client.Event{asks, ev(event.PendingEscalated, "id", "q-1"), ev(event.PendingExpired, "id", "q-1")}, nil},
		"a limit, reported in two ways":     {[]client.Event{ev(event.SessionLimited), ev(event.SessionObstacle, "obstacle", "limit")}, []Kind{Limit}},
		"a login, then its question":        {[]client.Event{ev(event.SessionObstacle, "obstacle", "login"), ev(event.PendingRaised, "id", "q-1", "kind", "login")}, []Kind{Login}},
		"a question about a login, then it": {[]client.Event{ev(event.PendingRaised, "id", "q-1", "kind", "login"), ev(event.SessionObstacle, "obstacle", "login")}, []Kind{Login}},
		"another obstacle":                  {[]client.Event{ev(event.SessionObstacle, "obstacle", "login"), ev(event.SessionObstacle, "obstacle", "retrying")}, nil},
		"an obstacle that is over":          {[]client.Event{ev(event.SessionObstacle, "obstacle", "limit"), ev(event.SessionObstacleOver, "obstacle", "limit")}, nil},
		"no network":                        {[]client.Event{ev(event.SessionObstacle, "obstacle", "no_network")}, nil},
		"quarantine":                        {[]client.Event{ev(event.SessionExited), ev(event.SessionQuarantined)}, []Kind{Exit, Quarantine}},
		"started again":                     {[]client.Event{ev(event.SessionQuarantined), ev(event.SessionStarted)}, nil},
		"a budget":                          {[]client.Event{ev(event.BudgetExceeded, "budget", "day", "act", "stop"), ev(event.BudgetExceeded, "budget", "day", "act", "stop")}, []Kind{Budget}},
		"a budget that only warns":          {[]client.Event{ev(event.BudgetExceeded, "budget", "day", "act", "warn")}, nil},
		"a budget that is free":             {[]client.Event{ev(event.BudgetExceeded, "budget", "day", "act", "hold"), ev(event.BudgetLifted, "budget", "day")}, nil},
		"a turn":                            {[]client.Event{busy, waiting, busy, idle}, []Kind{Turn}},
		"idle without a turn":               {[]client.Event{idle, idle}, nil},
		"a turn that the exit ends":         {[]client.Event{busy, ev(event.SessionExited), idle}, []Kind{Exit}},
		"a dead prompt":                     {[]client.Event{ev(event.PromptDead)}, []Kind{Prompt}},
	} {
		var s State
		fold(&s, c.events...)
		var got []Kind
		for _, one := range s.Open {
			got = append(got, one.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: open are %v, want %v", name, got, c.want)
		}
	}
}

// TestBudgetThatEndedWhileStopped: a budget whose period ended while no controller ran is closed at the next start, and only then: a
// running controller reports the end. A later report moves the end.
func TestBudgetThatEndedWhileStopped(t *testing.T) {
	t.Parallel()
	exceeded := func(budget string, until time.Time) client.Event {
		e := ev(event.BudgetExceeded, "budget", budget, "act", "stop")
		if !until.IsZero() {
			e.Data["until"] = until.Format(time.RFC3339)
		}
		return e
	}
	var s State
	fold(&s, exceeded("day", noon.Add(time.Hour)), exceeded("month", noon.Add(48*time.Hour)), exceeded("ever", time.Time{}))
	if s.CloseEnded(noon.Add(59*time.Minute)) || len(s.Open) != 3 {
		t.Fatalf("before the end open are %+v", s.Open)
	}
	later := s
	later.Open = slices.Clone(s.Open)
	fold(&later, exceeded("day", noon.Add(3*time.Hour)))
	if later.CloseEnded(noon.Add(2*time.Hour)) || len(later.Open) != 3 || later.Open[0].ID != s.Open[0].ID {
		t.Errorf("with a later end open are %+v", later.Open)
	}
	if !s.CloseEnded(noon.Add(2*time.Hour)) || len(s.Open) != 2 || s.Open[0].Name != "month" || s.Open[1].Name != "ever" {
		t.Errorf("after the end open are %+v", s.Open)
	}
}

// spans returns times of the day: begins and ends in minutes.
func spans(minutes ...int) (out []config.DaySpan) {
	for i := 0; i < len(minutes); i += 2 {
		out = append(out, config.DaySpan{From: minutes[i], To: minutes[i+1]})
	}
	return out
}

// plan returns for a subject that began at noon what is due at the given time, and when it is due next.
func plan(s *State, at time.Time, attached bool, rules ...Rule) (due []Batch, next time.Duration, done []string) {
	for i := range rules {
		if rules[i].Sink == "" {
			rules[i].Sink = "x"
		}
	}
	due, when, done := s.Plan(rules, Facts{
		Now: at, Known: func(string, Target) bool { return false }, Seen: func(string) bool { return attached },
	})
	if !when.IsZero() {
		next = when.Sub(at)
	}
	return due, next, done
}

// TestPlanSendsWhenTheRuleAllows checks which notifications are sent, and when, for rules with delays, quiet hours and patterns.
func TestPlanSendsWhenTheRuleAllows(t *testing.T) {
	t.Parallel()
	question := Subject{ID: "q-1", Kind: Question, Agent: "web-1", Session: "s", Question: "q-1", Since: noon}
	needs := NeedsMe.Kinds()
	for name, c := range map[string]struct {
		rule     Rule
		subject  Subject
		after    time.Duration
		attached bool
		sent     bool
		next     time.Duration
		done     bool
	}{
		"at once":                 {rule: Rule{Kinds: needs}, subject: question, sent: true},
		"not yet":                 {rule: Rule{Kinds: needs, For: time.Minute}, subject: question, after: 20 * time.Second, next: 40 * time.Second},
		"long enough":             {rule: Rule{Kinds: needs, For: time.Minute}, subject: question, after: time.Minute, sent: true},
		"another kind":            {rule: Rule{Kinds: Finished.Kinds()}, subject: question},
		"another agent":           {rule: Rule{Kinds: needs, Agents: []string{"api-*"}}, subject: question},
		"this agent":              {rule: Rule{Kinds: needs, Agents: []string{"api-*", "web-*"}}, subject: question, sent: true},
		"attached":                {rule: Rule{Kinds: needs}, subject: question, attached: true},
		"attached, asked for":     {rule: Rule{Kinds: needs, WhileAttached: true}, subject: question, attached: true, sent: true},
		"quiet":                   {rule: Rule{Kinds: needs, Quiet: spans(11*60, 13*60)}, subject: question, next: time.Hour},
		"quiet over midnight":     {rule: Rule{Kinds: needs, Quiet: spans(11*60, 2*60)}, subject: question, next: 14 * time.Hour},
		"quiet, twice":            {rule: Rule{Kinds: needs, Quiet: spans(13*60, 15*60, 11*60, 13*60)}, subject: question, next: 3 * time.Hour},
		"not quiet any more":      {rule: Rule{Kinds: needs, Quiet: spans(11*60, 13*60)}, subject: question, after: time.Hour, sent: true},
		"not quiet yet":           {rule: Rule{Kinds: needs, Quiet: spans(13*60, 14*60)}, subject: question, sent: true},
		"the batch is open":       {rule: Rule{Kinds: needs, Batch: time.Minute}, subject: question, after: 10 * time.Second, next: 50 * time.Second},
		"the batch is closed":     {rule: Rule{Kinds: needs, Batch: time.Minute}, subject: question, after: time.Minute, sent: true},
		"a turn in a batch":       {rule: Rule{Kinds: []Kind{Turn}, For: time.Hour, Batch: time.Minute}, subject: Subject{ID: "e-1", Kind: Turn, Took: time.Hour, Since: noon}, after: time.Minute, sent: true, done: true},
		"a limit, just now":       {rule: Rule{Kinds: needs}, subject: Subject{ID: "e-1", Kind: Limit, Since: noon}, next: obstacleDelay},
		"a long turn":             {rule: Rule{Kinds: []Kind{Turn}, MinTurn: time.Minute}, subject: Subject{ID: "e-1", Kind: Turn, Took: time.Hour, Since: noon}, sent: true, done: true},
		"a short turn":            {rule: Rule{Kinds: []Kind{Turn}, MinTurn: time.Minute}, subject: Subject{ID: "e-1", Kind: Turn, Took: time.Second, Since: noon}, done: true},
		"a long turn while quiet": {rule: Rule{Kinds: []Kind{Turn}, Quiet: spans(11*60, 13*60)}, subject: Subject{ID: "e-1", Kind: Turn, Took: time.Hour, Since: noon}, next: time.Hour},
	} {
		s := State{Open: []Subject{c.subject}}
		due, next, done := plan(&s, noon.Add(c.after), c.attached, c.rule)
		if (len(due) == 1) != c.sent || next != c.next || (len(done) == 1) != c.done {
			t.Errorf("%s: due %v, next in %v, done %v; want sent %v, next in %v, done %v", name, due, next, done, c.sent, c.next, c.done)
		}
	}
}

// TestNewSinkGetsNothingOlder checks that a sink gets no notification of what began before the sink was added.
func TestNewSinkGetsNothingOlder(t *testing.T) {
	t.Parallel()
	s := State{Open: []Subject{{ID: "q-1", Kind: Question, Since: noon}}, Sinks: map[string]time.Time{"x": noon.Add(time.Second), "y": noon}}
	due, next, _ := plan(&s, noon.Add(time.Minute), false, Rule{Sink: "x", Kinds: NeedsMe.Kinds()}, Rule{Sink: "y", Kinds: NeedsMe.Kinds()})
	if len(due) != 1 || due[0].Target != (Target{Sink: "y"}) || next != 0 {
		t.Errorf("due %v, next %v; want only the older sink", due, next)
	}
}

// TestPlanSendsSeveralSubjectsAsOneMessage checks that notifications of the same time are sent as one message.
func TestPlanSendsSeveralSubjectsAsOneMessage(t *testing.T) {
	t.Parallel()
	var s State
	for i := range 5 {
		s.Open = append(s.Open, Subject{ID: strconv.Itoa(i), Kind: Question, Since: noon.Add(time.Duration(i) * time.Second)})
	}
	rule := Rule{Kinds: NeedsMe.Kinds(), Batch: 10 * time.Second}
	if due, next, _ := plan(&s, noon.Add(5*time.Second), false, rule); len(due) != 0 || next != 5*time.Second {
		t.Errorf("due %v, next in %v; want nothing for 5 s", due, next)
	}
	due, _, _ := plan(&s, noon.Add(10*time.Second), false, rule)
	if len(due) != 1 || len(due[0].Subjects) != 5 || !due[0].Joined {
		t.Errorf("due %v, want five in one message", due)
	}
	rule.Batch = 0
	if due, _, _ := plan(&s, noon.Add(10*time.Second), false, rule); !due[0].Joined {
		t.Errorf("five at once are not joined")
	}
	s.Open = s.Open[:Batched]
	if due, _, _ := plan(&s, noon.Add(10*time.Second), false, rule); due[0].Joined || len(due[0].Subjects) != Batched {
		t.Errorf("due %v, want %d messages", due, Batched)
	}
	s.Open = nil
	for i := range 2*MaxJoined + 1 {
		s.Open = append(s.Open, Subject{ID: strconv.Itoa(i), Kind: Question, Since: noon})
	}
	due, _, _ = plan(&s, noon, false, rule)
	if len(due) != 3 || len(due[0].Subjects) != MaxJoined || len(due[2].Subjects) != 1 || due[2].Subjects[0].ID != strconv.Itoa(2*MaxJoined) {
		t.Errorf("due %v, want 3 messages", due)
	}
}

// TestEscalation checks that a second rule with a longer delay sends a notification to its own sink later, as an escalation does.
func TestEscalation(t *testing.T) {
	t.Parallel()
	s := State{Open: []Subject{{ID: "q-1", Kind: Question, Question: "q-1", Since: noon}}}
	rules := []Rule{{Sink: "chat", Kinds: NeedsMe.Kinds()}, {Sink: "phone", Kinds: NeedsMe.Kinds(), For: 10 * time.Minute}}
	known := map[string]bool{}
	ask := func(at time.Duration) (sinks []string, next time.Time) {
		due, next, _ := s.Plan(rules, Facts{Now: noon.Add(at), Known: func(_ string, t Target) bool { return known[t.Sink] }, Seen: func(string) bool { return false }})
		for _, b := range due {
			sinks = append(sinks, b.Target.Sink)
			known[b.Target.Sink] = true
		}
		return sinks, next
	}
	if sinks, next := ask(0); !slices.Equal(sinks, []string{"chat"}) || !next.Equal(noon.Add(10*time.Minute)) {
		t.Errorf("at once: %v, next %v", sinks, next)
	}
	if sinks, next := ask(10 * time.Minute); !slices.Equal(sinks, []string{"phone"}) || !next.IsZero() {
		t.Errorf("after ten minutes: %v, next %v", sinks, next)
	}
}

// TestPlanTreatsEachDeviceByItself checks that a device that was added later gets nothing from before, and that what one device
// got is still sent to the other.
func TestPlanTreatsEachDeviceByItself(t *testing.T) {
	t.Parallel()
	old, young := Target{"phone", "d-1"}, Target{"phone", "d-2"}
	s := State{
		Sinks: map[string]time.Time{"phone/d-1": noon, "phone/d-2": noon.Add(time.Minute)},
		Open:  []Subject{{ID: "q-1", Kind: Question, Since: noon.Add(time.Second)}, {ID: "q-2", Kind: Question, Since: noon.Add(2 * time.Minute)}},
	}
	rules := []Rule{{Sink: "phone", Device: "d-1", Kinds: NeedsMe.Kinds()}, {Sink: "phone", Device: "d-2", Kinds: NeedsMe.Kinds()}}
	due, _, _ := s.Plan(rules, Facts{
		Now: noon.Add(time.Hour), Seen: func(string) bool { return false },
		Known: func(subject string, t Target) bool { return subject == "q-2" && t == old },
	})
	got := map[Target][]string{}
	for _, b := range due {
		for _, subject := range b.Subjects {
			got[b.Target] = append(got[b.Target], subject.ID)
		}
	}
	if len(got) != 2 || !slices.Equal(got[old], []string{"q-1"}) || !slices.Equal(got[young], []string{"q-2"}) {
		t.Errorf("due %v, want q-1 for the old device and q-2 for the young one", got)
	}
}

// TestWords checks that city.toml accepts exactly the kinds and groups of notifications that the rules know.
func TestWords(t *testing.T) {
	t.Parallel()
	if configured := config.NotifyKind("").Words(); !slices.Equal(configured, allNames()) {
		t.Errorf("city.toml accepts %v, the rules know %v", configured, allNames())
	}
}

// TestIDsAreStableAndDifferent checks that a notification always has the same ID in the same city, and that two notifications
// have different ones.
func TestIDsAreStableAndDifferent(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range []Key{{"a", "b", ""}, {"a", "b", "c"}, {"ab", "", ""}, {"a", "", "b"}} {
		for _, city := range []string{"/x", "/y"} {
			id := k.ID(city)
			if id != k.ID(city) || seen[id] {
				t.Errorf("%v of %s has the id %s, which is not stable or not its own", k, city, id)
			}
			seen[id] = true
		}
	}
}

// TestClockSetBack checks that a clock that was set back neither delays nor loses a notification.
func TestClockSetBack(t *testing.T) {
	now := time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC)
	ahead := now.Add(time.Hour)
	rules := []Rule{{Sink: "x", Kinds: NeedsMe.Kinds(), For: time.Minute}}
	s := State{Sinks: map[string]time.Time{"x": ahead.Add(-time.Minute)}, Open: []Subject{
		{ID: "before", Kind: Question, Question: "before", Since: ahead}, {ID: "after", Kind: Question, Question: "after", Since: now.Add(-time.Second)},
	}}
	facts := Facts{Now: now, Known: func(string, Target) bool { return false }, Seen: func(string) bool { return false }}
	if !s.CorrectTimes(now) || s.CorrectTimes(now) {
		t.Error("the times were not corrected exactly once")
	}
	if due, next, _ := s.Plan(rules, facts); len(due) > 0 || next.After(now.Add(time.Minute)) {
		t.Errorf("due %+v, next %v", due, next)
	}
	facts.Now = now.Add(2 * time.Minute)
	if due, _, _ := s.Plan(rules, facts); len(due) != 1 || len(due[0].Subjects) != 2 {
		t.Errorf("due %+v, want both", due)
	}
}

// allNames returns the names of all groups and kinds, the groups first.
func allNames() []string {
	names := []string{string(NeedsMe), string(Finished)}
	for _, g := range []Group{NeedsMe, Finished} {
		for _, k := range g.Kinds() {
			names = append(names, string(k))
		}
	}
	return names
}
