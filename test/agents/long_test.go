package agents

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// turnKind is one sort of turn of the long run.
type turnKind struct {
	name string
	text string            // behind the turn's number
	fail []mockmodel.Fault // what its requests meet first
	cut  bool              // it is interrupted
	only []string          // CLIs that can have it; empty: all
	none []string          // CLIs that cannot
}

// turnKinds returns what the run goes through, over and over.
func turnKinds() []turnKind {
	return []turnKind{
		{name: "plain", text: "[[text:short]]"},
		{name: "tool", text: "[[tool:sleep 0.7]][[text:the tool is done]]"},
		{name: "slow", text: "[[delay:0.4]][[slow:0.8]][[text:" + counted("some more", 30) + "]]"},
		{name: "interrupt", text: "[[delay:60]]", cut: true},
		{name: "retries", text: "[[text:after all]]", fail: []mockmodel.Fault{{Count: 2, Status: http.StatusTooManyRequests, RetryAfter: "1"}}, none: []string{"codex-acp"}}, // which gives up at once
		{name: "error", text: "[[text:never said]]", fail: []mockmodel.Fault{{Count: 1, Status: http.StatusBadRequest}}, only: []string{"claude", "pi", "codex"}},
		{name: "tools", text: "[[tools:true;;sleep 0.3]][[steps:2:true]][[text:all are done]]"},
		{name: "background", text: `[[call:Bash:{"command":"sleep 1","description":"waits","run_in_background":true}]][[text:it goes on]]`, only: []string{"claude"}},
		{name: "interrupt a tool", text: "[[tool:sleep 60]]", cut: true, only: []string{"claude", "codex", "pi"}},
		{name: "sub-agent", text: `[[call:Agent:{"description":"helps","prompt":"Help. [[delay:0.5]][[text:helped]]","subagent_type":"general-purpose","run_in_background":false}]][[text:with help]]`, only: []string{"claude"}},
	}
}

// counted repeats words so that no part of them comes twice: gemini takes an answer that
// repeats itself for a loop, ends the turn and asks.
func counted(words string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s %d ", words, i)
	}
	return out.String()
}

// sample is what the city said of the agent at a moment between two times.
type sample struct {
	from, to, since time.Time
	state, source   string
}

func (s sample) isAtRest() bool { return s.state == "idle" || s.state == "ready" }

// sampler asks the city again and again what an agent does.
type sampler struct {
	agent *agent
	done  chan struct{}
	over  sync.WaitGroup

	mu   sync.Mutex
	seen []sample // guarded by mu
}

func (a *agent) watched() *sampler {
	l := &sampler{agent: a, done: make(chan struct{})}
	l.over.Go(func() {
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-look.C:
			case <-l.done:
				return
			}
			from := time.Now()
			s, err := a.Client.Session(a.t.Context(), a.name)
			if err != nil {
				continue // the next look shows it
			}
			l.mu.Lock()
			l.seen = append(l.seen, sample{from, time.Now(), s.Activity.Since, s.Activity.State, s.Activity.Source})
			l.mu.Unlock()
		}
	})
	return l
}

// stop returns what was seen.
func (l *sampler) stop() []sample {
	close(l.done)
	l.over.Wait()
	return l.seen
}

// restsAfter waits until the agent is seen at rest at a time after the given one.
func (l *sampler) restsAfter(at time.Time) sample {
	l.agent.t.Helper()
	ctx, cancel := l.agent.stepContext()
	defer cancel()
	for {
		l.mu.Lock()
		i := slices.IndexFunc(l.seen, func(s sample) bool { return s.from.After(at) && s.isAtRest() })
		var found sample
		if i >= 0 {
			found = l.seen[i]
		}
		l.mu.Unlock()
		if i >= 0 {
			return found
		}
		if ctx.Err() != nil {
			l.agent.fail("is never seen at rest")
		}
		<-time.After(10 * time.Millisecond)
	}
}

// span is a time in which the agent works, by the model's log.
type span struct {
	from, to time.Time
	why      string
}

// admitted returns how long after the arrival of a request the city may not know of its turn: a
// target where figures are made, and what a machine needs that runs other tests besides.
func admitted() time.Duration {
	if os.Getenv("GC_TEST_AGENTS") == "" {
		return time.Second
	}
	return 250 * time.Millisecond
}

// working returns the times from the first request of each turn on in which one is open, or
// announced by a call of a tool or by an error after which it is tried again.
func working(all []mockmodel.Request, caller string, cuts []time.Time) (out []span) {
	all = slices.DeleteFunc(all, func(r mockmodel.Request) bool { return r.Caller != caller || !r.Main })
	for i, r := range all {
		if r.Ended.IsZero() {
			continue
		}
		known := r.At.Add(admitted())
		ended := r.Ended
		if r.Aborted { // its canceler has reported that before its connection's end is seen here
			ended = ended.Add(-admitted())
		}
		out = append(out, span{known, ended, "request " + strconv.Itoa(r.N) + " was open"})
		announces := r.Fine() && len(r.Calls) > 0 || r.Status == http.StatusTooManyRequests
		if !announces || i+1 == len(all) || slices.ContainsFunc(cuts, func(c time.Time) bool { return c.After(r.Ended) && c.Before(all[i+1].At) }) {
			continue
		}
		if r.Ended.After(known) {
			known = r.Ended // else it was answered at once
		}
		out = append(out, span{known, all[i+1].At, "request " + strconv.Itoa(all[i+1].N) + " was to come"})
	}
	return out
}

