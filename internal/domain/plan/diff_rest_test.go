package plan

import (
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// observedActivity returns an activity that was observed since the given time.
func observedActivity(activity runtime.Activity, since time.Time) session.Activity {
	return session.Activity{State: activity, Since: since}
}

// idle makes a session idle for an hour, with an idle_timeout of half an hour.
func idle(s *Session, o *Observed) {
	s.IdleAfter = 30 * time.Minute
	o.Activity = observedActivity(runtime.ActivityIdle, noon.Add(-time.Hour))
}

// aged makes a session older than its maximum age.
func aged(s *Session, o *Observed) {
	s.MaxAge, o.StartedAt = 24*time.Hour, noon.Add(-25*time.Hour)
}

// drain makes a session drain. then is the hold that follows the drain.
func drain(o *Observed, then session.HoldKind) {
	o.Epoch = 4
	o.Drain = session.Drain{Epoch: 4, Reason: "to rest", Since: noon.Add(-time.Minute), Deadline: noon.Add(time.Minute), Then: then}
}

// TestDecisionsAboutHoldsDrainsAndIdleTimes checks the action, the shown state and the reason for
// sessions with holds, drains, idle times and ages.
func TestDecisionsAboutHoldsDrainsAndIdleTimes(t *testing.T) {
	policy := Policy{Quiet: time.Minute, MaxRestarts: 3, RestartWindow: time.Hour}
	hold := func(kind session.HoldKind) session.Hold { return session.Hold{Kind: kind, Reason: "by hand"} }
	rows := []struct {
		name   string
		change func(s *Session, o *Observed)
		verb   Verb
		state  string
		words  string // of the reason
		after  time.Time
	}{
		{"asleep", func(s *Session, o *Observed) { *o = stoppedSession(*s); o.Hold = hold(session.HoldSleep) }, VerbNone, client.StateAsleep, "it sleeps: by hand", time.Time{}},
		{"to sleep", func(_ *Session, o *Observed) { o.Hold = hold(session.HoldSleep) }, VerbStop, client.StateStopping, "sleeps", time.Time{}},
		{"to sleep, unknown", func(_ *Session, o *Observed) {
			o.Hold = hold(session.HoldSleep)
			o.Observation.Session = runtime.Unknown
		}, VerbNone, client.StateUnknown, "", time.Time{}},
		{"suspended by hand", func(s *Session, o *Observed) { *o = stoppedSession(*s); o.Hold = hold(session.HoldSuspend) }, VerbNone, client.StateSuspended, "by hand", time.Time{}},
		{"suspended by hand, a prompt waits", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			o.Hold, o.Queued, o.WakeReason = hold(session.HoldSuspend), 1, "asked"
		}, VerbNone, client.StateSuspended, "", time.Time{}},
		{"suspended by hand, running", func(_ *Session, o *Observed) { o.Hold = hold(session.HoldSuspend) }, VerbStop, client.StateStopping, "suspended", time.Time{}},
		{"an unknown hold", func(s *Session, o *Observed) { *o = stoppedSession(*s); o.Hold = hold("frobnicate") }, VerbNone, client.StateSuspended, "", time.Time{}},

		{"draining", func(_ *Session, o *Observed) { drain(o, "") }, VerbWait, client.StateDraining, "to finish its work: to rest", noon.Add(time.Minute)},
		{"draining, busy and attached", func(_ *Session, o *Observed) {
			drain(o, "")
			o.Observation.Attached, o.Activity = 1, observedActivity(runtime.ActivityBusy, noon)
		}, VerbWait, client.StateDraining, "", noon.Add(time.Minute)},
		{"drained", func(_ *Session, o *Observed) { drain(o, ""); o.Drain.Acked = noon }, VerbStop, client.StateStopping, "has finished its work", time.Time{}},
		{"drain over time", func(_ *Session, o *Observed) { drain(o, ""); o.Drain.Deadline = noon }, VerbStop, client.StateStopping, "in time", time.Time{}},
		{"drain without a deadline", func(_ *Session, o *Observed) { drain(o, ""); o.Drain.Deadline = time.Time{} }, VerbWait, client.StateDraining, "", time.Time{}},
		{"drain of a predecessor", func(_ *Session, o *Observed) { drain(o, ""); o.Epoch = 5; o.Drain.Acked = noon }, VerbNone, client.StateRunning, "as configured", time.Time{}},
		{"drain, unknown", func(_ *Session, o *Observed) { drain(o, ""); o.Drain.Acked = noon; o.UnknownReason = "x" }, VerbNone, client.StateUnknown, "", time.Time{}},
		{"drain, then sleep", func(s *Session, o *Observed) { *o = stoppedSession(*s); drain(o, session.HoldSleep) }, VerbNone, client.StateAsleep, "to rest", time.Time{}},
		{"out of its budget", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			o.Hold = hold(session.HoldBudget)
			o.Queued, o.WakeReason = 1, "asked"
		}, VerbNone, client.StateSuspended, "budget", time.Time{}},
		{"out of its budget, running", func(_ *Session, o *Observed) { o.Hold = hold(session.HoldBudget) }, VerbStop, client.StateStopping, "budget", time.Time{}},
		{"drain, then suspended", func(s *Session, o *Observed) { *o = stoppedSession(*s); drain(o, session.HoldSuspend) }, VerbNone, client.StateSuspended, "to rest", time.Time{}},
		{"drain, then again", func(s *Session, o *Observed) { *o = stoppedSession(*s); drain(o, "") }, VerbStart, client.StateStarting, "", time.Time{}},

		{"renewal, idle", func(_ *Session, o *Observed) {
			o.Renew, o.Activity, o.Observation.LastActivity = noon, observedActivity(runtime.ActivityIdle, noon), noon
		}, VerbRestart, client.StateStopping, "requested a restart", time.Time{}},
		{"renewal, busy", func(_ *Session, o *Observed) {
			o.Renew, o.Activity = noon, observedActivity(runtime.ActivityBusy, noon)
		}, VerbWait, client.StateRunning, "while the agent is busy", time.Time{}},
		{"renewal, in silence", func(_ *Session, o *Observed) {
			o.Renew, o.Observation.LastActivity = noon, noon.Add(-time.Second)
		}, VerbWait, client.StateRunning, "quiet", noon.Add(59 * time.Second)},
		{"renewal, attached", func(_ *Session, o *Observed) { o.Renew, o.Observation.Attached = noon, 1 }, VerbWait, client.StateRunning, "attached", time.Time{}},
		{"renewal, question", func(_ *Session, o *Observed) { o.Renew, o.Pending = noon, true }, VerbWait, client.StateRunning, "question", time.Time{}},

		{"idle for too long", func(s *Session, o *Observed) { idle(s, o); o.Observation.LastActivity = noon }, VerbStop, client.StateStopping, "idle for 30m0s", time.Time{}},
		{"idle, not yet", func(s *Session, o *Observed) { idle(s, o); s.IdleAfter = 2 * time.Hour }, VerbNone, client.StateRunning, "", noon.Add(time.Hour)},
		{"idle, no limit", func(s *Session, o *Observed) { idle(s, o); s.IdleAfter = 0 }, VerbNone, client.StateRunning, "", time.Time{}},
		{"idle, typed at", func(s *Session, o *Observed) { idle(s, o); o.Observation.LastInput = noon.Add(-time.Minute) }, VerbNone, client.StateRunning, "", noon.Add(29 * time.Minute)},
		{"idle, started since", func(s *Session, o *Observed) { idle(s, o); o.StartedAt = noon.Add(-time.Minute) }, VerbNone, client.StateRunning, "", noon.Add(29 * time.Minute)},
		{"idle, used since", func(s *Session, o *Observed) { idle(s, o); o.IdleSince = noon.Add(-time.Minute) }, VerbNone, client.StateRunning, "", noon.Add(29 * time.Minute)},
		{"idle, attached", func(s *Session, o *Observed) { idle(s, o); o.Observation.Attached = 1 }, VerbWait, client.StateRunning, "attached", time.Time{}},
		{"idle, question", func(s *Session, o *Observed) { idle(s, o); o.Pending = true }, VerbWait, client.StateRunning, "question", time.Time{}},
		{"idle, prompts", func(s *Session, o *Observed) { idle(s, o); o.Queued = 2 }, VerbWait, client.StateRunning, "2 prompts", time.Time{}},
		{"idle, liveness unknown", func(s *Session, o *Observed) { idle(s, o); o.Observation.Session = runtime.Unknown }, VerbNone, client.StateUnknown, "", time.Time{}},
		{"ready and printing", func(s *Session, o *Observed) {
			idle(s, o)
			o.Activity.State, o.Observation.LastActivity = runtime.ActivityReady, noon.Add(-time.Minute)
		}, VerbNone, client.StateRunning, "", noon.Add(29 * time.Minute)},
		{"silent, activity unknown", func(s *Session, o *Observed) {
			idle(s, o)
			o.Activity, o.Observation.LastActivity = session.Activity{}, noon.Add(-time.Hour)
		}, VerbStop, client.StateStopping, "idle", time.Time{}},
		{"nothing known at all", func(s *Session, o *Observed) { idle(s, o); o.Activity = session.Activity{} }, VerbNone, client.StateRunning, "as configured", time.Time{}},
		{"in a silent turn", func(s *Session, o *Observed) {
			idle(s, o)
			o.Activity.State, o.Observation.LastActivity = runtime.ActivityBusy, noon.Add(-time.Hour)
		}, VerbNone, client.StateRunning, "as configured", time.Time{}},
		{"in the background", func(s *Session, o *Observed) { idle(s, o); o.Activity.State = runtime.ActivityBackground }, VerbNone, client.StateRunning, "", time.Time{}},
		{"one shot, silent", func(s *Session, o *Observed) { idle(s, o); once(s) }, VerbNone, client.StateRunning, "one-shot", time.Time{}},

		{"too old", aged, VerbRestart, client.StateStopping, "older than 24h", time.Time{}},
		{"old, not yet", func(s *Session, o *Observed) { aged(s, o); o.StartedAt = noon }, VerbNone, client.StateRunning, "", noon.Add(24 * time.Hour)},
		{"old, age unknown", func(s *Session, o *Observed) { aged(s, o); o.StartedAt = time.Time{} }, VerbNone, client.StateRunning, "", time.Time{}},
		{"too old, busy", func(s *Session, o *Observed) { aged(s, o); o.Activity = observedActivity(runtime.ActivityBusy, noon) }, VerbWait, client.StateRunning, "busy", time.Time{}},
		{"too old, limited", func(s *Session, o *Observed) {
			aged(s, o)
			o.Activity = observedActivity(runtime.ActivityLimited, noon)
		}, VerbWait, client.StateRunning, "limited", time.Time{}},
		{"too old, attached", func(s *Session, o *Observed) { aged(s, o); o.Observation.Attached = 1 }, VerbWait, client.StateRunning, "attached", time.Time{}},
		{"too old, printing", func(s *Session, o *Observed) { aged(s, o); o.Observation.LastActivity = noon }, VerbWait, client.StateRunning, "quiet", noon.Add(time.Minute)},

		{"drift, question", func(s *Session, o *Observed) { s.Core, o.Pending = "v1:x", true }, VerbWait, client.StateRunning, "while a question is open", time.Time{}},
		{"drift, waiting", func(s *Session, o *Observed) {
			s.Core, o.Activity = "v1:x", observedActivity(runtime.ActivityWaiting, noon)
		}, VerbWait, client.StateRunning, "waiting", time.Time{}},
		{"drift, background", func(s *Session, o *Observed) {
			s.Core, o.Activity = "v1:x", observedActivity(runtime.ActivityBackground, noon)
		}, VerbWait, client.StateRunning, "background", time.Time{}},
		{"drift and idle", func(s *Session, o *Observed) { idle(s, o); s.Core = "v1:x" }, VerbRestart, client.StateStopping, "changed", time.Time{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := sessionOf("a")
			o := healthy(s)
			row.change(&s, &o)
			a := one(t, s, o, policy)
			if a.Verb != row.verb || a.State != row.state || !strings.Contains(a.Reason, row.words) || !a.After.Equal(row.after) {
				t.Errorf("got %s (%s: %q, after %v), want %s (%s: ...%s..., after %v)", a.Verb, a.State, a.Reason, a.After, row.verb, row.state, row.words, row.after)
			}
			sleeps := row.verb == VerbStop && strings.Contains(row.words, "idle")
			if want := (session.Hold{Kind: session.HoldSleep, Reason: "it has been idle for 30m0s", Since: noon}); sleeps != (a.Hold == want) {
				t.Errorf("the hold that follows is %+v", a.Hold)
			}
		})
	}
}

