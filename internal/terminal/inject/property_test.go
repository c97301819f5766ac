package inject

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/boxmodel"
	"gascity/test/terminal"
	"gascity/test/tier"
)

// propertyRuns and unitRuns are how many runs the property test makes, each time with new seeds;
// unitRuns in the unit tier. GC_PROPERTY_RUNS is another number of them.
const propertyRuns, unitRuns = 2000, 300

// TestDeliveriesIntoAnyBoxEnd delivers random prompts into models of input boxes, with random
// deaths of the deliverer and of the agent, stalls, and a person who types. Each delivery ends
// within a bound with a reason. No submission holds two prompts, or a prompt and a person's
// draft. No prompt is submitted twice, and no draft is removed. Where a key removes text and no
// person types, no delivery says that the box is blocked, and the agent consumes the next
// prompt within two bounds. The seeds are new each time: a failure prints its own, and
// GC_PROPERTY_SEED repeats that run, as long as the models and this test are the same.
func TestDeliveriesIntoAnyBoxEnd(t *testing.T) { checkProperty(t, propertyRun) }

// checkProperty makes the runs of a property test.
func checkProperty(t *testing.T, run func(t *testing.T, seed uint64, spoil *mutation) (faults []string)) {
	runs, first := numberFrom(t, "GC_PROPERTY_RUNS", uint64(tier.Runs(unitRuns, propertyRuns))), uint64(time.Now().UnixNano())
	if seed := numberFrom(t, "GC_PROPERTY_SEED", 0); seed > 0 {
		runs, first = 1, seed
	}
	t.Logf("%d runs, from seed %d on", runs, first)
	var made, failed atomic.Uint64
	for worker := range goruntime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
			t.Parallel()
			for n := made.Add(1); n <= runs && failed.Load() < maxFailed; n = made.Add(1) {
				if faults := run(t, first+n-1, nil); len(faults) > 0 {
					failed.Add(1)
					t.Errorf("GC_PROPERTY_SEED=%d: %s", first+n-1, strings.Join(faults, "\n\t"))
				}
			}
		})
	}
}

// maxFailed is how many failures the property test shows.
const maxFailed = 10

// numberFrom returns a number of the environment.
func numberFrom(t *testing.T, variable string, otherwise uint64) uint64 {
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestThePropertyFindsKnownDefects puts three defects back, each by what the deliverer's
// input or account comes to, and expects the property test to find each.
func TestThePropertyFindsKnownDefects(t *testing.T) {
	for name, spoil := range map[string]mutation{
		"a mark is typed again and again": {forget: true},
		"changed text is not removed": {input: func(l *boxLease, in Input, p []byte) []byte {
			if in == InputClear && l.hasOtherText() {
				return nil
			}
			return p
		}},
		"one line is removed": {input: func(_ *boxLease, in Input, p []byte) []byte {
			if in == InputClear {
				return []byte("\x15")
			}
			return p
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5000) {
				if faults := propertyRun(t, seed, &spoil); len(faults) > 0 {
					t.Logf("found after %d runs: %s", seed+1, faults[0])
					return
				}
			}
			t.Error("5000 runs have not found it")
		})
	}
}

// mutation puts a defect back.
type mutation struct {
	input  func(l *boxLease, in Input, p []byte) []byte // what is typed instead
	forget bool                                         // what was typed and not seen is forgotten, and what the program has read is not known

	unnamed, unsaved bool // deliveries have no names, or these are not saved
}

// hasOtherText reports whether the box holds something else than the text. The caller has the
// turn.
func (l *boxLease) hasOtherText() bool {
	last := l.book.Account("").Last
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	return last != nil && len(l.Content) > 0 && boxmodel.Text(l.Content) != string(last.Text)
}

func propertyRun(t *testing.T, seed uint64, spoil *mutation) (faults []string) {
	synctest.Test(t, func(t *testing.T) {
		p := newScenario(t, seed, spoil)
		faults = p.run()
		time.Sleep(10 * time.Second) // what was begun ends
	})
	return faults
}

