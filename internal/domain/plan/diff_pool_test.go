package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// poolCity returns a city whose only agents are the members of one pool. None of them runs.
func poolCity(low, high int) (Desired, []Observed) {
	p := Pool{Agent: "worker", Min: low, Max: high, Check: "count", DrainTimeout: time.Minute}
	var desired Desired
	var observed []Observed
	for i := range high {
		s := sessionOf(fmt.Sprint("worker-", i+1))
		s.Pool = "worker"
		p.Members = append(p.Members, s.Agent)
		desired.Sessions, observed = append(desired.Sessions, &s), append(observed, stoppedSession(s))
	}
	desired.Pools = []Pool{p}
	return desired, observed
}

// wanted returns a policy for a pool that wants n members.
func wanted(n int) Policy {
	return Policy{PoolWants: map[string]int{"worker": n}, Quiet: time.Minute, MaxRestarts: 3, RestartWindow: time.Hour}
}

// run makes the members with the given numbers run, with an activity.
func run(desired Desired, observed []Observed, activity runtime.Activity, numbers ...int) {
	for _, n := range numbers {
		observed[n-1] = healthy(*desired.Sessions[n-1])
		observed[n-1].Activity, observed[n-1].Epoch = observedActivity(activity, noon.Add(-time.Hour)), 1
	}
}

