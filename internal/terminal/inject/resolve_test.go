package inject

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/runtime"
	"gascity/test/terminal"
)

// What a delivery left that was cut off is found out, and the input box is free again.
func TestResolve(t *testing.T) {
	const text = "cut off before its Enter"
	long := strings.Repeat("a long line of a long prompt, 0123456789; ", 60)
	tests := map[string]struct {
		terminal.Face
		text    string // of the delivery
		draft   string // what is in the line
		late    time.Duration
		left    DeliveryEntry
		want    resolution
		keeps   bool // the line keeps what it holds
		keyless bool
	}{
		"never arrived":             {Face: terminal.Face{Style: "rules"}, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"in the line":               {Face: terminal.Face{Style: "rules"}, draft: text, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"in the line, open":         {Face: terminal.Face{Style: "open"}, draft: text, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"in the line of a prompt":   {Face: terminal.Face{Style: "line"}, draft: text, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"wrapped":                   {Face: terminal.Face{Style: "line"}, text: long, draft: long, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"a part of it":              {Face: terminal.Face{Style: "line"}, text: long, draft: long[:500], want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"a placeholder":             {Face: terminal.Face{Style: "rules", Placeholder: 800}, text: long, draft: long, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"several lines":             {Face: terminal.Face{Style: "rules"}, text: "one\ntwo\nthree", draft: "one\ntwo\nthree", want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"still on its way":          {Face: terminal.Face{Style: "rules"}, draft: text, late: time.Second, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"slow to show":              {Face: terminal.Face{Style: "rules", Echo: time.Second}, draft: text, late: time.Second, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"Enter was swallowed":       {Face: terminal.Face{Style: "rules"}, draft: text, left: DeliveryEntry{Entered: true, Seen: true}, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"taken":                     {Face: terminal.Face{Style: "rules"}, left: DeliveryEntry{Entered: true, Seen: true}, want: resolution{Verdict: accepted, Clean: true, Why: ""}},
		"entered unseen":            {Face: terminal.Face{Style: "rules"}, left: DeliveryEntry{Entered: true}, want: resolution{Verdict: unknown, Clean: true, Why: ""}},
		"touched, empty":            {Face: terminal.Face{Style: "rules"}, left: DeliveryEntry{Touched: true}, want: resolution{Verdict: unknown, Clean: true, Why: "other input arrived after it"}},
		"touched, on its way":       {Face: terminal.Face{Style: "rules"}, draft: text, late: 2 * time.Second, left: DeliveryEntry{Touched: true, Undone: true}, want: resolution{Verdict: withdrawn, Clean: true, Why: "other input arrived after it"}},
		"no key but backspace":      {Face: terminal.Face{Style: "open"}, keyless: true, draft: text, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"no key, nothing there":     {Face: terminal.Face{Style: "open"}, keyless: true, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"touched, ours":             {Face: terminal.Face{Style: "rules"}, draft: text, left: DeliveryEntry{Touched: true}, want: resolution{Verdict: withdrawn, Clean: true, Why: "other input arrived after it"}},
		"touched, fused":            {Face: terminal.Face{Style: "rules"}, draft: text + " and mine", left: DeliveryEntry{Touched: true}, want: resolution{Verdict: unknown, Clean: true, Why: "other input arrived after it"}, keeps: true},
		"touched, somebody's":       {Face: terminal.Face{Style: "rules"}, draft: "mine", left: DeliveryEntry{Touched: true}, want: resolution{Verdict: unknown, Clean: true, Why: "other input arrived after it"}, keeps: true},
		"undone before it, a draft": {Face: terminal.Face{Style: "rules"}, draft: "mine", left: DeliveryEntry{Touched: true, Undone: true}, want: resolution{Verdict: withdrawn, Clean: true, Why: "other input arrived after it"}, keeps: true},
		"undone before it, empty":   {Face: terminal.Face{Style: "rules"}, left: DeliveryEntry{Touched: true, Undone: true}, want: resolution{Verdict: withdrawn, Clean: true, Why: "other input arrived after it"}},
		"undone in vain":            {Face: terminal.Face{Style: "rules"}, draft: text + "m", left: DeliveryEntry{Touched: true, Undone: true}, want: resolution{Verdict: unknown, Clean: true, Why: "other input arrived after it"}, keeps: true},
		"entered, undone":           {Face: terminal.Face{Style: "rules"}, left: DeliveryEntry{Entered: true, Seen: true, Touched: true, Undone: true}, want: resolution{Verdict: unknown, Clean: true, Why: "other input arrived after it"}},
		"marked by one that died":   {Face: terminal.Face{Style: "rules"}, draft: mark, left: DeliveryEntry{Entered: true, Seen: true}, want: resolution{Verdict: accepted, Clean: true, Why: ""}},
		"marked, in the line":       {Face: terminal.Face{Style: "rules"}, draft: text + mark, left: DeliveryEntry{Entered: true, Seen: true}, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"found before, cleared":     {Face: terminal.Face{Style: "rules"}, left: DeliveryEntry{Entered: true, Seen: true, Outcome: string(withdrawn)}, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"found before, not cleared": {Face: terminal.Face{Style: "rules"}, draft: text, left: DeliveryEntry{Outcome: string(withdrawn)}, want: resolution{Verdict: withdrawn, Clean: true, Why: ""}},
		"found before, touched":     {Face: terminal.Face{Style: "rules"}, left: DeliveryEntry{Entered: true, Touched: true, Outcome: string(accepted)}, want: resolution{Verdict: accepted, Clean: true, Why: "other input arrived after it"}},
		"a deaf program":            {Face: terminal.Face{Style: "rules", IgnoreInput: true}, want: resolution{Hidden: true, Why: notShown}},
		"nothing known of it":       {Face: terminal.Face{Style: "plain"}, draft: text, want: resolution{Hidden: true, Why: "an incomplete text may be in the program's input box, which gc cannot read"}, keeps: true},
		"nothing known, entered":    {Face: terminal.Face{Style: "plain"}, left: DeliveryEntry{Entered: true}, want: resolution{Verdict: unknown, Clean: true, Why: "gc cannot read this program's input box"}},
		"ends like a mark":          {Face: terminal.Face{Style: "rules"}, text: "x" + mark, draft: "x" + mark, want: resolution{Verdict: unknown, Clean: false, Why: "the text ends like a mark"}, keeps: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := terminal.NewAgent(test.Face)
				program := agent.T.Program
				if test.late > 0 { // everything comes late and in order
					slow(agent, test.late)
				}
				if test.draft != "" {
					agent.T.Program([]byte("\x1b[200~" + test.draft + "\x1b[201~"))
				}
				left := test.left
				if left.Text = []byte(text); test.text != "" {
					left.Text = []byte(test.text)
				}
				rules := test.Face.Rules(t)
				if test.keyless {
					rules.Screen.ClearKey = ""
				}
				got, err := target{Lease: unlogged{agent.T}}.resolve(t.Context(), rules, left)
				if err != nil || got != test.want {
					t.Fatalf("%+v, %v, want %+v", got, err, test.want)
				}
				time.Sleep(5 * time.Second)
				content := agent.Line()
				if test.keeps {
					if content != test.draft {
						t.Errorf("the input box holds %q, want %q untouched", content, test.draft)
					}
					return
				}
				agent.T.Program = program
				if content != "" {
					t.Errorf("the input box holds %q", content)
				}
				if !test.want.Clean {
					return
				}
				if out, err := Type(t.Context(), agent.T, Prompt{Text: "next"}, test.Face.Rules(t)); err != nil || out.State == runtime.OutcomeRefused {
					t.Fatalf("the next: %+v, %v", out, err)
				}
				time.Sleep(time.Second)
				if taken := agent.Prompts(); !slices.Equal(taken, []string{"next"}) {
					t.Errorf("the agent took %q", taken)
				}
			})
		})
	}
}

// slow lets an agent read everything late, in order.
func slow(a *terminal.Agent, late time.Duration) {
	slowBy(a, func() time.Duration { return late })
}

// slowBy is slow by what late says, of what is sent later no less.
func slowBy(a *terminal.Agent, late func() time.Duration) {
	program := a.T.Program
	var sending, reading sync.Mutex
	var queue [][]byte
	a.T.Program = func(p []byte) {
		sending.Lock()
		queue = append(queue, slices.Clone(p))
		sending.Unlock()
		time.AfterFunc(late(), func() { // timers of one moment fire in any order
			reading.Lock()
			defer reading.Unlock()
			sending.Lock()
			next := queue[0]
			queue = queue[1:]
			sending.Unlock()
			program(next)
		})
	}
}

// A person who is at the line keeps it, whatever it looks like.
func TestLeftoverIsLeftToATypingPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules"}
		agent := terminal.NewAgent(f)
		agent.Text("cut off", true)
		agent.T.Human("\x00")
		type result struct {
			resolution
			error
		}
		done := make(chan result, 1)
		go func() {
			got, err := target{Lease: unlogged{agent.T}}.resolve(t.Context(), f.Rules(t), DeliveryEntry{Text: []byte("cut off")})
			done <- result{got, err}
		}()
		for range 40 { // goes on typing
			time.Sleep(500 * time.Millisecond)
			agent.T.Human("\x00")
		}
		if got := <-done; got.error != nil || got.Clean || got.Verdict != unknown {
			t.Errorf("%+v, want nothing known", got)
		}
		if in := agent.T.Input(); in != "" {
			t.Errorf("the agent was sent %q", in)
		}
	})
}