// scenario is one run.
type scenario struct {
	t      *testing.T
	random *rand.Rand
	seed   uint64
	rules  screen.Rules
	spoil  *mutation

	options boxmodel.Options
	*instance
	now      atomic.Pointer[instance] // the same, for the person
	requests sync.WaitGroup           // of deliveries by name

	persons bool // a person types in this run
	byName  bool // the deliveries run in the process that owns the terminal
	done    sync.WaitGroup

	mu     sync.Mutex // guards log
	log    []string
	faults []string
}

func newScenario(t *testing.T, seed uint64, spoil *mutation) *scenario {
	random := rand.New(rand.NewPCG(seed, 17))
	p := &scenario{t: t, random: random, seed: seed, spoil: spoil, options: boxmodel.Random(random)}
	p.rules = boxRules(t, p.options)
	p.start()
	return p
}

var boxProfiles sync.Map

// boxRules returns the rules that fit a box.
func boxRules(t *testing.T, o boxmodel.Options) screen.Rules {
	key := o.Style + o.CLI
	if r, ok := boxProfiles.Load(key); ok {
		return r.(screen.Rules)
	}
	rules := terminal.Face{Style: o.Style}.Rules(t)
	placeholder, err := agentcli.NewPattern("^" + boxmodel.Placeholder + "$")
	if err != nil {
		t.Fatal(err)
	}
	rules.Screen.InputBox.Placeholders = append(rules.Screen.InputBox.Placeholders, placeholder)
	rules.Screen.Shell, rules.Screen.UnknownCommand = "", nil
	if o.CLI != "" {
		profile := terminal.Rules(t, o.CLI)
		rules.Screen.ClearKey, rules.Screen.EndKey = profile.Screen.ClearKey, profile.Screen.EndKey
	}
	boxProfiles.Store(key, rules)
	return rules
}

// instance is a running agent, with the account of the deliveries into it.
type instance struct {
	box   *box
	book  *DeliveryLog
	turn  *sync.Mutex
	hold  *boxHold
	marks *int
	owner *owner
}

// start begins another instance of the agent.
func (p *scenario) start() {
	p.instance = &instance{newBox(p.options), &DeliveryLog{}, &sync.Mutex{}, &boxHold{}, new(int), nil}
	p.owner = newOwner(p)
	p.now.Store(p.instance)
}

func (p *scenario) logf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, fmt.Sprintf("%7.2f ", time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds())+fmt.Sprintf(format, args...))
}

func (p *scenario) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// pieces are what prompts are made of.
var pieces = []string{
	"word", "two words", "@", "@note", "ends with foo\\", "\\", "#tag", "!x", "/cmd", "e\u0301 accent", "\u202ertl\u202c", "\u200bzero",
	"line\nline", "a\n\nb", "=.=", " lead", "trail ", "作業", "🚀", strings.Repeat("long ", 60), strings.Repeat("row\n", 45), "tab\there",
	"(block 1)", "[pasted 40]", "x", "$chosen", strings.Repeat("z", 700),
}

func (p *scenario) prompt(n int) string {
	text := fmt.Sprintf("P%d", n)
	for range p.random.IntN(4) {
		text += []string{" ", ""}[p.random.IntN(2)] + pieces[p.random.IntN(len(pieces))]
	}
	if p.options.NoPaste {
		text = strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	}
	return text
}

// bound is how long a delivery may take that nothing holds up.
const bound = 60 * time.Second