// TestSleepingSessionsAreWoken checks what starts a sleeping session: a wake, a prompt or a
// restart.
func TestSleepingSessionsAreWoken(t *testing.T) {
	for name, change := range map[string]func(o *Observed){
		"by hand":   func(o *Observed) { o.WakeReason = "it was asked for" },
		"a prompt":  func(o *Observed) { o.Queued = 1 },
		"a restart": func(o *Observed) { o.Order = OrderRestart },
	} {
		s := sessionOf("a")
		o := stoppedSession(s)
		o.Hold.Kind = session.HoldSleep
		if change(&o); one(t, s, o, Policy{}).Verb != VerbStart || !one(t, s, o, Policy{}).ReleaseHold {
			t.Errorf("%s: %+v, want a start and no hold any more", name, one(t, s, o, Policy{}))
		}
		o.Observation = healthy(s).Observation
		o.Managed, o.Order = true, OrderNone
		if o.WakeReason != "" && (one(t, s, o, Policy{}).Verb != VerbNone || !one(t, s, o, Policy{}).ReleaseHold) {
			t.Errorf("%s, before it was stopped: %+v", name, one(t, s, o, Policy{}))
		}
	}
}

// TestSleepingDependencyIsWoken checks that sleeping agents are started if an agent that depends on
// them must be started.
func TestSleepingDependencyIsWoken(t *testing.T) {
	disk, db, app := sessionOf("disk"), sessionOf("db"), sessionOf("app")
	db.DependsOn, app.DependsOn = []string{"disk"}, []string{"db"}
	desired := Desired{Sessions: []*Session{&disk, &db, &app}}
	asleep := func(s Session) Observed {
		o := stoppedSession(s)
		o.Hold.Kind = session.HoldSleep
		return o
	}
	actions := Diff(desired, []Observed{asleep(disk), asleep(db), stoppedSession(app)}, noon, Policy{})
	if actions[0].Verb != VerbStart || actions[1].Verb != VerbWait || actions[2].Verb != VerbWait {
		t.Errorf("app needs db and db needs disk: %+v, want disk to be woken first", actions)
	}
	actions = Diff(desired, []Observed{asleep(disk), asleep(db), healthy(app)}, noon, Policy{})
	if actions[0].Verb != VerbNone || actions[1].State != client.StateAsleep {
		t.Errorf("no agent is to be started: %+v, want both to sleep on", actions)
	}
	app.Suspended = true
	actions = Diff(Desired{Sessions: []*Session{&disk, &db, &app}}, []Observed{asleep(disk), asleep(db), stoppedSession(app)}, noon, Policy{})
	if actions[0].Verb != VerbNone || actions[1].Verb != VerbNone {
		t.Errorf("a suspended agent needs no start: %+v", actions)
	}
}

