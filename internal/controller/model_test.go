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
	"gascity/runtime"
	"gascity/test/storetest"
)

// step is one random event.
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
	foreignToken = "of-somebody-" // prefix of the tokens of instances that the controller did not start
)

// model is the expected state of the city. An agent may be stopped only if the model allows it.
type model struct {
	w      *testCity
	store  *storetest.Faulty
	broken bool

	held     map[string]session.HoldKind
	ends     map[string]bool // its current instance may be stopped
	gone     map[string]bool // not configured
	loose    map[string]bool // it was not configured for some time, so its record is unknown
	problems []string
}

func (m *model) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

// in changes or reads the model with the provider's lock held.
func (m *model) in(do func()) { m.w.provider.set(func(*testProvider) { do() }) }

// watch checks every start and stop at the moment of the call.
func (m *model) watch() {
	f := m.w.provider
	f.onStop = func(name string) {
		if !f.aliveLocked(name) || m.ends[name] {
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

func TestRandomEventsStopNoHealthyAgent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				rapid.SampledFrom(stepKinds).Draw(rt, "kind"), rapid.IntRange(0, modelAgents-1).Draw(rt, "agent"),
				rapid.IntRange(0, 5).Draw(rt, "value"),
			}
		}), 1, 40).Draw(rt, "steps")
		var problems []string
		synctest.Test(t, func(t *testing.T) {
			w := newTestCity(t, names(modelAgents))
			m := &model{w: w, held: map[string]session.HoldKind{}, ends: map[string]bool{}, gone: map[string]bool{}, loose: map[string]bool{}}
			m.store = w.useFaultyStore()
			w.provider.readings = map[string]runtime.Reading{}
			m.watch()
			w.start()
			for _, s := range steps {
				m.apply(s)
				m.agree()
			}
			m.checkConverged()
			problems = m.problems
			w.stop()
		})
		if len(problems) > 0 {
			rt.Fatalf("%v", problems)
		}
	})
}

// apply carries out one step.
func (m *model) apply(s step) {
	w, agent := m.w, fmt.Sprintf("a%03d", s.agent)
	name, ctx, none := "gc-town-"+agent, m.w.t.Context(), client.LifecycleRequest{}
	ok := func(_ client.Done, err error) bool { return err == nil }
	switch s.kind {
	case "wait":
		w.advance([]time.Duration{10 * time.Millisecond, time.Second, 5 * time.Second, 31 * time.Second, 2 * time.Minute, 10 * time.Minute}[s.value])
	case "end":
		if w.provider.alive(name) {
			w.provider.end(name, s.value%3)
		}
	case "vanish":
		w.provider.vanish(name)
	case "blind":
		w.provider.set(func(f *testProvider) { f.blind[name] = true })
	case "down":
		w.provider.set(func(f *testProvider) { f.down = errDown })
	case "partial":
		w.provider.set(func(f *testProvider) { f.partial = true })
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
			m.held[name] = "" // its record is removed
		})
		m.edited(func(d *plan.Desired) {
			d.Sessions = slices.DeleteFunc(slices.Clone(d.Sessions), func(s *plan.Session) bool { return s.Name == name })
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
		w.provider.works(name)
	case "attach":
		w.provider.set(func(f *testProvider) {
			if f.sessions[name] != nil {
				f.sessions[name].attached = s.value % 2
				f.emit(runtime.Event{Kind: runtime.EventAttached, Session: name, Attached: s.value % 2})
			}
		})
	case "activity":
		w.provider.setActivity(name, []runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityWaiting, runtime.ActivityReady, "", runtime.ActivityBackground}[s.value])
	case "stubborn":
		w.provider.set(func(f *testProvider) { f.stubborn[name] = 1 })
	case "successor":
		w.provider.set(func(f *testProvider) {
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

// order sends a durable request. A request that is refused or cannot be saved changes nothing. A session
// sleeps after its drain.
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
			m.ends[name] = true // before the request: the stop may come before its answer
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
			m.loose[name] = true // the request stays, and is carried out later
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
	m.w.provider.set(func(f *testProvider) {
		m.broken = false
		f.down, f.partial = nil, false
		clear(f.blind)
		clear(f.stubborn)
	})
}

// crash kills the controller: its later calls do not reach the store or the agents.
func (m *model) crash() {
	broken := m.broken
	m.store.Set(storetest.Fails)
	m.w.stopped = true
	m.w.cancel()
	if err := <-m.w.done; err != nil {
		m.w.t.Log("the crashed controller:", err) // it could not save everything
	}
	m.store = m.w.useFaultyStore()
	if broken {
		m.store.Set(storetest.Fails)
	}
	m.w.start()
}

// agree checks that the status and the plan show the same state.
func (m *model) agree() {
	for _, t := range m.w.c.published.Targets() {
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
// instance, or the metadata of the session names the city. After a start whose metadata could not be written
// there is none, and a foreign instance of that session is not changed.
func (m *model) attributable(name string) (is bool) {
	m.in(func() {
		s := m.w.provider.sessions[name]
		is = !strings.HasPrefix(s.token, foreignToken) || m.w.provider.note(name, ops.MetaCity) != ""
	})
	return is
}

// checkConverged repairs everything and checks that the city reaches the expected state.
func (m *model) checkConverged() {
	m.heal()
	for i := range modelAgents {
		m.w.provider.setActivity(fmt.Sprintf("gc-town-a%03d", i), runtime.ActivityIdle)
	}
	m.w.provider.set(func(f *testProvider) {
		for name, s := range f.sessions {
			s.attached = 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: name})
		}
	})
	m.w.advance(30 * time.Minute)
	m.agree()
	lives := m.w.provider.lives()
	for _, name := range names(modelAgents) {
		at := "gc-town-" + name
		var hold session.HoldKind
		if e, err := m.w.c.published.Find(at); err == nil {
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