func (p *scenario) run() []string {
	prompts := 3 + p.random.IntN(2)
	p.persons = p.random.IntN(3) == 0
	agentDies := -1
	if p.random.IntN(8) == 0 {
		agentDies = p.random.IntN(prompts)
	}
	if p.persons {
		p.done.Go(p.person)
	}
	if p.random.IntN(4) == 0 {
		p.box.stall(time.Duration(p.random.IntN(4000)) * time.Millisecond)
	}
	ended := map[int]string{}
	for n := 1; n <= prompts; n++ {
		if n-1 == agentDies {
			after := time.Duration(p.random.IntN(3000)) * time.Millisecond
			old := p.instance
			time.AfterFunc(after, func() {
				old.owner.kill()
				old.box.mu.Lock()
				defer old.box.mu.Unlock()
				old.box.exited = true
				old.box.tick()
			})
		}
		ended[n] = p.deliver(n, p.prompt(n), true)
		if p.box.hasExited() {
			p.check(ended)
			p.start()
		}
	}
	p.done.Wait()
	if p.box.hasExited() {
		p.check(ended)
		p.start()
	}
	last := "and the last"
	n := prompts + 1
	time.Sleep(5 * time.Second)
	if p.box.hasExited() { // it died meanwhile, and is started again
		p.check(ended)
		p.start()
	}
	began := time.Now()
	for ended[n] = p.deliver(n, last, false); ended[n] == "withdrawn" || ended[n] == "unconfirmed" && !p.box.has(n); ended[n] = p.deliver(n, last, false) {
		if time.Since(began) > 2*bound {
			break
		}
		n++
	}
	took := time.Since(began)
	time.Sleep(5 * time.Second)
	if p.options.Removable() && !p.persons {
		if took > 2*bound {
			p.fault("the last prompt took %s", took)
		}
		if !p.box.has(n) {
			p.fault("the last prompt ended %s and was not consumed; the box holds %q", ended[n], p.box.line())
		}
	}
	p.check(ended)
	if len(p.faults) > 0 {
		p.faults = append(p.faults, fmt.Sprintf("%+v person %v", p.options, p.persons))
		p.faults = append(p.faults, p.log...)
	}
	return p.faults
}

func (b *box) hasExited() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.exited
}

// has reports whether the agent consumed prompt n.
func (b *box) has(n int) bool { return b.count(n) > 0 }

func (b *box) count(n int) (count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.taken {
		for _, by := range t.by {
			if by == n {
				count++
			}
		}
	}
	return count
}

func (b *box) line() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return boxmodel.Text(b.Content)
}

// check compares what the deliveries said with what the agent consumed.
func (p *scenario) check(ended map[int]string) {
	p.box.mu.Lock()
	for _, fault := range p.box.faults {
		if strings.HasPrefix(fault, ownRisk) && !p.options.Removable() {
			continue // a person who types behind a text that no key removes does so knowingly
		}
		if strings.HasPrefix(fault, markRisk) && (!p.options.Removable() || p.options.NoBack) {
			continue // nothing but backspaces removes a mark, for a person's text may be before it
		}
		p.faults = append(p.faults, fault)
	}
	p.box.faults = nil
	p.box.mu.Unlock()
	for n, end := range ended {
		switch count := p.box.count(n); {
		case count > 1:
			p.fault("prompt %d was consumed %d times", n, count)
		case count > 0 && (end == "withdrawn" || end == "refused" || end == "blocked"):
			if !p.persons {
				p.fault("prompt %d ended %s and was consumed", n, end)
			}
		}
	}
}

// lease returns the right to deliver, of a deliverer that dies after so many steps; below 0:
// never.
func (p *scenario) lease(n, dies int, after bool) Lease {
	l := &boxLease{
		box: p.box, turn: p.turn, book: p.book, id: n, hold: p.hold, dies: dies, after: after, marks: p.marks,
	}
	if p.spoil != nil {
		l.spoil = p.spoil.input
		if p.spoil.forget {
			return &statelessLease{l}
		}
	}
	return l
}

// statelessLease is a lease of a deliverer as it was: it does not ask what the program has read,
// and remembers neither marks nor that a box is blocked.
type statelessLease struct{ *boxLease }

func (f *statelessLease) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	fr, err := f.boxLease.Frame(ctx, after)
	fr.Input = screen.InputUnknown
	return fr, err
}

func (f *statelessLease) Account(ctx context.Context, id string) (DeliveryAccount, error) {
	a, err := f.boxLease.Account(ctx, id)
	if a.Last != nil {
		a.Last.Marks = 0
	}
	return a, err
}

func (f *statelessLease) RecordOutcome(ctx context.Context, e DeliveryEntry) error {
	e.Final, e.Blocked, e.Hidden = false, "", false
	return f.boxLease.RecordOutcome(ctx, e)
}

