package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sessionOf returns the desired session of an agent.
func sessionOf(agent string) Session {
	return Session{
		Agent: agent, Name: "gc-town-" + agent, Provider: "fake",
		Fingerprints: session.Fingerprints{
			Core: "v1:core", Provision: "v1:provision", Launch: "v1:launch", Live: "v1:live",
			Fields: map[string]string{"Command": "1", "Env": "2", "SessionLive": "3"},
		},
	}
}

// healthy returns the observation of a session that runs as configured.
func healthy(s Session) Observed {
	return Observed{
		Record: session.Record{Session: s.Name, Provider: s.Provider, Agent: s.Agent, Stored: s.Fingerprints},
		Owner:  OwnerThisCity, Managed: true,
		Observation: runtime.Observation{Session: runtime.Alive, Agent: runtime.Alive, InstanceToken: "t"},

		Activity: session.Activity{State: runtime.ActivityReady},
	}
}

// stoppedSession returns the observation of a session that does not exist.
func stoppedSession(s Session) Observed {
	o := healthy(s)
	o.Observation, o.Managed = runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead}, false
	return o
}

// one returns the action for a single session.
func one(t *testing.T, s Session, o Observed, policy Policy) Action {
	t.Helper()
	actions := Diff(Desired{City: "town", Sessions: []*Session{&s}}, []Observed{o}, noon, policy)
	if len(actions) != 1 {
		t.Fatalf("one session gives %d actions, want 1: %+v", len(actions), actions)
	}
	return actions[0]
}