// TestPoolChoosesItsMembers checks which members of a pool are started, kept and drained for a
// wanted number.
func TestPoolChoosesItsMembers(t *testing.T) {
	busy, resting := runtime.ActivityBusy, runtime.ActivityIdle
	failing := func(o *Observed) { o.Fault, o.NextAt = "exited with code 1", noon.Add(time.Second) }
	rows := []struct {
		name   string
		change func(desired Desired, observed []Observed)
		policy Policy
		want   string // verbs of the members
	}{
		{"none", func(Desired, []Observed) {}, wanted(0), "none none none none"},
		{"the lowest numbers first", func(Desired, []Observed) {}, wanted(2), "start start none none"},
		{"more than there are", func(Desired, []Observed) {}, wanted(99), "start start start start"},
		{"fewer than none", func(Desired, []Observed) {}, wanted(-1), "none none none none"},
		{"those that run stay", func(d Desired, o []Observed) { run(d, o, resting, 3, 4) }, wanted(2), "none none none none"},
		{"one more", func(d Desired, o []Observed) { run(d, o, resting, 3, 4) }, wanted(3), "start none none none"},
		{"the highest idle first", func(d Desired, o []Observed) { run(d, o, resting, 1, 2, 3); run(d, o, busy, 4) }, wanted(2), "none stop stop none"},
		{"busy ones are drained", func(d Desired, o []Observed) { run(d, o, busy, 1, 2, 3) }, wanted(1), "none drain drain none"},
		{"unknown ones are drained", func(d Desired, o []Observed) { run(d, o, runtime.ActivityUnknown, 1, 2) }, wanted(1), "none drain none none"},
		{"draining ones are left to it", func(d Desired, o []Observed) {
			run(d, o, busy, 1, 2)
			o[1].Drain = session.Drain{Epoch: 1, Deadline: noon.Add(time.Minute)}
		}, wanted(1), "none wait none none"},
		{"a draining one is replaced", func(d Desired, o []Observed) {
			run(d, o, busy, 1, 2)
			o[1].Drain = session.Drain{Epoch: 1, Deadline: noon.Add(time.Minute)}
		}, wanted(2), "none wait start none"},
		{"a drained one ends", func(d Desired, o []Observed) {
			run(d, o, busy, 1, 2)
			o[1].Drain = session.Drain{Epoch: 1, Acked: noon}
		}, wanted(1), "none stop none none"},
		{"attached ones stay", func(d Desired, o []Observed) {
			run(d, o, resting, 1, 2)
			o[0].Observation.Attached, o[1].Observation.Attached = 1, 1
		}, wanted(0), "wait wait none none"},
		{"one with a question stays", func(d Desired, o []Observed) { run(d, o, busy, 1); o[0].Pending = true }, wanted(0), "wait none none none"},
		{"one that was just typed at stays", func(d Desired, o []Observed) { run(d, o, resting, 1); o[0].Observation.LastInput = noon }, wanted(0), "wait none none none"},
		{"unknown is left alone", func(d Desired, o []Observed) { run(d, o, resting, 1); o[0].Observation.Session = runtime.Unknown }, wanted(0), "none none none none"},
		{"unknown counts", func(d Desired, o []Observed) { run(d, o, resting, 1); o[0].Observation.Session = runtime.Unknown }, wanted(1), "none none none none"},
		{"one that fails keeps its place", func(_ Desired, o []Observed) { failing(&o[1]) }, wanted(1), "none wait none none"},
		{"one in quarantine does not", func(_ Desired, o []Observed) {
			failing(&o[0])
			o[0].Failures = []time.Time{noon, noon, noon}
		}, wanted(1), "wait start none none"},
		{"one that is held does not", func(_ Desired, o []Observed) { o[0].Hold.Kind = session.HoldSuspend }, wanted(1), "none start none none"},
		{"a prompt calls one more", func(_ Desired, o []Observed) { o[2].Queued = 1 }, wanted(1), "start none start none"},
		{"the check never succeeded", func(d Desired, o []Observed) { run(d, o, resting, 1, 2, 3) }, Policy{}, "none none none none"},
		{"nor did it ever run", func(Desired, []Observed) {}, Policy{}, "none none none none"},
	}
	for _, row := range rows {
		desired, observed := poolCity(0, 4)
		row.change(desired, observed)
		var got []string
		for _, a := range Diff(desired, observed, noon, row.policy) {
			got = append(got, string(a.Verb))
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

// TestPoolWithoutACheckRunsItsMinimum checks that a pool without a check command runs its min
// members.
func TestPoolWithoutACheckRunsItsMinimum(t *testing.T) {
	desired, observed := poolCity(2, 4)
	desired.Pools[0].Check = ""
	actions := Diff(desired, observed, noon, Policy{})
	if actions[0].Verb != VerbStart || actions[1].Verb != VerbStart || actions[2].Verb != VerbNone {
		t.Errorf("got %+v, want two starts", actions)
	}
	if a := actions[2]; a.Desired != client.DesiredStopped || a.State != client.StateStopped || a.Reason != "the pool worker wants 2" {
		t.Errorf("a member that is not wanted is %s (%s): %s", a.State, a.Desired, a.Reason)
	}
}

// TestDrainHasADeadline checks that the decision to drain a busy member has the deadline and the
// reason.
func TestDrainHasADeadline(t *testing.T) {
	desired, observed := poolCity(0, 1)
	run(desired, observed, runtime.ActivityBusy, 1)
	want := session.Drain{Epoch: 1, Reason: "the pool worker wants 0", Since: noon, Deadline: noon.Add(time.Minute)}
	if a := Diff(desired, observed, noon, wanted(0))[0]; a.Verb != VerbDrain || a.Drain != want || a.State != client.StateDraining {
		t.Errorf("got %+v, want the drain %+v", a, want)
	}
}

// TestMembersAboveTheNewMaximumAreRemoved checks that members above a reduced max are drained if
// they are busy and stopped if they are idle.
func TestMembersAboveTheNewMaximumAreRemoved(t *testing.T) {
	desired, observed := poolCity(0, 4)
	run(desired, observed, runtime.ActivityBusy, 3, 4)
	observed[3].Activity.State = runtime.ActivityIdle
	desired.Pools[0].Max, desired.Pools[0].Members, desired.Sessions = 2, desired.Pools[0].Members[:2], desired.Sessions[:2]
	var got []string
	for _, a := range Diff(desired, observed, noon, wanted(2)) {
		got = append(got, a.Agent+" "+string(a.Verb))
	}
	if want := "worker-1 wait worker-2 wait worker-3 drain worker-4 stop"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s: never more than 2, and no agent is cut off", got, want)
	}
}

// TestAnAgentThatBecomesAPoolIsDrained checks that a single agent that becomes a pool is drained
// before the first member is started.
func TestAnAgentThatBecomesAPoolIsDrained(t *testing.T) {
	desired, observed := poolCity(1, 1)
	former := healthy(sessionOf("worker"))
	former.Epoch, former.Activity = 1, observedActivity(runtime.ActivityBusy, noon)
	actions := Diff(desired, append(observed, former), noon, wanted(1))
	if actions[0].Verb != VerbWait || actions[1].Verb != VerbDrain {
		t.Errorf("got %+v, want the first member to wait until the agent has finished its work", actions)
	}
}

// TestDependentOfAPoolWaitsForOneMember checks that an agent that depends on a pool is started when
// one member is ready.
func TestDependentOfAPoolWaitsForOneMember(t *testing.T) {
	desired, observed := poolCity(1, 3)
	app := sessionOf("app")
	app.DependsOn = []string{"worker"}
	desired.Sessions, observed = append(desired.Sessions, &app), append(observed, stoppedSession(app))
	if a := Diff(desired, observed, noon, wanted(1))[3]; a.Verb != VerbWait || !strings.Contains(a.Reason, "a member of worker") {
		t.Errorf("no member runs: %+v", a)
	}
	run(desired, observed, runtime.ActivityReady, 2)
	if a := Diff(desired, observed, noon, wanted(1))[3]; a.Verb != VerbStart {
		t.Errorf("a member runs: %+v", a)
	}
}

// TestCityLimitOfSessions checks that no more sessions are started than max_active_sessions allows.
// A session whose start is in progress counts.
func TestCityLimitOfSessions(t *testing.T) {
	desired, observed := poolCity(0, 4)
	desired.MaxSessions = 2
	observed[3].Owner, observed[3].Working = OwnerUnknown, VerbStart // its first start
	count := map[Verb]int{}
	for _, a := range Diff(desired, observed, noon, wanted(4)) {
		count[a.Verb]++
	}
	if count[VerbStart] != 1 || count[VerbWait] != 2 {
		t.Errorf("one of 2 starts already: %v", count)
	}
}

// TestUnobservedSessionsCountForLimits checks that sessions that are known only from a record or a
// listing, and not observed yet, count for the limits of pools and of the city.
func TestUnobservedSessionsCountForLimits(t *testing.T) {
	dead := runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead}
	rows := []struct {
		name  string
		stray Observed
		pool  Verb // of a pool that may have one
		city  Verb // of a city that may have one
	}{
		{"a previous member by its record", Observed{Record: session.Record{Session: "gc-town-worker-2", Agent: "worker-2", Epoch: 1}}, VerbWait, VerbWait},
		{"another agent by its record", Observed{Record: session.Record{Session: "gc-town-other", Agent: "other", Epoch: 1}}, VerbStart, VerbWait},
		{"a record of what was never started", Observed{Record: session.Record{Session: "gc-town-worker-2", Agent: "worker-2"}}, VerbStart, VerbStart},
		{"a member that is listed", Observed{Record: session.Record{Session: "gc-town-worker-2"}}, VerbWait, VerbWait},
		{"another agent that is listed", Observed{Record: session.Record{Session: "gc-town-other"}}, VerbStart, VerbWait},
		{"a name that shows nothing", Observed{Record: session.Record{Session: "odd"}}, VerbWait, VerbWait},
		{"one whose place is blind", Observed{Record: session.Record{Session: "gc-town-worker-2", Agent: "worker-2", Epoch: 1}, UnknownReason: "no answer", Observation: dead}, VerbWait, VerbWait},
		{"one that is gone", Observed{Record: session.Record{Session: "gc-town-worker-2", Agent: "worker-2", Epoch: 1}, Observation: dead}, VerbStart, VerbStart},
		{"one that is another city's", Observed{Record: session.Record{Session: "gc-town-worker-2", Agent: "worker-2", Epoch: 1}, Owner: OwnerOther}, VerbStart, VerbStart},
	}
	for _, row := range rows {
		desired, observed := poolCity(1, 1)
		desired.City = "town"
		if a := Diff(desired, append(observed, row.stray), noon, Policy{})[0]; a.Verb != row.pool {
			t.Errorf("%s: a pool that may have one member decides %s (%s), want %s", row.name, a.Verb, a.Reason, row.pool)
		}
		lone := sessionOf("lone")
		desired = Desired{City: "town", MaxSessions: 1, Sessions: []*Session{&lone}}
		if a := Diff(desired, []Observed{stoppedSession(lone), row.stray}, noon, Policy{})[0]; a.Verb != row.city {
			t.Errorf("%s: a city that may have one session decides %s (%s), want %s", row.name, a.Verb, a.Reason, row.city)
		}
	}
}

// TestMovedAgentWaitsForItsPreviousSession checks that a moved agent is not started while it is
// unknown whether it still runs at its previous runtime provider.
func TestMovedAgentWaitsForItsPreviousSession(t *testing.T) {
	s := sessionOf("a")
	former := Observed{Record: session.Record{Session: s.Name, Provider: "former", Agent: "a", Epoch: 1}}
	if a := Diff(Desired{Sessions: []*Session{&s}}, []Observed{stoppedSession(s), former}, noon, Policy{})[0]; a.Verb != VerbWait {
		t.Errorf("it is unknown whether it still runs at its previous place, and the decision is %s: %s", a.Verb, a.Reason)
	}
	former.Epoch = 0 // a place that was configured and never used
	if a := Diff(Desired{Sessions: []*Session{&s}}, []Observed{stoppedSession(s), former}, noon, Policy{})[0]; a.Verb != VerbStart {
		t.Errorf("it was never started at its previous place, and the decision is %s: %s", a.Verb, a.Reason)
	}
}

// TestParseCount checks which outputs of a pool's check are a number of members, and what the error
// says about others.
func TestParseCount(t *testing.T) {
	for text, want := range map[string]int{"3": 3, "3\n": 3, "looking\n\n 12 \r\n\n": 12, "0": 0} {
		if n, err := ParseCount([]byte(text)); n != want || err != nil {
			t.Errorf("%q gives %d, %v", text, n, err)
		}
	}
	for text, words := range map[string]string{"": "printed nothing", " \n": "printed nothing", "3\nno": `"no"`, "-1": `"-1"`, "1.5": `"1.5"`, "3 x": `"3 x"`, strings.Repeat("9", 99): "…"} {
		if n, err := ParseCount([]byte(text)); err == nil || n != 0 || !strings.Contains(err.Error(), words) {
			t.Errorf("%q gives %d, %v; want an error with %s", text, n, err, words)
		}
	}
}

// FuzzParseCount checks that no output of a pool's check gives a negative number, or a number with
// an error.
func FuzzParseCount(f *testing.F) {
	for _, seed := range []string{"3", "a\n4\n", "-1", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		if n, err := ParseCount(output); n < 0 || err != nil && n != 0 {
			t.Errorf("%q gives %d, %v", output, n, err)
		}
	})
}