// deliver brings one prompt to its end, as the engine of deliveries does, and returns what
// that was.
func (p *scenario) deliver(n int, text string, faulty bool) string {
	id := fmt.Sprint("d", n)
	withdrawn, prompt := 0, Prompt{Text: text, AllowChanges: p.random.IntN(2) == 0}
	var limit time.Duration
	attempt := 0
	for began := time.Now(); ; {
		var out runtime.Outcome
		var err error
		held := p.timed(func() {
			attempt++
			out, err = p.send(n, attempt, faulty, id, prompt)
		})
		p.logf("deliver %d %q: %+v, %v (%s)", n, short(text), out, err, held)
		p.reasoned(n, out)
		for out.State == runtime.OutcomeUnconfirmed {
			held := p.timed(func() {
				out, err = p.settle(n, attempt, faulty, id)
			})
			p.logf("settle %d: %+v, %v (%s)", n, out, err, held)
			p.reasoned(n, out)
			if err == nil && (out.Reason == "" || out.Reason == runtime.RefusedInputBlocked) || p.box.hasExited() {
				break
			}
			if limit = p.allowance(); time.Since(began) > limit {
				p.fault("prompt %d has no end after %s: %+v", n, time.Since(began), out)
				return "endless"
			}
			time.Sleep(2 * time.Second)
		}
		switch {
		case p.box.hasExited():
			return p.gone(n, attempt)
		case err != nil:
		case out.State == runtime.OutcomeSubmitted:
			if time.Sleep(3 * time.Second); !p.box.has(n) && !p.box.hasExited() && !p.persons {
				p.fault("prompt %d is said to be submitted and was not consumed", n)
			}
			return "submitted"
		case out.State == runtime.OutcomeUnconfirmed:
			if out.Reason == runtime.RefusedInputBlocked && p.options.Removable() && !p.persons {
				p.fault("blocked although a key removes text: %s", out.Detail)
			}
			return "unconfirmed"
		case out.Reason == runtime.RefusedWithdrawn:
			if withdrawn++; withdrawn > 3 {
				return "withdrawn"
			}
		case out.Reason == runtime.RefusedContent, out.Reason == runtime.RefusedChanged:
			return "refused"
		case out.Reason == runtime.RefusedInputBlocked:
			if p.options.Removable() && !p.persons {
				p.fault("blocked although a key removes text: %s", out.Detail)
			}
			return "blocked"
		}
		if limit = p.allowance(); time.Since(began) > limit {
			if !p.persons { // a draft may stay for as long as the person likes
				p.fault("prompt %d is refused after %s: %+v", n, time.Since(began), out)
			}
			return "refused"
		}
		time.Sleep(time.Second)
	}
}

// allowance returns how long a prompt may take: three attempts, and what a person takes.
func (p *scenario) allowance() time.Duration {
	if p.persons {
		return 6 * bound
	}
	return 4 * bound
}

// reasoned expects a reason wherever a prompt is not submitted.
func (p *scenario) reasoned(n int, out runtime.Outcome) {
	switch {
	case out.State == runtime.OutcomeSubmitted, out.Detail != "", p.box.hasExited():
	default:
		p.fault("prompt %d ended silently: %+v", n, out)
	}
}

func (p *scenario) timed(do func()) time.Duration {
	began := time.Now()
	do()
	took := time.Since(began)
	if took > 2*bound {
		p.fault("one call took %s", took)
	}
	return took
}

func short(text string) string { return text[:min(len(text), 60)] }

// send makes one attempt to deliver a prompt.
func (p *scenario) send(n, attempt int, faulty bool, id string, prompt Prompt) (runtime.Outcome, error) {
	if p.byName {
		return p.request(n, attempt, faulty, id, prompt)
	}
	return p.attempt(n, faulty, func(l Lease) (runtime.Outcome, error) {
		return Deliver(p.t.Context(), l, id, prompt, p.rules)
	})
}