// TestDecisions checks the action, the shown state and the reason for a single session in many
// situations.
func TestDecisions(t *testing.T) {
	quiet := Policy{Quiet: time.Minute, MaxRestarts: 3, RestartWindow: time.Hour, DriftWait: 5 * time.Minute}
	ending := quiet
	ending.Stopping, ending.StopAfter = true, noon.Add(5*time.Second)
	ended := ending
	ended.StopAfter = noon

	rows := []struct {
		name   string
		change func(s *Session, o *Observed)
		policy Policy
		verb   Verb
		state  string
		words  string // of the reason
		after  time.Time
	}{
		{"as configured", func(*Session, *Observed) {}, quiet, VerbNone, client.StateRunning, "as configured", time.Time{}},
		{"running, not known", func(_ *Session, o *Observed) { o.Managed = false }, quiet, VerbAdopt, client.StateRunning, "already", time.Time{}},
		{"gone", func(s *Session, o *Observed) { *o = stoppedSession(*s) }, quiet, VerbStart, client.StateStarting, "", time.Time{}},
		{"corpse", func(_ *Session, o *Observed) {
			o.Observation.Agent, o.Observation.Exit = runtime.Dead, &runtime.Exit{Code: 3}
		}, quiet, VerbStart, client.StateStarting, "exited with code 3", time.Time{}},
		{"agent unknown", func(_ *Session, o *Observed) { o.Observation.Agent = runtime.Unknown }, quiet, VerbNone, client.StateRunning, "", time.Time{}},
		{"session unknown", func(_ *Session, o *Observed) { o.Observation.Session = runtime.Unknown }, quiet, VerbNone, client.StateUnknown, "not known", time.Time{}},
		{"provider blind", func(s *Session, o *Observed) { *o = stoppedSession(*s); o.UnknownReason = "the place does not answer" }, quiet, VerbNone, client.StateUnknown, "does not answer", time.Time{}},
		{"under way", func(_ *Session, o *Observed) { o.Working = VerbStart; o.Observation = runtime.Observation{} }, quiet, VerbNone, client.StateStarting, "under way", time.Time{}},
		{"foreign", func(_ *Session, o *Observed) { o.Owner = OwnerOther }, quiet, VerbNone, client.StateFailed, "another city", time.Time{}},

		{"suspended, running", func(s *Session, _ *Observed) { s.Suspended = true }, quiet, VerbStop, client.StateStopping, "suspended", time.Time{}},
		{"suspended, attached", func(s *Session, o *Observed) { s.Suspended, o.Observation.Attached = true, 1 }, quiet, VerbStop, client.StateStopping, "suspended", time.Time{}},
		{"suspended, gone", func(s *Session, o *Observed) { s.Suspended = true; *o = stoppedSession(*s) }, quiet, VerbNone, client.StateSuspended, "", time.Time{}},
		{"suspended, unknown", func(s *Session, o *Observed) { s.Suspended = true; o.Observation = runtime.Observation{} }, quiet, VerbNone, client.StateUnknown, "", time.Time{}},
		{"orphan", func(_ *Session, o *Observed) { o.Observation.Session = runtime.Dead }, quiet, VerbWait, client.StateLost, "still runs", time.Time{}},
		{"orphan, restart", func(_ *Session, o *Observed) { o.Observation.Session, o.Order = runtime.Dead, OrderRestart }, quiet, VerbStop, client.StateStopping, "stop was requested", time.Time{}},
		{"orphan, suspended", func(s *Session, o *Observed) { s.Suspended, o.Observation.Session = true, runtime.Dead }, quiet, VerbStop, client.StateStopping, "", time.Time{}},
		{"orphan or not", func(_ *Session, o *Observed) {
			o.Observation.Session, o.Observation.Agent = runtime.Dead, runtime.Unknown
		}, quiet, VerbNone, client.StateUnknown, "not known", time.Time{}},
		{"kill", func(_ *Session, o *Observed) { o.Order = OrderKill }, quiet, VerbStop, client.StateStopping, "stop was requested", time.Time{}},
		{"kill, gone", func(s *Session, o *Observed) { *o = stoppedSession(*s); o.Order = OrderKill }, quiet, VerbStart, client.StateStarting, "", time.Time{}},
		{"restart", func(_ *Session, o *Observed) { o.Order, o.Observation.Attached = OrderRestart, 1 }, quiet, VerbRestart, client.StateStopping, "restart was requested", time.Time{}},
		{"restart, unknown", func(_ *Session, o *Observed) { o.Order = OrderRestart; o.Observation.Session = runtime.Unknown }, quiet, VerbNone, client.StateUnknown, "", time.Time{}},
		{"failed stop", func(s *Session, o *Observed) { s.Suspended, o.StopAt = true, noon.Add(time.Second) }, quiet, VerbWait, client.StateStopping, "failed", noon.Add(time.Second)},

		{"city ends, first", func(*Session, *Observed) {}, ending, VerbWait, client.StateStopping, "interrupted", noon.Add(5 * time.Second)},
		{"city ends, dead", func(_ *Session, o *Observed) { o.Observation.Agent = runtime.Dead }, ending, VerbStop, client.StateStopping, "", time.Time{}},
		{"city ends, then", func(*Session, *Observed) {}, ended, VerbStop, client.StateStopping, "city is being stopped", time.Time{}},
		{"city ends, gone", func(s *Session, o *Observed) { *o = stoppedSession(*s); o.Order = OrderRestart }, ended, VerbNone, client.StateStopped, "", time.Time{}},

		{"backoff", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			o.Fault, o.NextAt = "exited with code 7", noon.Add(time.Second)
		}, quiet, VerbWait, client.StateFailed, "code 7", noon.Add(time.Second)},
		{"lost", func(s *Session, o *Observed) { *o = stoppedSession(*s); o.Lost, o.NextAt = true, noon.Add(time.Second) }, quiet, VerbWait, client.StateLost, "disappeared", noon.Add(time.Second)},
		{"quarantine", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			o.Fault = "exited with code 7"
			o.Failures = []time.Time{noon.Add(-2 * time.Hour), noon.Add(-50 * time.Minute), noon.Add(-2 * time.Minute), noon.Add(-time.Minute)}
		}, quiet, VerbWait, client.StateQuarantined, "3 failures within 1h, the last: exited with code 7", noon.Add(10 * time.Minute)},
		{"quarantine over", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			o.Failures = []time.Time{noon.Add(-time.Hour), noon.Add(-2 * time.Minute), noon.Add(-time.Minute)}
		}, quiet, VerbStart, client.StateStarting, "", time.Time{}},
		{"dependency missing", func(s *Session, o *Observed) { *o = stoppedSession(*s); s.DependsOn = []string{"db"} }, quiet, VerbWait, client.StateStopped, "not configured", time.Time{}},
		{"dependency missing, running", func(s *Session, _ *Observed) { s.DependsOn = []string{"db"} }, quiet, VerbNone, client.StateRunning, "", time.Time{}},

		{"one shot, done", func(s *Session, o *Observed) { *o = stoppedSession(*s); once(s); o.Exit = &runtime.Exit{} }, quiet, VerbNone, client.StateStopped, "finished", time.Time{}},
		{"one shot, done, dead", func(s *Session, o *Observed) {
			once(s)
			o.Observation.Agent, o.Observation.Exit = runtime.Dead, &runtime.Exit{}
		}, quiet, VerbNone, client.StateStopped, "finished", time.Time{}},
		{"one shot, failed", func(s *Session, o *Observed) { *o = stoppedSession(*s); once(s); o.Exit = &runtime.Exit{Code: 1} }, quiet, VerbStart, client.StateStarting, "code 1", time.Time{}},
		{"one shot, killed", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			once(s)
			o.Exit = &runtime.Exit{Signal: "killed"}
		}, quiet, VerbStart, client.StateStarting, "killed", time.Time{}},
		{"one shot, again", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			once(s)
			o.Exit, o.Order = &runtime.Exit{}, OrderRestart
		}, quiet, VerbStart, client.StateStarting, "", time.Time{}},
		{"one shot, new job", func(s *Session, o *Observed) {
			*o = stoppedSession(*s)
			once(s)
			o.Exit = &runtime.Exit{}
			s.Core = "v1:x"
		}, quiet, VerbStart, client.StateStarting, "", time.Time{}},
		{"one shot, changed at work", func(s *Session, _ *Observed) { once(s); s.Core = "v1:x" }, quiet, VerbNone, client.StateRunning, "one-shot", time.Time{}},

		{"live drift", func(s *Session, o *Observed) { s.Live, o.Observation.Attached = "v1:x", 2 }, quiet, VerbApplyLive, client.StateRunning, "changed", time.Time{}},
		{"launch drift", func(s *Session, o *Observed) { s.Core, s.Launch, o.CanRelaunch = "v1:x", "v1:x", true }, quiet, VerbRelaunch, client.StateStarting, "changed", time.Time{}},
		{"launch drift, no warm box", func(s *Session, _ *Observed) { s.Core, s.Launch = "v1:x", "v1:x" }, quiet, VerbRestart, client.StateStopping, "changed", time.Time{}},
		{"provision drift", func(s *Session, o *Observed) { s.Core, s.Provision, o.CanRelaunch = "v1:x", "v1:x", true }, quiet, VerbRestart, client.StateStopping, "changed", time.Time{}},
		{"drift, attached", func(s *Session, o *Observed) {
			s.Core, o.Observation.Attached, o.DriftedAt = "v1:x", 1, noon.Add(-time.Hour)
		}, quiet, VerbWait, client.StateRunning, "attached", time.Time{}},
		{"drift, busy", func(s *Session, o *Observed) {
			s.Core, o.Activity.State, o.DriftedAt = "v1:x", runtime.ActivityBusy, noon.Add(-time.Hour)
		}, quiet, VerbWait, client.StateRunning, "busy", time.Time{}},
		{"drift, active", func(s *Session, o *Observed) { s.Core, o.Observation.LastActivity = "v1:x", noon.Add(-time.Second) }, quiet, VerbWait, client.StateRunning, "quiet", noon.Add(59 * time.Second)},
		{"drift, typed at", func(s *Session, o *Observed) { s.Core, o.Observation.LastInput = "v1:x", noon.Add(-time.Second) }, quiet, VerbWait, client.StateRunning, "quiet", noon.Add(59 * time.Second)},
		{"drift, active too long", func(s *Session, o *Observed) {
			s.Core, o.Observation.LastActivity, o.DriftedAt = "v1:x", noon, noon.Add(-5*time.Minute)
		}, quiet, VerbRestart, client.StateStopping, "", time.Time{}},
		{"drift, attachment unknown", func(s *Session, o *Observed) { s.Core, o.Observation.Attached = "v1:x", -1 }, quiet, VerbRestart, client.StateStopping, "", time.Time{}},
		{"other version", func(_ *Session, o *Observed) { o.Stored.Core = "v0:y" }, quiet, VerbNone, client.StateRunning, "cannot compare", time.Time{}},
		{"never stored", func(_ *Session, o *Observed) { o.Stored = session.Fingerprints{} }, quiet, VerbNone, client.StateRunning, "cannot compare", time.Time{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := sessionOf("a")
			o := healthy(s)
			row.change(&s, &o)
			a := one(t, s, o, row.policy)
			if a.Verb != row.verb || a.State != row.state || !strings.Contains(a.Reason, row.words) || !a.After.Equal(row.after) {
				t.Errorf("got %s (%s: %q, after %v), want %s (%s: ...%s..., after %v)", a.Verb, a.State, a.Reason, a.After, row.verb, row.state, row.words, row.after)
			}
			if done := strings.HasPrefix(row.name, "one shot, done"); done != (a.Desired == client.DesiredStopped && !row.policy.Stopping) {
				t.Errorf("it is wanted %s; only work that is done is not to run any more", a.Desired)
			}
			if a.Rebaseline != (row.name == "other version" || row.name == "never stored") {
				t.Errorf("rebaseline is %v", a.Rebaseline)
			}
		})
	}
}

