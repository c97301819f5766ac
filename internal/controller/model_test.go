package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/store/storetest"
	"gascity/runtime"
)

// step is one thing that happens to a town.
type step struct {
	kind  string
	agent int
	value int
}

var stepKinds = []string{
	"wait", "wait", "wait", "wait", "end", "vanish", "blind", "down", "partial", "store", "heal", "heal",
	"edit", "remove", "add", "sleep", "wake", "suspend", "resume", "drain", "ack", "kill", "restart", "reset",
	"output", "attach", "activity", "stubborn", "crash", "successor",
}

const (
	modelAgents  = 4
	foreignToken = "of-somebody-" // how the tokens begin of instances that somebody else starts
)

// model is what is meant to be, beside the town: an agent may be ended only if it
// allows that.
type model struct {
	w      *fakeCity
	store  *storetest.Faulty
	broken bool

	held     map[string]session.HoldKind
	ends     map[string]bool // its present instance may be ended
	gone     map[string]bool // not configured
	loose    map[string]bool // it was not configured once: its record is unknown
	problems []string
}

func (m *model) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

// in changes or reads the model: acts look at it with the fake's lock held.
func (m *model) in(do func()) { m.w.fake.set(func(*fake) { do() }) }

// watch checks every act on the fake place at the moment at which it is done.
func (m *model) watch() {
	f := m.w.fake
	f.onStop = func(name string) {
		s := f.sessions[name]
		if s == nil || s.exit != nil || m.ends[name] {
			return
		}
		m.problem("an unwanted stop of the healthy %s", name)
	}
	f.onStarted = func(name string) {
		switch {
		case m.gone[name]:
			m.problem("a start of %s, which is not configured", name)
		case m.held[name] != "":
			m.problem("a start of %s, which is held: %s", name, m.held[name])
		case m.broken:
			m.problem("a start of %s that the store does not know", name)
		}
		m.ends[name] = false
	}
}

func TestNothingHealthyIsEndedWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				rapid.SampledFrom(stepKinds).Draw(rt, "kind"), rapid.IntRange(0, modelAgents-1).Draw(rt, "agent"),
				rapid.IntRange(0, 5).Draw(rt, "value"),
			}
		}), 1, 40).Draw(rt, "steps")
		var problems []string
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCity(t, names(modelAgents))
			m := &model{w: w, held: map[string]session.HoldKind{}, ends: map[string]bool{}, gone: map[string]bool{}, loose: map[string]bool{}}
			m.store = w.breakable()
			w.fake.readings = map[string]runtime.Reading{}
			m.watch()
			w.begin()
			for _, s := range steps {
				m.apply(s)
				m.agree()
			}
			m.checkConverged()
			problems = m.problems
			w.end()
		})
		if len(problems) > 0 {
			rt.Fatalf("%v", problems)
		}
	})
}

// apply lets one step happen.
func (m *model) apply(s step) {
	w, agent := m.w, fmt.Sprintf("a%03d", s.agent)
	name, ctx, none := "gc-town-"+agent, m.w.t.Context(), client.LifecycleRequest{}
	ok := func(_ client.Done, err error) bool { return err == nil }
	switch s.kind {
	case "wait":
		w.after([]time.Duration{10 * time.Millisecond, time.Second, 5 * time.Second, 31 * time.Second, 2 * time.Minute, 10 * time.Minute}[s.value])
	case "end":
		if w.fake.alive(name) {
			w.fake.end(name, s.value%3)
		}
	case "vanish":
		w.fake.vanish(name)
	case "blind":
		w.fake.set(func(f *fake) { f.blind[name] = true })
	case "down":
		w.fake.set(func(f *fake) { f.down = errDown })
	case "partial":
		w.fake.set(func(f *fake) { f.partial = true })
	case "store":
		m.in(func() { m.broken = true })
		m.store.Set([]storetest.Mode{storetest.Fails, storetest.Hangs, storetest.FailsWrites}[s.value%3])
	case "heal":
		m.heal()
	case "edit":
		m.edited(func(d *plan.Desired) {
			for i := range d.Sessions {
				if d.Sessions[i].Name == name {
					d.Sessions[i].Config.WorkDir = fmt.Sprint("/", s.value)
					m.in(func() { m.ends[name] = true })
				}
			}
		})
	case "remove":
		m.in(func() {
			m.gone[name], m.ends[name], m.loose[name] = true, true, true
			m.held[name] = "" // what is forgotten with its record
		})
		m.edited(func(d *plan.Desired) {
			d.Sessions = slices.DeleteFunc(slices.Clone(d.Sessions), func(s plan.Session) bool { return s.Name == name })
		})
	case "add":
		if m.gone[name] {
			m.in(func() { m.gone[name] = false })
			m.edited(func(d *plan.Desired) { d.Sessions = append(slices.Clone(d.Sessions), agentSession(agent)) })
		}
	case "sleep", "suspend", "wake", "resume", "drain":
		m.order(s.kind, agent)
	case "ack":
		_ = ok(w.c.DrainAck(ctx, agent, none))
	case "reset":
		_ = ok(w.c.Reset(ctx, agent, none))
	case "kill", "restart":
		m.replace(s.kind, agent)
	case "output":
		w.fake.works(name)
	case "attach":
		w.fake.set(func(f *fake) {
			if f.sessions[name] != nil {
				f.sessions[name].attached = s.value % 2
				f.emit(runtime.Event{Kind: runtime.EventAttached, Session: name, Attached: s.value % 2})
			}
		})
	case "activity":
		w.fake.setActivity(name, []runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityWaiting, runtime.ActivityReady, "", runtime.ActivityBackground}[s.value])
	case "stubborn":
		w.fake.set(func(f *fake) { f.stubborn[name] = 1 })
	case "successor":
		w.fake.set(func(f *fake) {
			if f.sessions[name] != nil {
				f.sessions[name].token = fmt.Sprint(foreignToken, s.value)
				f.emit(runtime.Event{Kind: runtime.EventStarted, Session: name})
			}
		})
	case "crash":
		m.crash()
	}
	synctest.Wait()
}