// settle asks for the outcome of an attempt.
func (p *scenario) settle(n, attempt int, faulty bool, id string) (runtime.Outcome, error) {
	if p.byName {
		return p.ask(n, attempt, faulty, id)
	}
	return p.attempt(n, faulty, func(l Lease) (runtime.Outcome, error) {
		return ResolveDelivery(p.t.Context(), l, id, p.rules)
	})
}

// attempt does something with a lease of a deliverer that may die.
func (p *scenario) attempt(n int, faulty bool, do func(l Lease) (runtime.Outcome, error)) (runtime.Outcome, error) {
	dies, after := -1, p.random.IntN(2) == 0
	if faulty && p.random.IntN(3) == 0 {
		dies = p.random.IntN(14)
	}
	l := p.lease(n, dies, after)
	inner, ok := l.(*boxLease)
	if !ok {
		inner = l.(*statelessLease).boxLease
	}
	defer inner.close()
	out, err := do(l)
	if errors.Is(err, errDead) || inner.dies == 0 {
		out = runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the deliverer died", Reason: runtime.RefusedUnready}
		err = errDead
	}
	return out, err
}

// person types now and then: a line that is submitted, or a draft that is removed again.
func (p *scenario) person() {
	random := rand.New(rand.NewPCG(p.seed, 3))
	for range 1 + random.IntN(3) {
		time.Sleep(time.Duration(random.Int64N(int64(15 * time.Second))))
		in := p.now.Load()
		b := in.box
		b.attach(1)
		words := []string{"hi", "a draft of mine", "h"}[random.IntN(3)]
		moves := random.IntN(3) == 0
		for _, key := range words {
			p.key(in, string(key))
			time.Sleep(time.Duration(20+random.IntN(500)) * time.Millisecond)
			if moves && random.IntN(2) == 0 {
				p.key(in, []string{boxmodel.Left, boxmodel.Home}[random.IntN(2)])
				time.Sleep(time.Duration(20+random.IntN(500)) * time.Millisecond)
			}
		}
		if random.IntN(3) == 0 && !b.NoBack {
			if moves {
				p.key(in, boxmodel.End)
			}
			for range words {
				p.key(in, "\x7f")
				time.Sleep(50 * time.Millisecond)
			}
		} else {
			p.key(in, "\r")
			for tries := 0; b.hasPersonText() && tries < 6 && !b.hasExited(); tries++ { // Enter was lost, or was a line
				time.Sleep(time.Second)
				p.key(in, "\r")
			}
		}
		b.attach(-1)
	}
}

func (b *box) attach(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attached += n
	b.tick()
}

func (b *box) hasPersonText() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.Content {
		if c.By == boxmodel.ByPerson {
			return true
		}
	}
	return false
}

// key is one key of a person, as the terminal's owner passes it on.
func (p *scenario) key(in *instance, key string) {
	in.hold.wait()
	in.turn.Lock()
	defer in.turn.Unlock()
	if undo := in.book.Touch(); len(undo) > 0 {
		in.box.write(undo, boxmodel.ByNobody)
	}
	in.box.mu.Lock()
	in.box.human = time.Now()
	in.box.tick()
	in.box.mu.Unlock()
	in.box.write([]byte(key), boxmodel.ByPerson)
	p.logf("person %q", key)
}

// TestACutOffTextBeyondTheScreenIsRemovedSoon: a text that is taller than the screen is removed
// within two seconds by a deliverer that comes long after the one that was cut off: the screen
// has been at rest since. Where controllers are killed every few seconds none would remove the
// text otherwise.
func TestACutOffTextBeyondTheScreenIsRemovedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &scenario{t: t, options: boxmodel.Options{Style: "line", NoBack: true}}
		p.rules = boxRules(t, p.options)
		p.start()
		p.cutOff(strings.Repeat("row\n", 90) + "end")
		began := time.Now()
		out, err := ResolveDelivery(t.Context(), p.lease(1, -1, false), "d1", p.rules)
		if err != nil || out.Reason != runtime.RefusedWithdrawn || p.box.line() != "" {
			t.Errorf("%+v, %v, the box holds %q; want the text withdrawn", out, err, short(p.box.line()))
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
		time.Sleep(time.Minute) // what was begun ends
	})
}