// TestUsageLimitDelaysAStart checks that an agent that has exited because of a usage limit is
// started again when the limit ends, whatever failures it has.
func TestUsageLimitDelaysAStart(t *testing.T) {
	s := sessionOf("a")
	o := stoppedSession(s)
	o.Obstacle = session.Obstacle{
		Obstacle: runtime.Obstacle{Kind: runtime.ObstacleLimit, Detail: "5-hour limit", ResetAt: noon.Add(time.Hour)},
		Since:    noon.Add(-time.Hour), ProbeAt: noon.Add(time.Hour),
	}
	o.Fault, o.Failures = "exited with code 1", []time.Time{noon, noon, noon}
	policy := Policy{MaxRestarts: 3, RestartWindow: time.Hour}
	a := one(t, s, o, policy)
	if a.Verb != VerbWait || a.State != client.StateStopped || a.Reason != "limited until 2026-03-01T13:00:00Z: 5-hour limit" {
		t.Errorf("while the limit lasts: %+v", a)
	}
	if late := a.After.Sub(o.Obstacle.ProbeAt); late < 0 || late > limitSpread {
		t.Errorf("it starts %v after the end of the limit, want within %v", late, limitSpread)
	}
	o.Order = OrderRestart
	if a := one(t, s, o, Policy{}); a.Verb != VerbStart {
		t.Errorf("a person knows better than the limit: %+v", a)
	}
	o.Order, o.NextAt = OrderNone, o.Obstacle.ProbeAt.Add(9*time.Second)
	if a := one(t, s, o, policy); !a.After.Equal(o.NextAt) {
		t.Errorf("the record has spread it already: %+v", a)
	}
	o.NextAt, o.Obstacle.ProbeAt = time.Time{}, noon.Add(-limitSpread)
	if a := one(t, s, o, Policy{}); a.Verb != VerbStart {
		t.Errorf("after the limit: %+v", a)
	}
	o.Obstacle.ResetAt, o.Obstacle.ProbeAt = time.Time{}, noon.Add(session.LimitProbe)
	if a := one(t, s, o, Policy{}); a.Verb != VerbWait || !strings.Contains(a.Reason, "no reset time known") || a.After.Before(noon.Add(session.LimitProbe)) {
		t.Errorf("no end is known: %+v, want a probe after %v", a, session.LimitProbe)
	}
	o.Obstacle.ProbeAt = noon.Add(-limitSpread)
	if a := one(t, s, o, Policy{}); a.Verb != VerbStart {
		t.Errorf("when the probe is due: %+v", a)
	}
}

