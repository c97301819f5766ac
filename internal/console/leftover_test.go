package console

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/runtime"
)

// What a delivery left that was cut off is found out, and the input line is free again.
func TestResolve(t *testing.T) {
	const text = "cut off before its Enter"
	long := strings.Repeat("a long line of a long prompt, 0123456789; ", 60)
	tests := map[string]struct {
		face
		text    string // of the delivery
		draft   string // what is in the line
		late    time.Duration
		left    Left
		want    Resolution
		keeps   bool // the line keeps what it holds
		keyless bool
	}{
		"never arrived":             {face: face{style: "rules"}, want: Resolution{Withdrawn, true, ""}},
		"in the line":               {face: face{style: "rules"}, draft: text, want: Resolution{Withdrawn, true, ""}},
		"in the line, open":         {face: face{style: "open"}, draft: text, want: Resolution{Withdrawn, true, ""}},
		"in the line of a prompt":   {face: face{style: "line"}, draft: text, want: Resolution{Withdrawn, true, ""}},
		"wrapped":                   {face: face{style: "line"}, text: long, draft: long, want: Resolution{Withdrawn, true, ""}},
		"a part of it":              {face: face{style: "line"}, text: long, draft: long[:500], want: Resolution{Withdrawn, true, ""}},
		"a placeholder":             {face: face{style: "rules", placeholder: 800}, text: long, draft: long, want: Resolution{Withdrawn, true, ""}},
		"several lines":             {face: face{style: "rules"}, text: "one\ntwo\nthree", draft: "one\ntwo\nthree", want: Resolution{Withdrawn, true, ""}},
		"still on its way":          {face: face{style: "rules"}, draft: text, late: time.Second, want: Resolution{Withdrawn, true, ""}},
		"slow to show":              {face: face{style: "rules", echo: time.Second}, draft: text, late: time.Second, want: Resolution{Withdrawn, true, ""}},
		"Enter was swallowed":       {face: face{style: "rules"}, draft: text, left: Left{Entered: true, Seen: true}, want: Resolution{Withdrawn, true, ""}},
		"taken":                     {face: face{style: "rules"}, left: Left{Entered: true, Seen: true}, want: Resolution{Taken, true, ""}},
		"entered unseen":            {face: face{style: "rules"}, left: Left{Entered: true}, want: Resolution{Unknown, true, ""}},
		"touched, empty":            {face: face{style: "rules"}, left: Left{Touched: true}, want: Resolution{Unknown, true, "other input came after it"}},
		"touched, on its way":       {face: face{style: "rules"}, draft: text, late: 2 * time.Second, left: Left{Touched: true, Undone: true}, want: Resolution{Withdrawn, true, "other input came after it"}},
		"no key to clear it":        {face: face{style: "open"}, keyless: true, draft: text, want: Resolution{Unknown, false, "its input line cannot be emptied"}, keeps: true},
		"no key, nothing there":     {face: face{style: "open"}, keyless: true, want: Resolution{Withdrawn, true, ""}},
		"touched, ours":             {face: face{style: "rules"}, draft: text, left: Left{Touched: true}, want: Resolution{Withdrawn, true, "other input came after it"}},
		"touched, fused":            {face: face{style: "rules"}, draft: text + " and mine", left: Left{Touched: true}, want: Resolution{Unknown, true, "other input came after it"}, keeps: true},
		"touched, somebody's":       {face: face{style: "rules"}, draft: "mine", left: Left{Touched: true}, want: Resolution{Unknown, true, "other input came after it"}, keeps: true},
		"undone before it, a draft": {face: face{style: "rules"}, draft: "mine", left: Left{Touched: true, Undone: true}, want: Resolution{Withdrawn, true, "other input came after it"}, keeps: true},
		"undone before it, empty":   {face: face{style: "rules"}, left: Left{Touched: true, Undone: true}, want: Resolution{Withdrawn, true, "other input came after it"}},
		"undone in vain":            {face: face{style: "rules"}, draft: text + "m", left: Left{Touched: true, Undone: true}, want: Resolution{Unknown, true, "other input came after it"}, keeps: true},
		"entered, undone":           {face: face{style: "rules"}, left: Left{Entered: true, Seen: true, Touched: true, Undone: true}, want: Resolution{Unknown, true, "other input came after it"}},
		"marked by one that died":   {face: face{style: "rules"}, draft: mark, left: Left{Entered: true, Seen: true}, want: Resolution{Taken, true, ""}},
		"marked, in the line":       {face: face{style: "rules"}, draft: text + mark, left: Left{Entered: true, Seen: true}, want: Resolution{Withdrawn, true, ""}},
		"found before, cleared":     {face: face{style: "rules"}, left: Left{Entered: true, Seen: true, Found: Withdrawn}, want: Resolution{Withdrawn, true, ""}},
		"found before, not cleared": {face: face{style: "rules"}, draft: text, left: Left{Found: Withdrawn}, want: Resolution{Withdrawn, true, ""}},
		"found before, touched":     {face: face{style: "rules"}, left: Left{Entered: true, Touched: true, Found: Taken}, want: Resolution{Taken, true, "other input came after it"}},
		"a deaf program":            {face: face{style: "rules", deaf: true}, want: Resolution{Unknown, false, "the program does not show what it is sent"}},
		"nothing known of it":       {face: face{style: "plain"}, draft: text, want: Resolution{Unknown, false, "a text that was cut off may be in its input line, of which nothing is known"}, keeps: true},
		"nothing known, entered":    {face: face{style: "plain"}, left: Left{Entered: true}, want: Resolution{Unknown, true, "nothing is known of this program's input line"}},
		"ends like a mark":          {face: face{style: "rules"}, text: "x" + mark, draft: "x" + mark, want: Resolution{Unknown, false, "the text ends like a mark"}, keeps: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := newAgent(test.face)
				program := agent.t.program
				if test.late > 0 { // everything comes late and in order
					slow(agent, test.late)
				}
				if test.draft != "" {
					agent.t.program([]byte("\x1b[200~" + test.draft + "\x1b[201~"))
				}
				left := test.left
				if left.Text = text; test.text != "" {
					left.Text = test.text
				}
				rules := rulesOf(t, test.face)
				if test.keyless {
					rules.Screen.ClearKey = ""
				}
				got, err := Resolve(t.Context(), agent.t, rules, left)
				if err != nil || got != test.want {
					t.Fatalf("%+v, %v, want %+v", got, err, test.want)
				}
				time.Sleep(5 * time.Second)
				agent.mu.Lock()
				content := string(agent.content)
				agent.mu.Unlock()
				if test.keeps {
					if content != test.draft {
						t.Errorf("the input line holds %q, want %q untouched", content, test.draft)
					}
					return
				}
				agent.t.program = program
				if content != "" {
					t.Errorf("the input line holds %q", content)
				}
				if !test.want.Clean {
					return
				}
				if out, err := Deliver(t.Context(), agent.t, Prompt{Text: "next"}, rulesOf(t, test.face)); err != nil || out.State == runtime.OutcomeRefused {
					t.Fatalf("the next: %+v, %v", out, err)
				}
				time.Sleep(time.Second)
				if taken := agent.prompts(); !slices.Equal(taken, []string{"next"}) {
					t.Errorf("the agent took %q", taken)
				}
			})
		})
	}
}

// slow lets an agent read everything late, in order.
func slow(a *fakeAgent, late time.Duration) {
	program := a.t.program
	var sending, reading sync.Mutex
	var queue [][]byte
	a.t.program = func(p []byte) {
		sending.Lock()
		queue = append(queue, slices.Clone(p))
		sending.Unlock()
		time.AfterFunc(late, func() { // timers of one moment fire in any order
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
		f := face{style: "rules"}
		agent := newAgent(f)
		agent.text("cut off", true)
		agent.t.human("\x00")
		type result struct {
			Resolution
			error
		}
		done := make(chan result, 1)
		go func() {
			got, err := Resolve(t.Context(), agent.t, rulesOf(t, f), Left{Text: "cut off"})
			done <- result{got, err}
		}()
		for range 40 { // goes on typing
			time.Sleep(500 * time.Millisecond)
			agent.t.human("\x00")
		}
		if got := <-done; got.error != nil || got.Clean || got.Verdict != Unknown {
			t.Errorf("%+v, want nothing known", got)
		}
		if in := agent.t.input(); in != "" {
			t.Errorf("the agent was sent %q", in)
		}
	})
}
