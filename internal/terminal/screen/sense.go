package screen

import (
	"context"
	"time"

	"gascity/runtime"
)

// Sense returns what the frame shows of the agent's activity, each source for itself, and
// what blocks it. It is pure: now is the time to which ages are measured. A screen that is
// not as the rules say is [runtime.ActivityUnknown], never idle. What only others know is
// missing: facts about processes, the instance in the pending question's RequestID, and
// how long the screen has said so, for which Since is the last output.
func Sense(f Frame, rules Rules, now time.Time) runtime.Reading {
	r := runtime.Reading{At: now}
	if f.Exited {
		return r
	}
	if !f.LastOutput.IsZero() {
		f.LastOutput = f.LastOutput.In(now.Location()) // a time of day that is drawn is the reader's
	}
	v := NewSnapshot(f)
	reported := func() (runtime.Evidence, bool) { return v.report(rules) }
	for _, read := range []func() (runtime.Evidence, bool){reported, v.progress, v.shellMark} {
		if e, ok := read(); ok && (e.Source != runtime.SourceMark || !rules.Screen.MessageMarks) {
			r.Evidence = append(r.Evidence, e)
		}
	}
	screen, again := v.aged(v.screen(rules), now)
	r.Evidence = append(r.Evidence, screen)
	for i := range r.Evidence {
		r.Evidence[i].At = now
	}
	r.Again = again
	if asked, ok := v.asked(rules); ok {
		if due := v.Status.Since.Add(askedRests); asked.source == runtime.SourceStatus && now.Before(due) {
			r.Again = due // its words may follow
		} else {
			r.Pending = asked.interaction()
		}
	}
	return r
}

// askedRests is how long after a program's report that it waits for an answer the question
// may take to be drawn.
const askedRests = 300 * time.Millisecond

// aged judges evidence of the screen by the age of the last output, and says when that
// will change although nothing is printed.
func (v Snapshot) aged(e runtime.Evidence, now time.Time) (runtime.Evidence, time.Time) {
	e.Since = v.LastOutput
	if v.LastOutput.IsZero() {
		return e, time.Time{}
	}
	age := now.Sub(v.LastOutput)
	switch {
	case e.Activity == runtime.ActivityReady && age < flowing:
		e.Activity, e.Detail = runtime.ActivityUnknown, "output is still coming"
		return e, v.LastOutput.Add(flowing)
	case e.Activity == runtime.ActivityBusy && age > frozen:
		e.Detail += ", but the screen has not changed for " + age.Round(time.Second).String()
	case e.Activity == runtime.ActivityLimited && e.Until.After(now):
		return e, e.Until
	}
	return e, time.Time{}
}

const (
	// wholeAfter is how old the last output must be for a screen to be taken as it is.
	wholeAfter = 20 * time.Millisecond
	// maxFrames bounds the looks at a screen that never rests.
	maxFrames = 4
)

// asked is what blocked a session when it was looked at last; zero: nothing did.
type asked struct {
	life, request string
	bound         string // the request by [Life.Bind]

	next      string    // another request, seen since then without a break; empty: none is asked
	since     time.Time // zero: the request is on the screen
	unsettled time.Time // when it was not on the screen first
}

const (
	// stands is how long a question must be on the screen, or missing there, until that is
	// true: a program that redraws its screen may show a part of it in between.
	stands = 100 * time.Millisecond
	// maxUnsettled bounds the wait for a screen that shows another question with each look.
	maxUnsettled = time.Second
)

// Sense returns the function of this name for the newest frame of a session, which it returns
// too. A question blocks the agent if it did when the session was read last, or has stood
// for a moment. Until then a question that appears is a reading without it that says when
// to read again; for one that changes or disappears Sense waits.
func (m *Memory) Sense(ctx context.Context, session string, life Life, t Terminal, rules Rules) (Frame, runtime.Reading, error) {
	for {
		f, err := Whole(ctx, t)
		if err != nil || f.Exited {
			return f, runtime.Reading{}, err
		}
		now := time.Now()
		r := Sense(f, rules, now)
		request := ""
		if r.Pending != nil {
			request = r.Pending.RequestID
		}
		settled, before := m.settles(session, life, request, f.LastOutput, now)
		if settled {
			return f, r, nil
		}
		if before == "" {
			return f, unsettled(r, now), nil
		}
		select {
		case <-time.After(wholeAfter):
		case <-ctx.Done():
			return f, r, context.Cause(ctx)
		}
	}
}

// unsettled returns a reading of a screen on which a question appears: the agent waits, and the next
// reading says for what.
func unsettled(r runtime.Reading, now time.Time) runtime.Reading {
	for i, e := range r.Evidence {
		if e.Source == runtime.SourceScreen {
			r.Evidence[i].Activity, r.Evidence[i].Detail = runtime.ActivityWaiting, "a question appears"
			r.Evidence[i].Kind, r.Evidence[i].Until, r.Evidence[i].Obstacle = "", time.Time{}, runtime.Obstacle{}
		}
	}
	r.Pending, r.Again = nil, now.Add(wholeAfter)
	return r
}

// settles reports whether the request blocks the session: it did before, or has stood for a moment.
// Empty means that nothing does. An answered question may disappear at once. before is the request that blocked
// the session until now.
func (m *Memory) settles(session string, life Life, request string, lastOutput, now time.Time) (settled bool, before string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.asked[session]
	if was.life != life.Name || was.request != "" && life.Bind(was.request) != was.bound {
		was = asked{life: life.Name}
	}
	if m.asked == nil {
		m.asked = map[string]asked{}
	}
	if was.request != request {
		if was.unsettled.IsZero() {
			was.unsettled = now
		}
		if was.since.IsZero() || was.next != request {
			was.next, was.since = request, now
		}
		if now.Sub(lastOutput) < stands && now.Sub(was.since) < stands && now.Sub(was.unsettled) < maxUnsettled {
			m.asked[session] = was
			return false, was.request
		}
	}
	m.asked[session] = asked{life: life.Name, request: request, bound: life.Bind(request)}
	return true, was.request
}

// Standing returns the question that is meant, by its RequestID. One that is not on the screen
// may be so in a moment: the program redraws. [runtime.ErrInteractionGone] if it is not.
func Standing(ctx context.Context, t Terminal, rules Rules, meant func(request string) bool) (*runtime.PendingInteraction, error) {
	for began := time.Now(); ; {
		f, err := Whole(ctx, t)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		if p := Sense(f, rules, now).Pending; p != nil && meant(p.RequestID) {
			return p, nil
		}
		if f.Exited || now.Sub(f.LastOutput) >= stands || now.Sub(began) >= maxSteady {
			return nil, runtime.ErrInteractionGone
		}
		select {
		case <-time.After(wholeAfter):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Whole returns a frame of a screen that is not in the middle of being painted, or the
// newest after a moment.
func Whole(ctx context.Context, t Terminal) (Frame, error) {
	for n := 1; ; n++ {
		f, err := t.Frame(ctx, 0)
		wait := wholeAfter - time.Since(f.LastOutput)
		if f.Modes.Synchronized {
			wait = wholeAfter
		}
		if err != nil || f.Exited || wait <= 0 || n == maxFrames {
			return f, err
		}
		select {
		case <-time.After(min(wait, wholeAfter)):
		case <-ctx.Done():
			return f, context.Cause(ctx)
		}
	}
}