// TestAFleetThatWaitsForOneLimitIsSpread checks that the starts of many agents after the end of one
// usage limit are spread over time, and that each agent always has the same delay.
func TestAFleetThatWaitsForOneLimitIsSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for epoch := range uint64(100) {
		at := jitterFor(limitSpread, "gc-town-a", epoch)
		if at < 0 || at >= limitSpread || at != jitterFor(limitSpread, "gc-town-a", epoch) {
			t.Fatalf("epoch %d is spread by %v", epoch, at)
		}
		seen[at/time.Second] = true
	}
	if len(seen) < 30 {
		t.Errorf("100 instances share %d seconds of a minute", len(seen))
	}
}

// TestTimeoutsWaitAfterASuspend checks that no idle time, age, drain or wait for a drifted
// configuration stops an agent right after the host was suspended.
func TestTimeoutsWaitAfterASuspend(t *testing.T) {
	policy := Policy{Quiet: time.Minute, DriftWait: time.Minute, Patrol: 30 * time.Second}
	for name, change := range map[string]func(s *Session, o *Observed){
		"idle":  func(s *Session, o *Observed) { idle(s, o); o.Activity.Since = noon.Add(-8 * time.Hour) },
		"age":   aged,
		"drain": func(_ *Session, o *Observed) { drain(o, ""); o.Drain.Deadline = noon.Add(-time.Hour) },
		"drift": func(s *Session, o *Observed) {
			s.Core, o.DriftedAt, o.Observation.LastActivity = "v1:x", noon.Add(-8*time.Hour), noon.Add(-time.Second)
		},
	} {
		s := sessionOf("a")
		o := healthy(s)
		change(&s, &o)
		policy.ResumedAt = time.Time{}
		if a := one(t, s, o, policy); !a.Verb.Ends() {
			t.Fatalf("%s: without a suspend it ends: %+v", name, a)
		}
		policy.ResumedAt = noon.Add(-29 * time.Second)
		if a := one(t, s, o, policy); a.Verb.Ends() || a.After.Before(noon.Add(time.Second)) {
			t.Errorf("%s: within a patrol of the suspend: %+v", name, a)
		}
		policy.ResumedAt = noon.Add(-time.Hour)
		if a := one(t, s, o, policy); !a.Verb.Ends() {
			t.Errorf("%s: long after the suspend: %+v", name, a)
		}
	}
}