// TestACutOffTextOfLinesThatLookAlikeIsRemoved: a text that is much taller than the screen is
// removed although the screen shows the same rows after each key: the keys go on until they
// would have removed all of the text.
func TestACutOffTextOfLinesThatLookAlikeIsRemoved(t *testing.T) {
	codex, _ := boxmodel.Of("codex")
	codex.Echo = 295 * time.Millisecond
	for name, test := range map[string]struct {
		options boxmodel.Options
		text    string
	}{
		"by the clear key, and backspaces at its beginning": {codex, strings.Repeat("row\n", 240)},
		"by backspaces": {boxmodel.Options{Style: "line", Clears: boxmodel.ClearsNothing}, strings.Repeat("row\n", 500)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &scenario{t: t, options: test.options}
				p.rules = boxRules(t, p.options)
				p.start()
				p.cutOff(test.text)
				if err := ClearInput(t.Context(), p.lease(1, -1, false), p.rules); err != nil || p.box.line() != "" {
					t.Errorf("to clear the input: %v, the box holds %d bytes", err, len(p.box.line()))
				}
				p.start()
				p.cutOff(test.text)
				out, err := ResolveDelivery(t.Context(), p.lease(1, -1, false), "d1", p.rules)
				if err != nil || out.Reason != runtime.RefusedWithdrawn || p.box.line() != "" {
					t.Errorf("%+v, %v, the box holds %d bytes; want the text withdrawn", out, err, len(p.box.line()))
				}
				time.Sleep(time.Minute) // what was begun ends
			})
		})
	}
}

// cutOff delivers a text with a deliverer that dies behind it.
func (p *scenario) cutOff(text string) {
	for steps := 1; p.box.line() == ""; steps++ {
		p.start()
		l := p.lease(1, steps, true)
		_, _ = Deliver(p.t.Context(), l, "d1", Prompt{Text: text}, p.rules) // it is dead
		l.(*boxLease).close()
		time.Sleep(10 * time.Second)
		if len(p.box.taken) > 0 {
			p.t.Fatal("the text was submitted: no step leaves it in the box")
		}
	}
}

// TestNoTextIsTypedWhereAPersonsTextMayBeHidden: in a box that has shown no text of gc yet, and
// in which a person typed, a mark is typed first. Where it does not show, the box is blocked and
// nothing of the text is typed: behind it a key that removes the text could remove the person's,
// too. Where the mark shows, the text is submitted, and no mark is typed from then on.
func TestNoTextIsTypedWhereAPersonsTextMayBeHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &scenario{t: t, options: boxmodel.Options{Style: "rules", Folds: 1, OddFold: true, Hides: true}}
		p.rules = boxRules(t, p.options)
		p.start()
		p.key(p.instance, "h")
		time.Sleep(time.Minute)
		out, err := Deliver(t.Context(), p.lease(1, -1, false), "d1", Prompt{Text: "hello"}, p.rules)
		if err != nil || out.Reason != runtime.RefusedInputBlocked || p.box.line() != "h"+mark {
			t.Errorf("%+v, %v, the box holds %q; want it blocked, with the person's text and a mark", out, err, p.box.line())
		}
		p.key(p.instance, "i")
		time.Sleep(time.Second)
		if p.box.line() != "hi" || len(p.box.faults) > 0 {
			t.Errorf("the box holds %q, want what the person typed: %q", p.box.line(), p.box.faults)
		}

		p.options.Hides = false
		p.start()
		for n := 1; n <= 2; n++ {
			for _, key := range "h\x7f" {
				p.key(p.instance, string(key))
			}
			time.Sleep(time.Minute)
			out, err := Deliver(t.Context(), p.lease(n, -1, false), fmt.Sprint("d", n), Prompt{Text: "hello"}, p.rules)
			if err != nil || out.State != runtime.OutcomeSubmitted || !p.box.has(n) || p.box.typedMarks != 1 {
				t.Errorf("prompt %d: %+v, %v, %d marks were typed, want it submitted after the one of the first", n, out, err, p.box.typedMarks)
			}
		}
		time.Sleep(time.Minute) // what was begun ends
	})
}
