package screen

import (
	"context"
	"time"

	"gascity/internal/retry"
	"gascity/runtime"
)

// Sense returns the evidence of the agent's activity in a frame, one entry for each source, and the question that blocks
// the agent. It is a pure function: ages are measured to now. A screen that does not match the rules is
// [runtime.ActivityUnknown], never idle.
//
// The caller must add what a frame does not contain: evidence of processes and the instance in the RequestID of the
// pending question. Since of the screen's evidence is the time of the last output.
func Sense(f Frame, rules Rules, now time.Time) runtime.Reading {
	r := runtime.Reading{At: now}
	if f.Exited {
		return r
	}
	if !f.LastOutput.IsZero() {
		f.LastOutput = f.LastOutput.In(now.Location()) // a time of day on the screen is in the reader's time zone
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
			r.Again = due // the text of the question may still be drawn
		} else {
			r.Pending = asked.interaction()
		}
	}
	return r
}

// askedRests is the time that a program has to draw a question after it has reported that it waits for an answer.
const askedRests = 300 * time.Millisecond

// aged corrects the screen's evidence by the age of the last output. It also returns the time at which the result will
// change without new output; zero if it will not.
func (v Snapshot) aged(e runtime.Evidence, now time.Time) (runtime.Evidence, time.Time) {
	e.Since = v.LastOutput
	if v.LastOutput.IsZero() {
		return e, time.Time{}
	}
	age := now.Sub(v.LastOutput)
	switch {
	case e.Activity == runtime.ActivityReady && age < flowing:
		e.Activity, e.Detail = runtime.ActivityUnknown, "the agent still prints output"
		return e, v.LastOutput.Add(flowing)
	case e.Activity == runtime.ActivityBusy && age > frozen:
		e.Detail += ", but the screen has not changed for " + age.Round(time.Second).String()
	case e.Activity == runtime.ActivityLimited && e.Until.After(now):
		return e, e.Until
	}
	return e, time.Time{}
}

const (
	// wholeAfter is the time since the last output after which a screen counts as completely drawn.
	wholeAfter = 20 * time.Millisecond
	// maxFrames is the limit of frames that Whole reads of a screen that always changes.
	maxFrames = 4
)

// asked is the question that blocked a session at the last reading; the zero value means none.
type asked struct {
	life, request string
	bound         string // the result of [Life.Bind] for the request

	next      string    // another request that was seen at all readings since then; empty means no question
	since     time.Time // the time of the first reading with next; zero if request is on the screen
	unsettled time.Time // the time of the first reading in which request was not on the screen
}

const (
	// stands is the time that a question must be on the screen, or missing, before this counts. A program that redraws its
	// screen may show a part of it in between.
	stands = 100 * time.Millisecond
	// maxUnsettled is the limit of this wait for a screen that shows another question at each reading.
	maxUnsettled = time.Second
)

// Sense reads the newest frame of a session and returns the reading of the function [Sense], completed by [Memory.Complete].
// A question counts if it blocked the session at the last reading, or has been on the screen for a moment (stands). For a
// new question that is too recent, Sense returns a reading without the question, and with the time to read again. If a
// question changes or disappears, Sense waits until the change counts. It returns [ErrExited] if the agent has exited.
func (m *Memory) Sense(ctx context.Context, session string, life Life, t Terminal, rules Rules) (runtime.Reading, error) {
	for {
		f, err := Whole(ctx, t)
		if err == nil && f.Exited {
			err = ErrExited
		}
		if err != nil {
			return runtime.Reading{}, err
		}
		now := time.Now()
		r := Sense(f, rules, now)
		request := ""
		if r.Pending != nil {
			request = r.Pending.RequestID
		}
		settled, before := m.settles(session, life, request, f.LastOutput, now)
		if !settled && before == "" {
			r = withoutQuestion(r, now)
		}
		if settled || before == "" {
			m.Complete(session, life, f, rules, &r)
			return r, nil
		}
		if !retry.Sleep(ctx, wholeAfter) {
			return r, context.Cause(ctx)
		}
	}
}

// Complete adds to the reading of a frame what only the earlier readings of the session show: since when the activity has
// lasted (see [Memory.Recall]), the progress, and the name of a question in this life.
func (m *Memory) Complete(session string, life Life, f Frame, rules Rules, r *runtime.Reading) {
	m.Recall(session, life.String(), r.Evidence)
	r.Progress, r.LastInput = m.Progress(session, life.String(), f, rules, r.At), f.LastHuman
	if r.Pending != nil {
		r.Pending.RequestID = life.Bind(r.Pending.RequestID)
	}
}

// withoutQuestion returns the reading for a screen on which a question has just appeared and may be drawn only in part: the
// agent waits, and a later reading has the question if it stays.
func withoutQuestion(r runtime.Reading, now time.Time) runtime.Reading {
	for i, e := range r.Evidence {
		if e.Source == runtime.SourceScreen {
			r.Evidence[i].Activity, r.Evidence[i].Detail = runtime.ActivityWaiting, "a question appears"
			r.Evidence[i].Kind, r.Evidence[i].Until, r.Evidence[i].Obstacle = "", time.Time{}, runtime.Obstacle{}
		}
	}
	r.Pending, r.Again = nil, now.Add(wholeAfter)
	return r
}

// settles reports whether a question may be reported: it already blocked the session at the last reading, or it has been on
// the screen for a moment. request is its ID; an empty request means that the screen shows no question. An answered
// question may disappear at once. before is the ID of the question that was reported until now.
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

// Standing returns the question on the screen, if the function meant returns true for its RequestID. It waits a moment for
// the question, because the program may be redrawing its screen. If the question does not appear, the error is
// [runtime.ErrInteractionGone].
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
		if !retry.Sleep(ctx, wholeAfter) {
			return nil, context.Cause(ctx)
		}
	}
}

// Whole returns a frame of a completely drawn screen. If the screen always changes, it returns the newest frame after a
// moment.
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
		if !retry.Sleep(ctx, min(wait, wholeAfter)) {
			return f, context.Cause(ctx)
		}
	}
}