// TestMaxAgeHasARandomAddition checks that max_session_age_jitter delays the restart by another
// time for each instance, and always by the same one for the same instance.
func TestMaxAgeHasARandomAddition(t *testing.T) {
	due := map[time.Time]bool{}
	for epoch := range uint64(20) {
		s := sessionOf("a")
		o := healthy(s)
		aged(&s, &o)
		s.MaxAgeJitter, o.StartedAt, o.Epoch = time.Hour, noon, epoch
		a := one(t, s, o, Policy{})
		if late := a.After.Sub(noon.Add(24 * time.Hour)); late < 0 || late >= time.Hour || !a.After.Equal(one(t, s, o, Policy{}).After) {
			t.Errorf("epoch %d is due %v after its age", epoch, late)
		}
		due[a.After] = true
	}
	if len(due) < 15 {
		t.Errorf("20 instances are due at %d times", len(due))
	}
}

// TestFrozenSessionsSayWhatWaits checks that a start and a stop wait while the store fails, and
// that the reason says so.
func TestFrozenSessionsSayWhatWaits(t *testing.T) {
	policy := Policy{Frozen: "the disk is full"}
	s := sessionOf("a")
	o := stoppedSession(s)
	if a := one(t, s, o, policy); a.Verb != VerbWait || a.State != client.StateStopped || !strings.Contains(a.Reason, "frozen: the disk is full; pending action: start") {
		t.Errorf("a start: %+v", a)
	}
	o = healthy(s)
	s.Suspended = true
	if a := one(t, s, o, policy); a.Verb != VerbWait || a.State != client.StateRunning {
		t.Errorf("a stop: %+v", a)
	}
	s.Suspended, o.Order = false, OrderKill
	if a := one(t, s, o, policy); a.Verb != VerbStop {
		t.Errorf("a person asked for its end: %+v", a)
	}
	policy.Stopping = true
	if a := one(t, s, o, policy); a.Verb != VerbStop {
		t.Errorf("a city that is to end: %+v", a)
	}
}