// order gives an order that is kept. What is refused, or is not taken by the
// store, changes nothing; a drain that is over leaves its session asleep.
func (m *model) order(kind, agent string) {
	w, name := m.w, "gc-town-"+agent
	verb := w.c.Sleep
	switch kind {
	case "suspend":
		verb = w.c.Suspend
	case "wake":
		verb = w.c.Wake
	case "resume":
		verb = w.c.Resume
	case "drain":
		verb = w.c.Drain
	}
	var may bool
	var held session.HoldKind
	m.in(func() {
		may, held = m.ends[name], m.held[name]
		switch kind {
		case "sleep", "suspend", "drain":
			m.ends[name] = true // from now on: the answer may come after the act
		default:
			m.held[name] = ""
		}
	})
	done, err := verb(w.t.Context(), agent, client.LifecycleRequest{})
	m.in(func() {
		switch {
		case err != nil || !done.Changed:
			m.ends[name], m.held[name] = may, held
		case kind == "sleep":
			m.held[name] = session.HoldSleep
		case kind == "suspend":
			m.held[name] = session.HoldSuspend
		}
	})
}

func (m *model) replace(kind, agent string) {
	name := "gc-town-" + agent
	var may bool
	var held session.HoldKind
	m.in(func() {
		may, held = m.ends[name], m.held[name]
		if m.ends[name] = true; kind == "restart" {
			m.held[name] = "" // it wakes
		}
	})
	ctx, cancel := context.WithTimeout(m.w.t.Context(), time.Minute)
	defer cancel()
	var err error
	if kind == "kill" {
		_, err = m.w.c.Kill(ctx, agent, client.LifecycleRequest{})
	} else {
		_, err = m.w.c.Restart(ctx, client.RestartRequest{Targets: []string{agent}})
	}
	m.in(func() {
		switch {
		case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrNotFound):
			m.ends[name], m.held[name] = may, held
		case err != nil:
			m.loose[name] = true // the order stands, and is carried out when it can be
		}
	})
}

func (m *model) edited(change func(*plan.Desired)) {
	m.w.edit(change)
	if err := m.w.reload(); err != nil {
		m.problem("the edit was refused: %v", err)
	}
}

func (m *model) heal() {
	m.store.Set(storetest.Works)
	m.w.fake.set(func(f *fake) {
		m.broken = false
		f.down, f.partial = nil, false
		clear(f.blind)
		clear(f.stubborn)
	})
}

// crash kills the controller: nothing that it does from then on reaches the
// store or the agents.
func (m *model) crash() {
	broken := m.broken
	m.store.Set(storetest.Fails)
	m.w.stopped = true
	m.w.cancel()
	if err := <-m.w.done; err != nil {
		m.w.t.Log("the crashed controller:", err) // it could not write what was left
	}
	m.store = m.w.breakable()
	if broken {
		m.store.Set(storetest.Fails)
	}
	m.w.begin()
}

// agree fails if two surfaces contradict each other: the status has the record's
// word, the plan its own.
func (m *model) agree() {
	for _, t := range m.w.c.Store.Targets() {
		shown, planned := t.Agent.State, t.Action.State
		if t.Action.Verb == plan.VerbStart && shown == client.StateCreating {
			shown = client.StateStarting
		}
		if shown != planned || string(t.Snapshot.State) != t.Agent.State {
			m.problem("%s is %s in the status, %s in the plan and %s in the view (%s)", t.Record.Session, shown, planned, t.Snapshot.State, t.Action.Reason)
		}
	}
}

// attributable reports whether the controller can know that the session is its city's: it started the
// instance, or a note of the session names the city. A start whose notes could not be written leaves
// none, and an instance that somebody else starts there then is left alone.
func (m *model) attributable(name string) (is bool) {
	m.in(func() {
		s := m.w.fake.sessions[name]
		is = !strings.HasPrefix(s.token, foreignToken) || s.meta[ops.MetaCity] != ""
	})
	return is
}

// checkConverged lets everything work again and fails unless the town comes to rest as it
// is meant to be.
func (m *model) checkConverged() {
	m.heal()
	for i := range modelAgents {
		m.w.fake.setActivity(fmt.Sprintf("gc-town-a%03d", i), runtime.ActivityIdle)
	}
	m.w.fake.set(func(f *fake) {
		for name, s := range f.sessions {
			s.attached = 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: name})
		}
	})
	m.w.after(30 * time.Minute)
	m.agree()
	lives := m.w.fake.lives()
	for _, name := range names(modelAgents) {
		at := "gc-town-" + name
		var hold session.HoldKind
		if e, err := m.w.c.Store.Find(at); err == nil {
			hold = e.Record.Hold.Kind
		}
		asked := m.held[at]
		switch {
		case !m.loose[at] && (asked != "" && hold != asked || asked == "" && hold == session.HoldSuspend):
			m.problem("%s is to be held by %q and is by %q", at, asked, hold)
		case m.gone[at] && lives[at] != "" && m.attributable(at):
			m.problem("%s is not configured and runs", at)
		case !m.gone[at] && hold == "" && lives[at] == "":
			m.problem("%s is to run and does not: %+v", at, m.w.agent(name))
		case hold != "" && lives[at] != "":
			m.problem("%s is held by %q and runs", at, hold)
		}
	}
}
