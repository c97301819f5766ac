package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

// greeting is a dialog that an agent shows before it is ready. Without choices it
// must get no key: a person decides.
type greeting struct {
	name, provider string
	choices        []string
}

var greetings = []greeting{
	{"trust", "claude", []string{"Yes, I trust this folder"}},
	{"trust-no-first", "claude", []string{"Yes, I trust this folder"}},
	{"trust-reversed", "claude", []string{"Yes, I trust this folder"}},
	{"trust-extra", "claude", []string{"Yes, I trust this folder"}},
	{"trust-numbered", "claude", []string{"Yes, I trust this folder"}},
	{"bypass", "claude", []string{"Yes, I accept"}},
	{"apikey", "claude", []string{"Yes"}},
	{"trust-no-first,bypass,apikey", "claude", []string{"Yes, I trust this folder", "Yes, I accept", "Yes"}},
	{"update-default-now", "codex", nil}, // drawn with another glyph than its rule knows
	{"unknown", "claude", nil},
	{"unknown", "codex", nil},
	{"unknown", "", nil},
	{"trust-no-first", "", nil},
	{"update-default-now", "claude", nil},
}

// TestStartUpDialogs starts an agent for each dialog. The right option is selected for every position
// of the cursor, or no key is pressed and a person is asked. The agents record every byte that they get.
func TestStartUpDialogs(t *testing.T) {
	t.Parallel()
	members := make([]member, len(greetings))
	for i, g := range greetings {
		members[i] = member{name: fmt.Sprintf("g%d", i), flags: "--ledger-keys --dialog " + g.name, toml: "accept_startup_dialogs = true\n"}
		if g.provider != "" {
			members[i].toml += fmt.Sprintf("provider = %q\n", g.provider)
		}
	}
	c := newCityOf(t, "max_restarts = 1\n", members)
	c.start()
	var group sync.WaitGroup
	for i, g := range greetings {
		group.Go(func() {
			if g.choices == nil {
				c.unanswered(t, members[i].name, g)
			} else {
				c.checkDialogs(t, members[i].name, g)
			}
		})
	}
	group.Wait()
	for i, g := range greetings {
		if records := c.records(t, members[i].name); len(ledger.Of(records, ledger.Start)) != 1 {
			t.Errorf("%s (%s) was started again: a dialog was answered wrongly: %+v", g.name, g.provider, ledger.Of(records, ledger.Exit))
		}
	}
	c.stop()
}

// checkDialogs waits until the agent is ready, and compares its choices.
func (c *city) checkDialogs(t *testing.T, agent string, g greeting) {
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	records, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Ready, 1))
	if err != nil {
		t.Errorf("%s (%s) never became ready: %v", g.name, g.provider, err)
		return
	}
	var got []string
	for _, r := range ledger.Of(records, ledger.Dialog) {
		got = append(got, r.Choice)
	}
	if !slices.Equal(got, g.choices) {
		t.Errorf("%s (%s) was answered with %q, want %q", g.name, g.provider, got, g.choices)
	}
}

// unanswered waits until a person is asked, and answers as one.
func (c *city) unanswered(t *testing.T, agent string, g greeting) {
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	p := c.openQuestion(ctx, t, agent)
	if p.ID == "" {
		return
	}
	pause(time.Second) // no key must follow, so there is nothing to wait for
	records := c.records(t, agent)
	if keys := ledger.Of(records, ledger.Key); len(keys) > 0 {
		t.Errorf("%s (%s) got keys: %+v", g.name, g.provider, keys)
	}
	right := map[string]string{"unknown": "Go on", "trust-no-first": "Yes, I trust this folder", "update-default-now": "Skip"}[g.name]
	if g.provider == "codex" && len(p.Options) == 0 {
		return // its options could not be read: the terminal is left
	}
	if !slices.Contains(p.Options, right) {
		t.Errorf("%s (%s) is listed with the options %q", g.name, g.provider, p.Options)
	}
	if _, err := c.client.Respond(ctx, p.ID, client.RespondRequest{Option: right}); err != nil {
		t.Errorf("%s (%s): %v", g.name, g.provider, err)
	}
	if records, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Ready, 1)); err != nil {
		t.Errorf("%s (%s) never became ready: %v, %+v", g.name, g.provider, err, records)
	}
}

// openQuestion waits for the agent's open question.
func (c *city) openQuestion(ctx context.Context, t *testing.T, agent string) client.Pending {
	t.Helper()
	for {
		open, err := c.client.Pending(ctx, agent, client.OnlyOpen)
		if len(open) > 0 {
			return open[0]
		}
		if ctx.Err() != nil {
			t.Errorf("%s never asked anybody: %v; ledger %+v", agent, err, c.records(t, agent))
			return client.Pending{}
		}
		pause(10 * time.Millisecond)
	}
}

// TestNoPromptIsTypedIntoADialog has a dialog whose first option makes the agent exit. It appears at random
// moments while prompts wait. It gets only the bytes of its answer, and the prompts arrive afterwards. Only
// bytes that were sent before the dialog was drawn may reach it, and Enter only if the terminal had it already.
func TestNoPromptIsTypedIntoADialog(t *testing.T) {
	t.Parallel()
	agents, prompts := setting(t, "GC_E2E_LATE", 8), 6
	members := make([]member, agents)
	for i := range members {
		after := time.Duration(100+350*i) * time.Millisecond
		members[i] = member{name: name(i), flags: fmt.Sprintf("--ledger-keys --think 150ms --dialog late-trust:%v", after), toml: claude}
		if i%2 == 1 {
			members[i].flags += " --osc7501"
		}
	}
	c := newCityOf(t, "max_restarts = 1\n", members)
	c.start()
	var group sync.WaitGroup
	for i := range members {
		group.Go(func() { c.interrupted(t, i, prompts) })
	}
	group.Wait()
	c.stop()
}