// TestPromptNewerThanTheSleepWakes checks that a prompt wakes a sleeping session only if it was
// accepted after the session was put to sleep.
func TestPromptNewerThanTheSleepWakes(t *testing.T) {
	s := sessionOf("a")
	for _, row := range []struct {
		prompt time.Time
		want   Verb // while it runs
		asleep Verb // while it does not
	}{
		{time.Time{}, VerbNone, VerbStart}, // the time is unknown: any wakes it
		{noon.Add(-time.Minute), VerbStop, VerbNone},
		{noon, VerbStop, VerbNone},
		{noon.Add(time.Second), VerbNone, VerbStart},
	} {
		o := healthy(s)
		o.Hold, o.Queued, o.PromptAt = session.Hold{Kind: session.HoldSleep, Since: noon}, 1, row.prompt
		if a := one(t, s, o, Policy{}); a.Verb != row.want || a.ReleaseHold != (row.want == VerbNone) {
			t.Errorf("a prompt of %v: the session that is to sleep since %v gets %s (%s), woken %v", row.prompt, noon, a.Verb, a.Reason, a.ReleaseHold)
		}
		asleep := stoppedSession(s)
		asleep.Hold, asleep.Queued, asleep.PromptAt = o.Hold, 1, row.prompt
		if a := one(t, s, asleep, Policy{}); a.Verb != row.asleep {
			t.Errorf("a prompt of %v: the session that sleeps since %v gets %s (%s)", row.prompt, noon, a.Verb, a.Reason)
		}
		s := s
		s.IdleAfter = time.Second
		o.Hold, o.Activity, o.IdleSince = session.Hold{}, observedActivity(runtime.ActivityIdle, noon.Add(-time.Hour)), noon.Add(-time.Hour)
		if a := one(t, s, o, Policy{}); a.Verb == VerbStop {
			t.Errorf("a prompt of %v: a session sleeps without a request, although the prompt waits", row.prompt)
		}
	}
}

// TestDoubtedActivityPreventsASleepAndARestart checks that gc neither restarts an agent for its age
// nor puts it to sleep while its activity cannot be read.
func TestDoubtedActivityPreventsASleepAndARestart(t *testing.T) {
	s := sessionOf("a")
	s.IdleAfter, s.MaxAge = time.Minute, time.Minute
	o := healthy(s)
	o.StartedAt, o.Observation.LastActivity = noon.Add(-time.Hour), noon.Add(-time.Hour)
	if a := one(t, s, o, Policy{}); a.Verb != VerbRestart {
		t.Fatalf("an old and silent agent gets %s, the test shows nothing", a.Verb)
	}
	o.Activity.Doubted = true
	if a := one(t, s, o, Policy{}); a.Verb != VerbWait {
		t.Errorf("an agent whose readings fail gets %s: %s", a.Verb, a.Reason)
	}
	s.MaxAge = 0
	if a := one(t, s, o, Policy{}); a.Verb.Acts() {
		t.Errorf("an agent whose readings fail gets %s: %s", a.Verb, a.Reason)
	}
}
