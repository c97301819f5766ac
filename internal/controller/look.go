package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/event"
	"gascity/internal/plan"
	"gascity/internal/session"
	"gascity/runtime"
)

// The notes that the controller keeps with a session, so that a later one knows
// whose it is and what it was started with.
const (
	metaCity      = "GC_CITY_PATH"
	metaAgent     = "GC_AGENT"
	metaCore      = "GC_CONFIG_HASH"
	metaProvision = "GC_PROVISION_HASH"
	metaLaunch    = "GC_LAUNCH_HASH"
	metaLive      = "GC_LIVE_HASH"
	metaFields    = "GC_CONFIG_FIELDS"
	metaWarning   = "GC_START_WARNING" // what the driver says a start left open
	metaDrain     = "GC_DRAIN"         // tells an agent to wind down: by when, in Unix seconds
)

// screenLines is how much of a dead agent's screen is kept.
const screenLines = 40

// finding is what a look found.
type finding struct {
	seen   runtime.Observation
	err    error
	notes  *notes // nil if they were not read
	screen string
}

// notes are what a session says of itself.
type notes struct {
	city, agent string
	stored      session.Fingerprints
}

// look begins a look at an entry that is stale, if nothing else is done with it
// and the limit allows.
func (l *loop) look(e *entry) {
	if !e.again.IsZero() {
		if l.now().Before(e.again) {
			l.wakeAt(e.again)
		} else {
			e.stale = true
		}
	}
	if !e.stale || e.job != nil || e.place.provider == nil || e.place.blind != "" {
		return
	}
	if l.now().Before(e.lookAt) {
		l.wakeAt(e.lookAt)
		return
	}
	if l.looks >= l.settings().Looks {
		return // the end of another look makes the next pass
	}
	l.looks++
	e.stale, e.again = false, time.Time{}
	p, name := e.place.provider, e.rec.Session
	token, attributed := e.rec.Token, e.owner != plan.OwnerUnknown
	l.begin(e, jobLook, "", lookLimit, func(ctx context.Context) func() {
		f := observe(ctx, p, name)
		if f.err == nil && f.seen.Session == runtime.Alive && (!attributed || f.seen.InstanceToken != token) {
			f.notes, f.err = readNotes(p, name)
		}
		return func() { l.found(e, f) }
	})
}

// countLooks counts the looks that hold a place in the limit.
func (l *loop) countLooks() int {
	n := 0
	for _, e := range l.entries {
		if e.job != nil && e.job.kind == jobLook && l.now().Before(e.job.overdue) {
			n++
		}
	}
	return n
}

// observe looks at a session; of a corpse it takes the last screen too.
func observe(ctx context.Context, p runtime.Provider, name string) finding {
	var f finding
	f.seen, f.err = runtime.Observe(ctx, p, name)
	if f.err == nil && f.seen.Session == runtime.Alive && f.seen.Agent == runtime.Dead {
		if text, err := p.Peek(name, screenLines); err == nil {
			f.screen = text
		}
	}
	return f
}

// readNotes reads the notes of a session. A session that vanished meanwhile has
// none.
func readNotes(p runtime.Provider, name string) (*notes, error) {
	n := &notes{}
	var fields string
	for key, into := range map[string]*string{
		metaCity: &n.city, metaAgent: &n.agent, metaFields: &fields,
		metaCore: &n.stored.Core, metaProvision: &n.stored.Provision, metaLaunch: &n.stored.Launch, metaLive: &n.stored.Live,
	} {
		value, err := p.GetMeta(name, key)
		if runtime.IsSessionGone(err) {
			return &notes{}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read its notes: %w", err)
		}
		*into = value
	}
	if fields != "" && json.Unmarshal([]byte(fields), &n.stored.Fields) != nil {
		n.stored.Fields = nil // only hides which fields drifted
	}
	return n, nil
}

// readNote returns one note, empty if it cannot be read.
func readNote(p runtime.Provider, name, key string) string {
	value, err := p.GetMeta(name, key)
	if err != nil {
		return ""
	}
	return value
}

// writeNotes is the opposite of readNotes.
func writeNotes(p runtime.Provider, name string, n notes) error {
	fields, err := json.Marshal(n.stored.Fields)
	if err != nil {
		return err
	}
	for _, note := range [][2]string{
		{metaAgent, n.agent},
		{metaFields, string(fields)},
		{metaProvision, n.stored.Provision},
		{metaLaunch, n.stored.Launch},
		{metaLive, n.stored.Live},
		{metaCore, n.stored.Core},
		{metaCity, n.city}, // last: who finds it finds the others
	} {
		if err := p.SetMeta(name, note[0], note[1]); err != nil {
			return fmt.Errorf("cannot write the note %s: %w", note[0], err)
		}
	}
	return nil
}

// found takes over what a look found.
func (l *loop) found(e *entry, f finding) {
	now := l.now()
	if f.err != nil {
		e.blind = fmt.Sprintf("it cannot be observed: %v", f.err)
		e.blinds++
		e.stale, e.lookAt = true, now.Add(min(l.c.opts.Jitter(pauseAfter(e.blinds)), l.settings().Patrol))
		if errors.Is(f.err, runtime.ErrRuntimeUnavailable) {
			e.place.wanted = true
		}
		return
	}
	e.blind, e.blinds, e.lookAt = "", 0, time.Time{}
	if f.seen.At.IsZero() {
		f.seen.At = now
	}
	e.seen, e.confirmed = f.seen, true
	l.settle(e)
	same := f.seen.InstanceToken != "" && session.PublicInstance(f.seen.InstanceToken) == e.rec.Instance
	if f.notes != nil {
		l.attribute(e, *f.notes, same)
	}
	switch {
	case f.seen.Session != runtime.Alive || f.seen.InstanceToken == e.rec.Token:
	case same && e.rec.Token == "": // a former controller's; its token is read again
		e.rec.Token, e.rec.Handle = f.seen.InstanceToken, f.seen.Handle
	default:
		l.successor(e, f)
	}
	if f.screen != "" && f.screen != e.rec.Screen {
		e.rec.Screen = f.screen
		e.touch()
	}
	if !e.running() && f.seen.Session != runtime.Unknown && e.draining() {
		l.endDrain(e)
		e.rec.Running = false // it was meant to end
	}
	switch {
	case e.running():
		if !e.place.streams {
			l.sense(e)
		}
		if !e.rec.Running {
			e.rec.Running = true
			e.touch()
		}
	case f.seen.Session != runtime.Unknown && e.rec.Running && !e.claimed:
		l.ended(e)
	}
}