// underWay is how long after a dialog was drawn text may still arrive that was
// sent before it could be seen. Enter may not: it is bound to the screen without the dialog.
const underWay = 300 * time.Millisecond

// interrupted sends prompts without a pause, answers the dialog after some time, and checks what the agent got
// before that.
func (c *city) interrupted(t *testing.T, i, prompts int) {
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	receipts, unsure := make([]client.Receipt, prompts), 0
	for n := range receipts {
		r, err := c.client.Nudge(ctx, name(i), client.NudgeRequest{Text: fmt.Sprintf("prompt %d of %s", n, name(i))})
		if err != nil {
			t.Errorf("%s takes no prompt: %v", name(i), err)
			return
		}
		receipts[n] = r
	}
	if _, err := ledgertest.Wait(ctx, c.ledger(i), ledgertest.Has(ledger.DialogShown, 1)); err != nil {
		t.Errorf("%s: %v", name(i), err)
		return
	}
	if enterBefore(c.records(t, name(i))) {
		t.Logf("%s: Enter was sent before the dialog was drawn and read behind that: no program can take it back", name(i))
		return
	}
	if p := c.openQuestion(ctx, t, name(i)); p.ID != "" {
		pause(time.Second) // prompts wait, and none may be typed
		if _, err := c.client.Respond(ctx, p.ID, client.RespondRequest{Option: "Yes, I trust this folder"}); err != nil {
			t.Errorf("%s: %v", name(i), err)
		}
	}
	for n, r := range receipts {
		r, err := c.client.Receipt(ctx, r.ID, client.ReceiptConsumed)
		if r.State == client.ReceiptUnconfirmed && strings.Contains(r.Reason, "a dialog appeared") {
			unsure++
		} else if err != nil || r.State != client.ReceiptConsumed {
			t.Errorf("%s: prompt %d is %s (%s): %v", name(i), n, r.State, r.Reason, err)
		}
	}
	records := c.records(t, name(i))
	if enterBefore(records) {
		t.Logf("%s: Enter was sent before the dialog was drawn and read behind that: no program can take it back", name(i))
		return
	}
	if starts := ledger.Of(records, ledger.Start); len(starts) != 1 {
		t.Errorf("%s was started %d times: the dialog was answered wrongly", name(i), len(starts))
	}
	for n := range receipts {
		text, taken := fmt.Sprintf("prompt %d of %s", n, name(i)), 0
		for _, r := range ledger.Prompts(records) {
			if r.Is(text) {
				taken++
			} else if strings.Contains(r.Text, text) {
				t.Errorf("%s took %q", name(i), r.Text)
			}
		}
		if taken > 1 || taken == 0 && unsure == 0 {
			t.Errorf("%s took prompt %d %d times", name(i), n, taken)
		}
	}
	var shown time.Time
	open := false
	for _, r := range records {
		switch r.Kind {
		case ledger.DialogShown:
			open, shown = true, r.Time
		case ledger.Dialog:
			open = false
			if r.Choice != "Yes, I trust this folder" {
				t.Errorf("%s: the dialog was answered with %q", name(i), r.Choice)
			}
		case ledger.Key:
			switch after := r.Time.Sub(shown); {
			case !open || arrows(r.Hex) && after > underWay:
			case after > underWay:
				t.Errorf("%s: the dialog got %s after %v", name(i), r.Hex, after)
			case strings.HasSuffix(r.Hex, "0d"):
				t.Errorf("%s: the dialog got Enter as it came up: %s", name(i), r.Hex)
			default:
				t.Logf("%s: text was under way when the dialog came up, and arrived %v later", name(i), after)
			}
		}
	}
}

// inFlight is how long an Enter may take from the last check of the screen to the agent. The shim
// checks that the terminal has no unread output, and writes Enter next; a busy machine can stop the
// shim between the two. internal/shim TestInputForAFrame proves the check itself.
const inFlight = 50 * time.Millisecond

// enterBefore reports whether the first input of the agent's dialog is an Enter that was sent before
// the dialog could be seen: the terminal had it before the dialog was drawn, or it was in flight.
func enterBefore(records []ledger.Record) bool {
	i := slices.IndexFunc(records, func(r ledger.Record) bool { return r.Kind == ledger.DialogShown })
	if i < 0 {
		return false
	}
	shown := records[i]
	for _, r := range records[i+1:] {
		if r.Kind == ledger.Key {
			return strings.HasSuffix(r.Hex, "0d") && (r.Time.Sub(shown.Time) <= inFlight || r.Bytes == shown.Bytes)
		}
	}
	return false
}

// arrows reports whether raw input is nothing but the keys that answer a dialog.
func arrows(hex string) bool {
	for _, key := range []string{"1b5b41", "1b5b42", "1b4f41", "1b4f42", "0d"} {
		hex = strings.ReplaceAll(hex, key, "")
	}
	return hex == ""
}
