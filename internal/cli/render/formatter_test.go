package render

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/textfmt"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// hostile is what an agent may print, be called or give as a reason.
const hostile = "a\x1b[2Jb\x07\x00c\u009bd\r\nsecond\tline"

// fill puts hostile text into every string of a value, and something into
// everything else.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(hostile)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(noon.Add(-time.Hour)))
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(hostile), reflect.ValueOf(hostile))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Float64:
		v.SetFloat(3)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	default: // a bool: false is as good as true
	}
}

func filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem())
	return v
}

// hostileConversation returns a conversation with an entry of each kind.
func hostileConversation(s Formatter) string {
	var entries []client.ConversationEntry
	for _, kind := range []string{
		client.EntryPrompt, client.EntryAnswer, client.EntryThinking, client.EntryTool, client.EntryError, client.EntryCompaction, client.EntryNotice,
	} {
		e := filled[client.ConversationEntry]()
		e.Kind, e.From = kind, client.PromptByReceipt
		entries = append(entries, e)
	}
	c := Conversation{Formatter: s}
	return c.Entries(entries)
}

// TestNothingReachesTheTerminal writes pages full of control sequences.
func TestNothingReachesTheTerminal(t *testing.T) {
	s := Formatter{Now: noon, Columns: 80}
	pending := filled[[]client.Pending]()
	pending[0].State = client.PendingOpen
	agent := filled[client.Agent]()
	agent.State = client.StateRunning
	status := filled[client.Status]()
	status.Agents = append(status.Agents, agent)
	status.Root = "/x"
	explained := filled[client.Explanation]()
	explained.Pending = pending
	running := explained
	running.Agent = agent
	for name, page := range map[string]string{
		"status":     s.Status(status, nil, nil),
		"sessions":   s.Sessions(status.Agents),
		"session":    s.Session(filled[client.Session]()),
		"event":      s.Event(filled[client.Event]()),
		"plan":       s.Plan(filled[client.Plan]()),
		"queue":      s.Queue(filled[[]client.Receipt]()),
		"receipt":    s.Receipt(filled[client.Receipt]()),
		"pending":    s.Pending(pending),
		"waits":      s.Waits(filled[[]client.Wait]()),
		"explain":    s.Explanation(explained),
		"talk":       hostileConversation(s),
		"explain up": s.Explanation(running),
		"census":     s.Census(filled[client.Census]()),
		"remains":    s.Remains(filled[client.Remains]()),
		"providers":  s.Providers(filled[[]client.Provider]()),
		"notify":     s.Notifications(filled[client.Notifications]()),
		"notifytest": s.NotifyResults(filled[[]client.NotifyResult]()),
		"usage":      s.Usage(filled[client.Usage]()),
		"tools":      s.Usage(client.Usage{By: "tool", Groups: filled[[]client.UsageSum]()}),
		"budgets":    s.Budgets(filled[[]client.Budget]()),
		"config":     s.Config(filled[client.Config]()),
	} {
		if at := strings.IndexFunc(page, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); at >= 0 {
			t.Errorf("the %s lets a control character through at %d: %q", name, at, page[max(0, at-40):min(len(page), at+20)])
		}
		if !strings.Contains(page, "a") || !strings.HasSuffix(page, "\n") {
			t.Errorf("the %s is no page: %q", name, page)
		}
	}
}

