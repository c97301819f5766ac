package workers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/service/workers"
	"gascity/worker"
)

// hook is an agent CLI whose hook fetches context. If injects is false, the CLI does not put the
// context into the conversation.
type hook struct {
	*worker.Client
	test    *engineTest
	injects bool
	n       int
	claims  []string // that are not acknowledged
	shown   []string // nonces in the conversation
	count   map[string]int
}

func (r *engineTest) hooked(env map[string]string, injects bool) *hook {
	h := &hook{Client: clientOf(env), test: r, injects: injects, count: map[string]int{}}
	r.Cleanup(h.Close)
	return h
}

// begin runs the hook at the start of a conversation and returns the output.
func (h *hook) begin(source worker.Beginning, talk string, limit int) worker.Context {
	h.test.Helper()
	h.n++
	claim := worker.ContextClaim{ID: fmt.Sprintf("claim-%04d", h.n), Source: source, ConversationID: talk, Limit: limit}
	h.claims = append(h.claims, claim.ID)
	var c worker.Context
	for range 2 { // the first response was lost
		var err error
		if c, err = h.ClaimContext(h.test.within(), claim); err != nil {
			h.test.Fatal(err)
		}
	}
	for _, s := range c.Sections {
		if h.injects {
			h.shown = append(h.shown, s.Nonce)
		}
		h.count[fmt.Sprintf("%d %s %s", c.Epoch, c.Mode, s.Type)]++
	}
	if source != worker.BeganCompacted {
		h.test.must(h.Report(h.test.within(), worker.Ready, worker.Detail{Via: worker.ViaHook, ConversationID: talk}))
	}
	return c
}

// turn runs a turn. At its end the hook reports which nonces it has seen.
func (h *hook) turn() {
	h.test.Helper()
	h.test.must(h.Report(h.test.within(), worker.Busy, worker.Detail{Via: worker.ViaHook}))
	h.test.must(h.Report(h.test.within(), worker.Idle, worker.Detail{Via: worker.ViaHook, Reason: worker.TurnDone}))
	for _, id := range h.claims {
		h.test.must(h.Ack(h.test.within(), worker.Ack{ID: id, State: worker.Consumed, Nonces: h.shown}))
	}
	h.claims = nil
}

// primes returns the prompts that contain context sections.
func (r *engineTest) primes() (texts []string) {
	for _, p := range r.Accepted() {
		if p.Source == "prime" {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// TestHookFetchesEachSectionOnce checks a start, compactions, new and resumed
// conversations, and two controllers: each section is fetched once in its epoch and mode, and no
// section is sent as a prompt.
func TestHookFetchesEachSectionOnce(t *testing.T) {
	r := newEngineTest(t, func(o *workers.Options) { o.Sections = testSections })
	h := r.hooked(r.start("a", "one"), true)
	h.begin(worker.BeganFresh, "t0", 0)
	h.turn()
	want := map[string]int{"0 full role": 1, "0 full history": 1}
	steps := []struct {
		source worker.Beginning
		mode   worker.ContextMode
	}{{worker.BeganCompacted, worker.CompactContext}, {worker.BeganCleared, worker.FullContext}, {worker.BeganResumed, worker.ResumeContext}}
	for i := range 21 {
		s := steps[i%len(steps)]
		h.begin(s.source, fmt.Sprint("t", i), 0)
		if i%5 == 4 {
			r.restart()
		}
		h.turn()
		h.turn()
		for _, kind := range []string{"role", "history"} {
			want[fmt.Sprintf("%d %s %s", i+1, s.mode, kind)] = 1
		}
	}
	if fmt.Sprint(h.count) != fmt.Sprint(want) {
		t.Errorf("it received\n%v, want\n%v", h.count, want)
	}
	if texts := r.primes(); len(texts) > 0 {
		t.Errorf("it received prompts, too: %q", texts)
	}
}

// TestHookWhoseOutputIsDroppedIsDetected covers a hook that succeeds while its agent CLI drops the
// output. The missing nonces show that. The sections are sent as one prompt, once, although the
// controller is killed.
func TestHookWhoseOutputIsDroppedIsDetected(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			r := newEngineTest(t, func(o *workers.Options) { o.Sections = testSections })
			h := r.hooked(r.start("a", "one"), false)
			for epoch, source := range []worker.Beginning{worker.BeganFresh, worker.BeganCompacted, worker.BeganCompacted} {
				c := h.begin(source, "t", 0)
				if len(c.Sections) != 2 {
					t.Fatalf("the hook fetched %+v", c)
				}
				if killed {
					r.restart()
				}
				h.turn()
				h.turn()
				texts := r.primes()
				if len(texts) != epoch+1 || !strings.Contains(texts[epoch], c.Sections[0].Content) || !strings.Contains(texts[epoch], c.Sections[1].Content) {
					t.Fatalf("in epoch %d it received the prompts %q", epoch, texts)
				}
			}
		})
	}
}