// TestAPoolIsNeverAboveItsMaximum checks, for random histories, that a pool never has more than max
// members. It counts after every step. Starts and stops take several steps.
func TestAPoolIsNeverAboveItsMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(t, "max")
		desired, observed := poolCity(0, most)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if most := rapid.IntRange(1, 5).Draw(t, "max"); rapid.IntRange(0, 9).Draw(t, "edit") == 0 {
				former := observed
				desired, observed = poolCity(0, most)
				for _, o := range former {
					observed = replaceObserved(observed, o)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				restart(observed)
			}
			policy := wanted(rapid.IntRange(0, 6).Draw(t, "wants"))
			before := alive(observed)
			for _, a := range Diff(desired, observed, noon, policy) {
				for i := range observed {
					if o := &observed[i]; o.Session == a.Session {
						act(t, o, a)
					}
				}
				if now := alive(observed); now > desired.Pools[0].Max && now > before {
					t.Fatalf("%d members live, %d may: %+v", now, desired.Pools[0].Max, a)
				}
			}
			for i := range observed {
				chance(t, &observed[i])
			}
		}
	})
}

// restart reduces what is known about the sessions to what a new controller knows before its first
// observations: the records.
func restart(observed []Observed) {
	for i := range observed {
		o := &observed[i]
		if o.Working != "" {
			o.Epoch = max(o.Epoch, 1) // it is saved before a start
		}
		o.Working, o.Managed, o.Owner = "", false, OwnerUnknown
		if o.Epoch != 0 {
			o.Observation, o.Activity = runtime.Observation{}, session.Activity{}
		}
	}
}