func TestAnExplanationAnswersFirst(t *testing.T) {
	s := Formatter{Now: noon, Verbose: true}
	got := s.Explanation(client.Explanation{
		Agent: client.Agent{
			Name: "worker", Session: "gc-town-worker", Provider: "pty", Desired: "running", State: "quarantined",
			Reason: "5 failures within 1h", Activity: client.Activity{State: "idle"}, Epoch: 7,
		},
		Channel:  &client.Channel{Way: client.ChannelTyped, Reason: "no channel is known"},
		Decision: "wait", Reason: "quarantined until 12:10", Next: "one more start", NextAt: noon.Add(10 * time.Minute),
		Exit: "exit code 127", Output: strings.Repeat("noise\n", 3) + "sh: no-such-agent: not found\n", Failures: []time.Time{noon.Add(-time.Minute)},
		LastScreen: "$ no-such-agent\n",
		Evidence:   []client.Evidence{{Source: "process", Activity: "unknown", ReadAt: noon, Used: true, Confidence: "guess"}},
	})
	got = strings.Replace(got, noon.Add(10*time.Minute).Local().Format("15:04:05"), "TIME", 1)
	want := `worker  quarantined

reason      5 failures within 1h
desired     running
controller  waits: quarantined until 12:10
next        one more start (in 10m, at TIME)
prompts     written to the agent's input: no channel is known
session     gc-town-worker, pty, run 7

LAST EXIT
exit      exit code 127
failures  1, the last one 1m ago

LAST OUTPUT
  noise
  noise
  noise
  sh: no-such-agent: not found

SCREEN
  $ no-such-agent

ACTIVITY SIGNALS (* = used)
   SOURCE   ACTIVITY  READ  CONFIDENCE
*  process  unknown   now   guess
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page differs (-want +got):\n%s", diff)
	}
}

// TestOutputOfThePreviousRunIsNamed: a running agent's page does not show the end of the run before as if it were of this one.
func TestOutputOfThePreviousRunIsNamed(t *testing.T) {
	s := Formatter{Now: noon}
	e := client.Explanation{Agent: client.Agent{Name: "worker", State: client.StateRunning}, Output: "$ ^C\n$", LastScreen: "a dialog"}
	got := s.Explanation(e)
	for _, want := range []string{"LAST OUTPUT OF THE PREVIOUS RUN\n  $ ^C\n", "LAST SCREEN OF THE PREVIOUS RUN\n  a dialog\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not contain %q:\n%s", want, got)
		}
	}
	e.Agent.State = client.StateStopped
	if got := s.Explanation(e); strings.Contains(got, "PREVIOUS") || !strings.Contains(got, "LAST OUTPUT\n") {
		t.Errorf("the page of an agent that does not run:\n%s", got)
	}
}

// TestAnAgentThatWaitsIsExplainedInAScreen: the page of an agent that does not run as configured, or that is held, fits into 24
// rows of 80 columns, with much output and many signals, facts and events. With Verbose it has everything.
func TestAnAgentThatWaitsIsExplainedInAScreen(t *testing.T) {
	e := client.Explanation{
		Agent: client.Agent{
			Name: "worker", Session: "gc-town-worker", Provider: "pty", Desired: "stopped", State: client.StateStopped, Reason: "it is suspended", Restarts: 4,
			Held: "unguarded: gc has no hooks for its program", Guard: "unguarded", GuardDetail: "unguarded: gc has no hooks for its program",
		},
		Decision: "none", Reason: "it is suspended", Exit: "exited with code 3", Failures: []time.Time{noon.Add(-time.Minute)},
		Output: strings.Repeat("noise\n", 30), Evidence: make([]client.Evidence, 4),
		Facts: []client.Fact{{What: "session", Value: "dead"}, {What: "store", Value: "it works"}},
	}
	for range 20 {
		e.Recent = append(e.Recent, client.Event{Kind: "session.stopped", Text: "the controller stopped the session", Time: noon})
	}
	s := Formatter{Now: noon, Columns: 80}
	brief := s.Explanation(e)
	if n := strings.Count(brief, "\n"); n > 24 || !strings.HasSuffix(brief, "\nall signals, facts and events: gc explain -v worker\n") {
		t.Errorf("the page has %d rows:\n%s", n, brief)
	}
	s.Verbose = true
	for _, want := range []string{"\nguard ", "\nACTIVITY SIGNALS", "\nSTATE\n", "  it works"} {
		if all := s.Explanation(e); !strings.Contains(all, want) || strings.Contains(brief, want) {
			t.Errorf("%q is not only on the page with all:\n%s", want, all)
		}
	}
}

func TestAQuestionSaysWhatHappensWithoutAnAnswer(t *testing.T) {
	s := Formatter{Now: noon}
	base := client.Pending{ID: "q1", Agent: "worker", Kind: "permission", Prompt: "Run it?", Options: []string{"Yes", "No"}, Source: "osc", Since: noon.Add(-time.Minute), State: client.PendingOpen}
	for policy, want := range map[string]string{
		"wait":     "  answer with: gc respond q1 N  (N is 1 to 2)\n",
		"deny":     "  answer with: gc respond q1 N  (N is 1 to 2); it is denied in 2m\n",
		"answer":   "  answer with: gc respond q1 N  (N is 1 to 2); it is answered with \"No\" in 2m\n",
		"escalate": "  answer with: gc respond q1 N  (N is 1 to 2); reminder in 2m\n",
	} {
		p := base
		p.Policy, p.Deadline, p.Default = policy, noon.Add(2*time.Minute), "No"
		if got := s.Pending([]client.Pending{p}); !strings.HasSuffix(got, want) || !strings.Contains(got, "    2  No\n") {
			t.Errorf("with policy %s the question is\n%s\nwant the end %q", policy, got, want)
		}
	}
	short := base
	short.Policy, short.Deadline, short.Until = "escalate", noon.Add(10*time.Minute), noon.Add(time.Minute)
	if got := s.Pending([]client.Pending{short}); !strings.HasSuffix(got, "; the agent stops waiting in 1m\n") {
		t.Errorf("a question that waits for a minute is\n%s", got)
	}
	short.State, short.EndedAt = client.PendingResolved, short.Until
	if got := s.Pending([]client.Pending{short}); !strings.Contains(got, "no answer arrived in time") {
		t.Errorf("a question without an answer is\n%s", got)
	}
	for name, c := range map[string]struct {
		change func(*client.Pending)
		want   string
	}{
		"no options":              {func(p *client.Pending) { p.Options = nil }, "answer with: gc respond q1 --text WORDS"},
		"only its terminal":       {func(p *client.Pending) { p.Options, p.NoText = nil, true }, "answer with: gc attach worker"},
		"one option":              {func(p *client.Pending) { p.Options = p.Options[:1] }, "answer with: gc respond q1 1"},
		"an option does no harm":  {func(p *client.Pending) { p.Suggested = "No" }, "answer with: gc respond q1 2"},
		"the suggestion has gone": {func(p *client.Pending) { p.Suggested = "Maybe" }, "answer with: gc respond q1 N  (N is 1 to 2)"},
	} {
		open := base
		c.change(&open)
		if got := s.Pending([]client.Pending{open}); !strings.Contains(got, c.want+"\n") {
			t.Errorf("%s: the question is\n%s\nwant %q", name, got, c.want)
		}
	}
}

func TestActivitiesSayHowSureTheyAre(t *testing.T) {
	s := Formatter{Now: noon}
	for want, agent := range map[string]client.Agent{
		"busy":                {State: client.StateRunning, Activity: client.Activity{State: "busy", Confidence: "certain"}},
		"likely busy":         {State: client.StateRunning, Activity: client.Activity{State: "busy", Confidence: "guess"}},
		"waiting: permission": {State: client.StateRunning, Activity: client.Activity{State: "waiting", Kind: "permission"}},
		"limited for 5m":      {State: client.StateRunning, Activity: client.Activity{State: "limited", Until: noon.Add(5 * time.Minute)}},
		"unknown":             {State: client.StateRunning, Activity: client.Activity{State: "unknown", Confidence: "guess"}},
		"":                    {State: client.StateStopped, Activity: client.Activity{State: "idle"}},
	} {
		if got := s.activity(agent).Text; got != want {
			t.Errorf("the activity of %+v is %q, want %q", agent, got, want)
		}
	}
	if got := s.activity(client.Agent{State: client.StateRunning, Activity: client.Activity{State: "waiting"}}).Color; got != textfmt.Yellow {
		t.Errorf("waiting is painted %q", got)
	}
}

func TestStepsTellHowLongTheyTook(t *testing.T) {
	got := Formatter{Now: noon}.Receipt(client.Receipt{ID: "p1", State: client.ReceiptSubmitted, Text: strings.Repeat("x", 200), Bytes: 1 << 20, Steps: []client.ReceiptStep{
		{State: client.ReceiptAccepted, At: noon}, {State: client.ReceiptInjected, At: noon.Add(1500 * time.Millisecond)}, {State: client.ReceiptSubmitted, At: noon.Add(2 * time.Hour), Detail: "busy"},
	}})
	for _, want := range []string{"  0.000s  accepted", "  1.500s  injected", "  2h00m   submitted  busy", "… (1048576 bytes)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the receipt lacks %q:\n%s", want, got)
		}
	}
}

func TestProcessesAreIndentedBelowTheirParents(t *testing.T) {
	table := processTable([]client.Process{{PID: 1, Command: "a"}, {PID: 2, PPID: 1, Command: "b"}, {PID: 3, PPID: 2, Command: "c"}, {PID: 4, PPID: 9, Command: "d"}})
	var got []string
	for _, row := range table.Rows {
		got = append(got, row[2].Text)
	}
	if want := "a|└ b|  └ c|d"; strings.Join(got, "|") != want {
		t.Errorf("the tree is %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestNotesSayWhatAPersonNeeds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := Formatter{Now: now}
	tests := map[string]client.Agent{
		"":                                  {Desired: "running", State: "running"},
		"desired: absent":                   {Desired: "absent", State: "running"},
		"out of memory … at line 3; exit 1": {Desired: "running", State: "failed", Reason: "out of memory\nat line 3", Exit: "exit 1"},
		"next try in 5s; 3 restarts":        {Desired: "running", State: "lost", NextAt: now.Add(4500 * time.Millisecond), Restarts: 3},
		"differs from its configuration: command": {Desired: "running", State: "running", Drift: []string{"command"}},
		"last seen 1m ago":                        {Desired: "running", State: "unknown", ReadAt: now.Add(-time.Minute)},
	}
	for want, agent := range tests {
		if got := s.statusNote(agent); got != want {
			t.Errorf("the note of %+v is %q, want %q", agent, got, want)
		}
	}
}