// settle arranges for another look where this one left a question open and no
// event will answer it: an agent that has just ended and of which nobody knows
// yet how, one that lives on without its session, and a session of which nobody
// could tell whether it exists.
func (l *loop) settle(e *entry) {
	seen := &e.seen
	ending := seen.Session == runtime.Alive && seen.Agent == runtime.Dead && seen.Exit == nil && e.rec.Running
	orphan := seen.Session == runtime.Dead && seen.Agent != runtime.Dead
	switch {
	case ending && e.unsure < exitLooks:
		seen.Agent = runtime.Unknown
		e.again = l.now().Add(exitPause << e.unsure)
	case orphan, seen.Session == runtime.Unknown:
		e.again = l.now().Add(min(l.c.opts.Jitter(pauseAfter(e.unsure+1)), l.settings().Patrol))
	default:
		e.unsure = 0
		return
	}
	e.unsure++
	l.wakeAt(e.again)
}

// attribute settles whose the session is.
func (l *loop) attribute(e *entry, n notes, same bool) { //nolint:revive // whether the record is about what runs is a fact, no mode
	switch n.city {
	case "":
		if same {
			e.owner = plan.OwnerUs // its start was cut off before its notes were written
			return
		}
		e.owner = plan.OwnerUnknown
	case l.c.opts.Root:
		e.owner = plan.OwnerUs
		if e.rec.Agent == "" {
			e.rec.Agent = n.agent
		}
	default:
		e.owner = plan.OwnerOther
	}
	if !reflect.DeepEqual(e.rec.Stored, n.stored) {
		e.rec.Stored = n.stored
		e.touch()
	}
}

// successor notes that an incarnation runs which this controller did not start.
func (l *loop) successor(e *entry, f finding) {
	if e.rec.Running && !e.claimed {
		l.ended(e)
	}
	e.known, e.claimed = false, false
	e.touch()
	e.rec.Epoch++
	e.identify(f.seen)
	e.rec.StartedAt, e.rec.Warning = f.seen.StartedAt, ""
	e.rec.Running = e.running()
	e.rec.Exit = f.seen.Exit
	e.clearSenses()
}

// ended notes that the incarnation that ran is over although nobody asked.
func (l *loop) ended(e *entry) {
	now := l.now()
	exit := e.seen.Exit
	lived := now.Sub(e.rec.StartedAt)
	e.known = false
	e.touch()
	e.rec.Running, e.rec.Exit, e.rec.Lost = false, exit, exit == nil && e.seen.Session == runtime.Dead
	e.clearSenses()
	key := e.rec.Key()
	s := l.desired[key]
	if s != nil && s.Config.Lifecycle == runtime.LifecycleOneShot && exit != nil && exit.Code == 0 && exit.Signal == "" {
		l.c.emit(event.SessionExited, e, "the agent has finished", map[string]string{"exit": exit.String()})
		return
	}
	if l.ending != nil {
		e.last = client.StopResult{Session: e.rec.Session, Agent: e.rec.Agent, Processes: len(e.tree), Survivors: survivors(e.tree)}
		l.countEnd(e)
	}
	fault := "the session vanished without a trace"
	kind := event.SessionLost
	if exit != nil {
		kind, fault = event.SessionExited, "the agent "+exit.String()
		if words := lastWords(e.rec.Screen); words != "" && exit.Code != 0 && exit.Signal == "" {
			fault += ", saying: " + words
		}
	} else if !e.rec.Lost {
		kind, fault = event.SessionExited, "the agent ended; nobody knows how"
	}
	if lived >= stableLife {
		e.rec.Streak = 0
	}
	data := map[string]string{}
	switch {
	case l.limited(e):
		data["reason"] = "the vendor serves nothing for now; no failure"
	case l.ending == nil && s != nil && !s.Suspended && e.rec.Hold.Kind == "":
		l.fail(e, fault)
		data["next"] = stamp(e.rec.NextAt)
	}
	if exit != nil {
		data["exit"] = exit.String()
	}
	l.c.emit(kind, e, fault, data)
}

// maxWords bounds the last words of an agent, in bytes.
const maxWords = 200

// lastWords returns the last line that is not blank: what a program that gives
// up says.
func lastWords(screen string) string {
	line := strings.TrimRight(screen, " \t\r\n")
	line = strings.TrimSpace(line[strings.LastIndexByte(line, '\n')+1:])
	if len(line) > maxWords {
		line = strings.ToValidUTF8(line[:maxWords], "") + "…"
	}
	return line
}

// fail counts a failure and puts off the next start.
func (l *loop) fail(e *entry, fault string) {
	now := l.now()
	e.rec.Fail(now, l.settings().RestartWindow, fault)
	e.rec.NextAt = now.Add(l.c.opts.Jitter(pauseAfter(e.rec.Streak)))
	e.touch()
}