// TestSectionsBeyondTheHookLimitArePrompts checks that a section beyond the hook's limit, and every
// section if no claim arrives, is sent as a prompt, once.
func TestSectionsBeyondTheHookLimitArePrompts(t *testing.T) {
	r := newEngineTest(t, func(o *workers.Options) { o.Sections = testSections })
	h := r.hooked(r.start("a", "one"), true)
	c := h.begin(worker.BeganFresh, "t", 40)
	h.turn()
	h.turn()
	if len(c.Sections) != 1 || c.Sections[0].Type != "role" {
		t.Errorf("40 bytes have %+v", c.Sections)
	}
	if texts := r.primes(); len(texts) != 1 || strings.Contains(texts[0], "You repair") || !strings.Contains(texts[0], "It is kept.") {
		t.Errorf("it received the prompts %q", texts)
	}
	late := r.hooked(r.start("b", "two"), true)
	late.turn() // no claim
	if c := late.begin(worker.BeganFresh, "t", 0); len(c.Sections) != 0 {
		t.Errorf("after it received a prompt the hook has %+v", c.Sections)
	}
	late.turn()
	if texts := r.primes(); len(texts) != 2 || !strings.Contains(texts[1], "You repair, full.") {
		t.Errorf("it received the prompts %q", texts)
	}
}

// TestSectionsOfAStartAreNotSentAgain checks that sections in the first prompt of a start are not sent again,
// unless that prompt provably did not arrive.
func TestSectionsOfAStartAreNotSentAgain(t *testing.T) {
	for note, want := range map[string]int{"": 0, "cannot prompt: the first prompt is unsupported: no terminal": 1, "cannot prompt: the first prompt is unconfirmed": 0} {
		r := newEngineTest(t, func(o *workers.Options) {
			o.Sections = testSections
			o.Carried = func(string) ([]string, []string) { return []string{"role"}, []string{"history"} }
		})
		env := r.start("a", "one")
		r.must(r.agents.SetMeta("a", "GC_START_WARNING", note))
		h := r.hooked(env, true)
		r.must(h.Report(r.within(), worker.Started, worker.Detail{Via: worker.ViaHook}))
		h.turn()
		texts := r.primes()
		if len(texts) != want || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "You repair") }) {
			t.Errorf("with the warning %q it received the prompts %q", note, texts)
		}
	}
}

func TestClaimsAreNamed(t *testing.T) {
	r := newEngineTest(t, func(o *workers.Options) { o.Sections = testSections })
	h := r.hooked(r.start("a", "one"), true)
	for _, id := range []string{"", "claim-", "context-0-0-x", "claim-\n1234", "claim-" + strings.Repeat("x", 100)} {
		if _, err := h.ClaimContext(r.within(), worker.ContextClaim{ID: id}); !errors.Is(err, worker.ErrInvalid) {
			t.Errorf("a claim called %q: %v", id, err)
		}
	}
}

// TestCompactionDuringAClaim: a claim during which the conversation is compacted gets the sections in the mode of the new epoch.
func TestCompactionDuringAClaim(t *testing.T) {
	var h *hook
	reported := false
	r := newEngineTest(t, func(o *workers.Options) {
		o.Sections = func(agent string, mode worker.ContextMode) []worker.Section {
			if h != nil && !reported {
				reported = true
				_, err := h.Telemetry(h.test.within(), worker.TelemetryEvent{Type: worker.Compacted, Timestamp: time.Now()})
				h.test.must(err)
			}
			return testSections(agent, mode)
		}
	})
	h = r.hooked(r.start("a", "one"), true)
	c, err := h.ClaimContext(r.within(), worker.ContextClaim{ID: "claim-0001", Source: worker.BeganFresh, ConversationID: "t0"})
	r.must(err)
	if c.Epoch != 1 || c.Mode != worker.CompactContext || len(c.Sections) != 2 {
		t.Errorf("the claim got %+v, want both sections in mode compact", c)
	}
}