// isSettled reports whether the caller's model has nothing more to do.
func isSettled(all []mockmodel.Request, caller string, from int) bool {
	var last *mockmodel.Request
	for i := from; i < len(all); i++ {
		if r := &all[i]; r.Caller == caller && r.Main {
			if r.Ended.IsZero() {
				return false
			}
			last = r
		}
	}
	return last != nil && (last.Aborted || last.Status == http.StatusBadRequest || last.Fine() && len(last.Calls) == 0)
}

// state takes an agent through turns of all kinds: it is never said to rest while its model
// has a request open or announced, and said to soon after the last byte (R2).
func state(a *agent, in string) { states(a, in, setting("GC_AGENTS_TURNS", 6)) }

// states is state with so many turns.
func states(a *agent, in string, n int) {
	kinds := slices.DeleteFunc(turnKinds(), func(k turnKind) bool {
		return len(k.only) > 0 && !slices.Contains(k.only, a.found.Name) || slices.Contains(k.none, a.found.Name)
	})
	began := len(a.Model.Requests())
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	l := a.watched()
	var late, called []time.Duration
	by := map[string]int{}
	var cuts []time.Time
	for i := range n {
		k := kinds[i%len(kinds)]
		end := a.oneTurn(i, k)
		if k.cut {
			cuts = append(cuts, end)
		}
		rest := l.restsAfter(end)
		if !k.cut && rest.since.Before(end.Add(10*time.Second)) {
			late = append(late, max(0, rest.since.Sub(end)))
			by[rest.source]++
			if at := a.hookCalled(end); !at.IsZero() {
				called = append(called, at.Sub(end))
			}
		}
		if now := rest.from.Sub(end); now > 10*time.Second {
			a.t.Errorf("turn %d (%s): seen at rest %v after its end", i, k.name, now)
		}
	}
	seen := l.stop()
	spans := working(a.Model.Requests()[began:], a.name, cuts)
	wrong := 0
	for _, s := range seen {
		for _, w := range spans {
			if s.isAtRest() && s.from.After(w.from) && s.to.Before(w.to) {
				if wrong++; wrong <= 10 {
					a.t.Errorf("said to be %s by %s since %s at %s, while %s", s.state, s.source, s.since.Format("05.000"), s.from.Format("05.000"), w.why)
				}
			}
		}
	}
	if len(seen) == 0 || len(spans) < n/2 {
		a.t.Errorf("only %d looks at %d times of work", len(seen), len(spans))
	}
	words := fmt.Sprintf("%d wrong states in %d turns (%s) that were observed %d times; reported idle %s after the model's last byte, most often by %s", wrong, n, strings.Join(names, ", "), len(seen), spread(late), most(by))
	if len(called) > 0 {
		words += fmt.Sprintf("; the CLI needs %s of this to call its hook", spread(called))
	}
	logFigure(a.t, a.found, "state", "%s%s", words, in)
}

// oneTurn has the agent do one turn and returns when it was over for the model.
func (a *agent) oneTurn(i int, k turnKind) (end time.Time) {
	a.t.Helper()
	from := len(a.Model.Requests())
	for _, f := range k.fail {
		f.Caller = a.name
		a.Model.Fail(f)
	}
	text := fmt.Sprintf("Turn %d, %s: %s", i, k.name, k.text)
	a.prompt(text, "submitted")
	a.waitForPrompt(text)
	ctx, cancel := a.stepContext()
	defer cancel()
	if k.cut {
		if strings.Contains(k.text, "[[tool:") {
			if err := a.Model.Await(ctx, func(all []mockmodel.Request) bool {
				return slices.ContainsFunc(all[from:], func(r mockmodel.Request) bool { return r.Caller == a.name && r.Fine() && len(r.Calls) > 0 })
			}); err != nil {
				a.fail("turn %d (%s): no tool is called: %v", i, k.name, err)
			}
			<-time.After(300 * time.Millisecond) // the tool begins; nothing reports it
		}
		at := time.Now()
		if out, err := a.Run(a.t.Context(), "interrupt", a.name); err != nil {
			a.fail("turn %d (%s) cannot be interrupted: %v\n%s", i, k.name, err, out)
		}
		return at
	}
	if err := a.Model.Await(ctx, func(all []mockmodel.Request) bool { return isSettled(all, a.name, from) }); err != nil {
		a.fail("turn %d (%s) does not end: %v", i, k.name, err)
	}
	all := a.Model.Requests()
	for _, r := range all[from:] {
		if r.Caller == a.name && r.Main && r.Ended.After(end) {
			end = r.Ended
		}
	}
	return end
}

// hookCalled returns when the CLI called a hook of its user's behind a time; zero if it has none.
func (a *agent) hookCalled(after time.Time) time.Time {
	raw, _ := os.ReadFile(filepath.Join(a.Homes[a.name].Home, bed.StopLog)) // most have none
	for line := range strings.FieldsSeq(string(raw)) {
		if n, err := strconv.ParseInt(line, 10, 64); err == nil && time.Unix(0, n).After(after) {
			return time.Unix(0, n)
		}
	}
	return time.Time{}
}

// most returns what was counted most often.
func most(counts map[string]int) string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return counts[a] - counts[b] })
}