// once makes the session run a command that does its work and exits.
func once(s *Session) { s.Config.Lifecycle = runtime.LifecycleOneShot }

// TestDriftNamesTheChangedFields checks that the decision names the fields of the configuration
// that were changed, added and removed.
func TestDriftNamesTheChangedFields(t *testing.T) {
	s := sessionOf("a")
	o := healthy(s)
	s.Core, s.Fields = "v1:x", map[string]string{"Command": "9", "SessionLive": "3", "WorkDir": "4"}
	if a := one(t, s, o, Policy{}); !slices.Equal(a.Fields, []string{"Command", "Env", "WorkDir"}) {
		t.Errorf("drifted fields are %v, want changed Command, removed Env and added WorkDir", a.Fields)
	}
}

// TestUnconfiguredSessionsAreStoppedOnlyIfTheyAreTheCitys checks that a session that is not
// configured is stopped only if it certainly belongs to this city.
func TestUnconfiguredSessionsAreStoppedOnlyIfTheyAreTheCitys(t *testing.T) {
	s := sessionOf("old")
	for _, row := range []struct {
		name   string
		change func(*Observed)
		want   Verb // empty: no action at all
	}{
		{"ours", func(*Observed) {}, VerbStop},
		{"ours, dead", func(o *Observed) { o.Observation.Agent = runtime.Dead }, VerbStop},
		{"another city's", func(o *Observed) { o.Owner = OwnerOther }, ""},
		{"unknown owner", func(o *Observed) { o.Owner = OwnerUnknown }, ""},
		{"unknown", func(o *Observed) { o.Observation.Session = runtime.Unknown }, VerbNone},
		{"blind", func(o *Observed) { o.UnknownReason = "x" }, VerbNone},
		{"gone", func(o *Observed) { o.Observation.Session, o.Observation.Agent = runtime.Dead, runtime.Dead }, ""},
		{"our orphan", func(o *Observed) { o.Observation.Session = runtime.Dead }, VerbStop},
	} {
		o := healthy(s)
		row.change(&o)
		var got Verb
		for _, a := range Diff(Desired{}, []Observed{o}, noon, Policy{}) {
			got = a.Verb
		}
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// TestStartsFollowDependencies checks that an agent is started only after the agents that it
// depends on are ready.
func TestStartsFollowDependencies(t *testing.T) {
	db, job, app := sessionOf("db"), sessionOf("job"), sessionOf("app")
	once(&job)
	job.DependsOn, app.DependsOn = []string{"db"}, []string{"db", "job"}
	desired := Desired{Sessions: []*Session{&app, &job, &db}}
	oDB, oJob, oApp := stoppedSession(db), stoppedSession(job), stoppedSession(app)
	verbs := func() string {
		var out []string
		for _, a := range Diff(desired, []Observed{oApp, oJob, oDB}, noon, Policy{}) {
			out = append(out, string(a.Verb))
		}
		return strings.Join(out, " ")
	}
	steps := []struct {
		change func()
		want   string // app job db
	}{
		{func() {}, "wait wait start"},
		{func() { oDB.Working = VerbStart; oDB.Observation.Session = runtime.Unknown }, "wait wait none"},
		{func() { oDB = healthy(db) }, "wait start none"},
		{func() { oJob = healthy(job) }, "wait none none"},
		{func() { oJob.Observation.Agent, oJob.Observation.Exit = runtime.Dead, &runtime.Exit{Code: 1} }, "wait start none"},
		{func() { oJob.Observation.Exit = &runtime.Exit{} }, "start none none"},
		{func() { oApp = healthy(app); oDB = stoppedSession(db) }, "none none start"},
	}
	for i, step := range steps {
		step.change()
		if got := verbs(); got != step.want {
			t.Errorf("step %d: got %q for app, job and db, want %q", i, got, step.want)
		}
	}
}

// TestRenamedSessionWaitsForThePreviousOne checks that an agent whose session has got another name
// is not started before the session with the previous name has stopped.
func TestRenamedSessionWaitsForThePreviousOne(t *testing.T) {
	s := sessionOf("a")
	former := healthy(s)
	former.Session = "town--a"
	desired := Desired{Sessions: []*Session{&s}}
	actions := Diff(desired, []Observed{stoppedSession(s), former}, noon, Policy{})
	if actions[0].Verb != VerbWait || !strings.Contains(actions[0].Reason, "town--a must end first") || actions[1].Verb != VerbStop {
		t.Errorf("while the old session runs: %+v, want wait and stop", actions)
	}
	former.Observation.Session = runtime.Unknown
	if a := Diff(desired, []Observed{stoppedSession(s), former}, noon, Policy{})[0]; a.Verb != VerbWait {
		t.Errorf("while the old session is unknown: %s, want wait", a.Verb)
	}
	former.Observation.Session, former.Observation.Agent = runtime.Dead, runtime.Alive
	if a := Diff(desired, []Observed{stoppedSession(s), former}, noon, Policy{})[0]; a.Verb != VerbWait {
		t.Errorf("while the old agent lives without its session: %s, want wait", a.Verb)
	}
	former.Observation.Agent = runtime.Dead
	if a := Diff(desired, []Observed{stoppedSession(s), former}, noon, Policy{})[0]; a.Verb != VerbStart {
		t.Errorf("once the old session is gone: %s, want start", a.Verb)
	}
}

// TestMassDriftIsRateLimited checks that after a change of all agents only a few are restarted at
// the same time.
func TestMassDriftIsRateLimited(t *testing.T) {
	var desired Desired
	var observed []Observed
	for i := range 50 {
		s := sessionOf(fmt.Sprint("a", i))
		observed = append(observed, healthy(s))
		s.Core, s.Provision = "v1:x", "v1:x"
		desired.Sessions = append(desired.Sessions, &s)
	}
	observed[7].Disrupted, observed[7].Working = true, VerbStop
	count := map[Verb]int{}
	for _, a := range Diff(desired, observed, noon, Policy{Disruptions: 3}) {
		count[a.Verb]++
	}
	if count[VerbRestart] != 2 || count[VerbWait] != 47 {
		t.Errorf("one of 50 restarts already; decided %v, want 2 more restarts and 47 waits", count)
	}
	for i := range observed {
		desired.Sessions[i].Core, desired.Sessions[i].Provision = observed[i].Stored.Core, observed[i].Stored.Provision
	}
	for _, a := range Diff(desired, observed, noon, Policy{Disruptions: 3}) {
		if a.Verb != VerbNone {
			t.Fatalf("after the edit was taken back %s is still to %s", a.Session, a.Verb)
		}
	}
}