// replaceObserved replaces the observation with the same name, or appends it.
func replaceObserved(observed []Observed, o Observed) []Observed {
	for i := range observed {
		if observed[i].Session == o.Session {
			observed[i] = o
			return observed
		}
	}
	return append(observed, o)
}

// alive returns how many sessions run, may run, or have an action in progress.
func alive(observed []Observed) int {
	n := 0
	for _, o := range observed {
		if o.Working != "" || o.Observation.Session != runtime.Dead {
			n++
		}
	}
	return n
}

// act begins the action for a session. chance ends it later.
func act(t *rapid.T, o *Observed, a Action) {
	switch {
	case a.Verb == VerbDrain:
		o.Drain = a.Drain
	case a.Verb.Acts():
		o.Working = a.Verb
		if a.Verb == VerbStart {
			o.Epoch++ // it is saved before the start
		}
		if a.Verb.Ends() && o.Observation.Session == runtime.Unknown {
			t.Fatalf("%s of an unknown session", a.Verb)
		}
	default:
	}
}

// chance changes a session at random: an action ends, or the agent becomes busy or exits.
func chance(t *rapid.T, o *Observed) {
	living := runtime.Observation{Session: runtime.Alive, Agent: runtime.Alive}
	switch happens := rapid.IntRange(0, 9).Draw(t, "happens"); {
	case o.Working != "" && happens < 5:
		switch o.Working {
		case VerbStop:
			o.Observation, o.Managed = runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead}, false
		default:
			o.Observation, o.Managed, o.Owner = living, true, OwnerThisCity
		}
		o.Working = ""
	case o.Working != "":
	case happens == 5 && o.Observation.Session == runtime.Alive:
		o.Observation = runtime.Observation{} // unknown
	case happens == 6 && o.Observation.Session == runtime.Unknown:
		o.Observation, o.Owner = living, OwnerThisCity
	case happens == 7 && o.Observation.Session == runtime.Unknown:
		o.Observation = runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead}
	case happens == 7 && o.Observation.Session == runtime.Alive:
		o.Observation = runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead}
	case happens == 8:
		o.Activity.State = rapid.SampledFrom([]runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityUnknown}).Draw(t, "does")
	case happens == 9:
		o.Drain.Acked = noon
	default:
	}
}
