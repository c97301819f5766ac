package tui

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/terminal/vt"
)

var update = flag.Bool("update", false, "write the golden frames")

var start = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// minutesAgo returns a time before start.
func minutesAgo(n int) time.Time { return start.Add(-time.Duration(n) * time.Minute) }

// agentOf returns a running agent.
func agentOf(name, activity string, since int) client.Agent {
	return client.Agent{
		Name: name, Session: "gc-demo-" + strings.ReplaceAll(name, "/", "-"), State: client.StateRunning, Desired: client.DesiredRunning, Instance: "i-" + name,
		Reason: client.RunsAsConfigured, StartedAt: minutesAgo(200), Activity: client.Activity{State: activity, Since: minutesAgo(since)},
	}
}

// demo returns a city with one agent in each condition, in three rigs.
func demo() client.Status {
	half, full := 0.42, 0.91
	asks := agentOf("web/tester", "waiting", 3)
	asks.Pending, asks.Activity.Kind = 1, "permission"
	works := agentOf("web/coder", "busy", 12)
	works.Worker = &client.Worker{ContextUsage: &half}
	wide := agentOf("api/レビュー担当者", "busy", 95)
	wide.Worker = &client.Worker{ContextUsage: &full}
	stalled := agentOf("api/migrator", "busy", 45)
	stalled.StalledSince, stalled.LastSign = minutesAgo(31), "output"
	limited := agentOf("api/docs", "idle", 5)
	limited.Obstacle = &client.AgentObstacle{Kind: client.ObstacleLimit, Detail: "5-hour limit reached", Since: minutesAgo(5), ResetAt: start.Add(2 * time.Hour)}
	failed := client.Agent{Name: "infra/broken", State: client.StateFailed, Reason: `command "agent" not found`, ActiveAt: minutesAgo(1500), NextAt: start.Add(time.Minute)}
	asleep := client.Agent{Name: "infra/watcher", State: client.StateAsleep, Reason: "no work"}
	starting := client.Agent{Name: "infra/deployer", State: client.StateStarting, StartedAt: start.Add(-10 * time.Second)}
	usd := 3.21
	return client.Status{
		City: "demo", Burn: &client.Burn{USDPerHour: &usd},
		Agents: []client.Agent{works, asks, agentOf("web/reviewer", "idle", 61), wide, stalled, limited, failed, asleep, starting},
	}
}

// asked returns the question of the demo city.
func asked() client.Pending {
	return client.Pending{
		ID: "q-1", Agent: "web/tester", Kind: "permission", Prompt: "Bash command\n\n  rm -rf build && make test\n\nDo you want to proceed?",
		Options: []string{"Yes", "Yes, and do not ask again for make", "No, and say what to do instead"}, Since: minutesAgo(3), State: client.PendingOpen,
	}
}

// waiting returns the queue of the demo city.
func waiting() []client.Receipt {
	r := func(id, agent, state, priority, text string, position int) client.Receipt {
		return client.Receipt{
			ID: id, Agent: agent, Session: agent, State: state, Priority: priority, Text: text, Position: position, Source: "gc send", CreatedAt: minutesAgo(4), Reason: "the agent is busy",
		}
	}
	return []client.Receipt{
		r("r-2", "api/docs", client.ReceiptQueued, client.PriorityNormal, "describe the new flags\nof gc top", 1),
		r("r-3", "web/coder", client.ReceiptInjected, client.PriorityUrgent, "stop, the branch is wrong", 0),
		r("r-4", "web/coder", client.ReceiptQueued, client.PriorityNormal, "日本語の依頼 and a long text that does not fit into a row of a small terminal", 1),
		r("r-5", "web/coder", client.ReceiptQueued, client.PriorityNormal, "then run the tests", 2),
	}
}

// screenOf returns a picture of a terminal that shows output.
func screenOf(cols, rows int, output string) *Screen {
	s := vt.New(cols, rows, nil)
	s.Write([]byte(output))
	return &Screen{Cols: cols, Rows: rows, Row: s.Cells(), Cursor: s.Cursor()}
}

// detachKeys are those of the test: an agent on tmux has other ones.
func detachKeys(a client.Agent) string {
	if a.Provider == "tmux" {
		return `Ctrl-\ or Ctrl-b d`
	}
	return "Ctrl-q"
}

// newDemo returns a model that shows the demo city in a size.
func newDemo(t testing.TB, cols, rows int) *Model {
	t.Helper()
	m := NewModel(start, detachKeys)
	m.Update(start, Resize{cols, rows})
	m.Update(start, StatusMsg{demo()})
	m.Update(start, QuestionsMsg{[]client.Pending{asked()}})
	m.Update(start, PromptsMsg{[]client.Receipt{
		{ID: "r-1", Agent: "web/coder", State: client.ReceiptConsumed, CreatedAt: minutesAgo(12)},
		{ID: "r-2", Agent: "api/docs", State: client.ReceiptQueued, Reason: "the usage limit is reached", CreatedAt: minutesAgo(1)},
	}})
	m.Update(start, CostsMsg{map[string]float64{"web/coder": 1.2, "web/tester": 104.5, "infra/broken": 0.03}})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: screenOf(80, 24, "\x1b[1;35m✻ Welcome\x1b[m\r\n\r\n❯ make it green\r\n● Bash(rm -rf build && make test)\r\n\r\n 日本語の出力 wide\r\n\x1b[31mred\x1b[m ❯ ")})
	return m
}

// press presses keys and returns all effects.
func press(m *Model, keys ...string) []Effect {
	var all []Effect
	for _, key := range keys {
		text := ""
		if len([]rune(key)) == 1 {
			text = key
		}
		if key == "space" {
			text = " "
		}
		all = append(all, m.Update(m.now, Key{Name: key, Text: text})...)
	}
	return all
}

// drawn returns the frame of a model as a terminal shows it, and checks that drawing it twice writes nothing.
func drawn(t testing.TB, m *Model) *vt.Screen {
	t.Helper()
	screen := vt.New(m.cols, m.rows, nil)
	out := output{colors: TrueColors}
	f := m.View()
	screen.Write([]byte(outputBegin))
	screen.Write(out.frame(f.canvas, f.cursor))
	f = m.View()
	if again := out.frame(f.canvas, f.cursor); again != nil {
		t.Errorf("the same frame was written twice: %.200q", again)
	}
	return screen
}

// text returns the visible text of a model.
func text(t testing.TB, m *Model) string {
	t.Helper()
	return strings.Join(drawn(t, m).Rows(), "\n") + "\n"
}

func TestGoldenFrameIsCurrent(t *testing.T) {
	steps := map[string][]string{
		"list": nil, "answer": {"a"}, "prompt": {"p", "h", "i", "alt+enter", "日", "本"}, "stop": {"space", "space", "x"}, "help": {"?"}, "wall": {"w"}, "screen": {"tab"},
		"filter": {"/", "i", "n", "f", "r", "a"}, "command": {":", "s", "t"}, "queue": {"Q", "j", "j"}, "cancel": {"Q", "j", "j", "c"},
	}
	for name, keys := range steps {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {100, 30}, {200, 60}} {
			if size[0] != 80 && !slices.Contains([]string{"list", "answer", "wall", "queue"}, name) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				m := newDemo(t, size[0], size[1])
				m.Update(start, QueueMsg{Prompts: waiting()})
				press(m, keys...)
				got := text(t, m)
				file := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]))
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a golden file
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("the frame differs from %s; run with -update and look at the difference. Got:\n%s", file, got)
				}
			})
		}
	}
}

func TestEachKeyHasOneMeaning(t *testing.T) {
	m := NewModel(start, detachKeys)
	for _, group := range []struct {
		name  string
		modes mode
	}{{"panels", panels}, {"dialogs", dialogs}} {
		meaning := map[string]string{}
		for in := inList; in <= inCommand; in <<= 1 {
			if in&group.modes == 0 {
				continue
			}
			for i := range m.keys {
				for _, key := range m.keys[i].keys {
					b := m.findKey(in, key)
					if b == nil {
						continue
					}
					if known := meaning[key]; known != "" && known != b.help {
						t.Errorf("in %s the key %s means both %q and %q", group.name, key, known, b.help)
					}
					meaning[key] = b.help
				}
			}
		}
	}
	for i := range m.keys {
		for _, key := range m.keys[i].keys {
			for in := inList; in <= inCommand; in <<= 1 {
				if m.keys[i].modes&in != 0 && m.findKey(in, key) != &m.keys[i] {
					t.Errorf("the key %s in mode %d never reaches the row %q", key, in, m.keys[i].help)
				}
			}
		}
		if m.keys[i].help == "" {
			t.Errorf("the keys %v have no help", m.keys[i].keys)
		}
	}
}

// TestNoSingleKeyChangesAnAgent presses each key, and each key twice, in each panel.
func TestNoSingleKeyChangesAnAgent(t *testing.T) {
	all := NewModel(start, nil).keys
	for _, panel := range []string{"", "tab", "w", "?", "e", "Q"} {
		for i := range all {
			for _, key := range all[i].keys {
				for _, times := range []int{1, 2} {
					m := newDemo(t, 100, 30)
					if panel != "" {
						press(m, panel)
					}
					m.Update(start, QueueMsg{Prompts: waiting()})
					for _, e := range press(m, slices.Repeat([]string{key}, times)...) {
						switch e.(type) {
						case Act, Answer, Prompt, EditPrompt, CancelPrompt:
							t.Errorf("the key %s, pressed %d times in panel %q, changes an agent: %T", key, times, panel, e)
						}
					}
				}
			}
		}
	}
}

// TestKeysOfPages presses the keys that show the output of a command.
func TestKeysOfPages(t *testing.T) {
	for key, want := range map[string]string{"e": "[explain web/tester]", "d": "[diff web/tester]", "l": "[logs web/tester --follow]", "E": "[events --follow]", "$": "[usage]"} {
		effects := press(newDemo(t, 80, 24), key)
		if len(effects) != 1 || fmt.Sprint(effects[0].(Command).Args) != want {
			t.Errorf("%s has the effects %v, want the command %s", key, effects, want)
		}
	}
}

func TestAnswerInThreeKeys(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, "G") // far from the question
	effects := press(m, "n", "a", "2")
	want := Answer{IDs: []string{"q-1"}, Agents: []string{"web/tester"}, Option: "Yes, and do not ask again for make"}
	if len(effects) != 1 || fmt.Sprint(effects[0]) != fmt.Sprint(want) {
		t.Fatalf("n a 2 has the effects %v, want %v", effects, want)
	}
	if m.mode() != inList {
		t.Errorf("the dialog is still open")
	}
}

// TestNextNeedGoesRound: n selects one agent that needs a person after the other.
func TestNextNeedGoesRound(t *testing.T) {
	m := newDemo(t, 80, 24)
	s := demo()
	s.Agents[0].InputBlocked = "text of an earlier delivery" // web/coder needs a person too
	m.Update(start, StatusMsg{s})
	var selected []string
	for range 4 {
		press(m, "n")
		selected = append(selected, m.selected)
	}
	if selected[0] == selected[1] || selected[0] != selected[2] || selected[1] != selected[3] {
		t.Errorf("n selects %v, want web/tester and web/coder by turns", selected)
	}
}

// TestOrders: s sorts by name, age, context and cost: what has lasted longest, and what has used most, comes first.
func TestOrders(t *testing.T) {
	m := newDemo(t, 80, 24)
	for _, want := range []string{"api/docs", "infra/broken", "api/レビュー担当者", "web/tester"} {
		press(m, "s")
		// Agents without a time come first in the order of age.
		first := slices.IndexFunc(m.lines, func(l line) bool {
			return l.agent != nil && (m.sort != byAge || !m.conditions[l.agent.Name].since.IsZero())
		})
		if got := m.lines[first].agent.Name; got != want {
			t.Errorf("sorted by %s, the first agent is %s, want %s", orderNames[m.sort], got, want)
		}
	}
	press(m, "s")
	if m.lines[0].agent != nil || m.lines[0].rig != "web" {
		t.Errorf("sorted by urgency, the first line is %+v, want the rig web", m.lines[0])
	}
}

// TestLettersAreTextInDialogs types every letter, digit and sign: in a dialog with a field they are text.
func TestLettersAreTextInDialogs(t *testing.T) {
	for _, dialog := range []string{"a", "p", "/", ":"} {
		m := newDemo(t, 80, 24)
		press(m, dialog, "-") // a digit as the first key of an answer chooses an option
		want := "-"
		for r := '!'; r <= '~'; r++ {
			if effects := press(m, string(r)); len(effects) > 0 {
				t.Errorf("%c in the dialog of %s has the effects %v", r, dialog, effects)
			}
			want += string(r)
		}
		if got := m.input.String(); got != want {
			t.Errorf("in the dialog of %s the text is %q, want %q", dialog, got, want)
		}
	}
}

func TestAnswerByText(t *testing.T) {
	m := newDemo(t, 80, 24)
	effects := press(m, "a", "u", "s", "e", "space", "3", "enter")
	if want := (Answer{IDs: []string{"q-1"}, Agents: []string{"web/tester"}, Text: "use 3"}); len(effects) != 1 || fmt.Sprint(effects[0]) != fmt.Sprint(want) {
		t.Fatalf("typed text has the effects %v, want %v", effects, want)
	}
}

// TestFooterShowsHowToComeBack selects agents of different runtime providers, each with its own keys to leave.
func TestFooterShowsHowToComeBack(t *testing.T) {
	m := newDemo(t, 120, 40)
	city := demo()
	for i := range city.Agents {
		if city.Agents[i].Name == "web/tester" {
			city.Agents[i].Provider = "tmux"
		}
	}
	m.Update(start, StatusMsg{city})
	for agent, keys := range map[string][2]string{"web/tester": {`Enter attach (Ctrl-\: back)`, `back with Ctrl-\ or Ctrl-b d`}, "web/coder": {"Enter attach (Ctrl-q: back)", "back with Ctrl-q"}} {
		m.selected = agent
		if all := text(t, m); !strings.Contains(all, keys[0]) {
			t.Errorf("the footer for %s has no %q:\n%s", agent, keys[0], all)
		}
		press(m, "?")
		if all := text(t, m); !strings.Contains(all, keys[1]) {
			t.Errorf("the help for %s has no %q:\n%s", agent, keys[1], all)
		}
		press(m, "esc")
	}
}

// TestTextWithoutAField types where no text is accepted: the notice says what is.
func TestTextWithoutAField(t *testing.T) {
	m := newDemo(t, 80, 24)
	q := asked()
	q.NoText = true
	m.Update(start, QuestionsMsg{[]client.Pending{q}})
	press(m, "a", "u")
	if all := text(t, m); !strings.Contains(all, "accepts only one of its options") {
		t.Errorf("text for a question without a field is dropped silently:\n%s", all)
	}
	press(m, "esc", "r", "y")
	if all := text(t, m); !strings.Contains(all, "nothing was done") {
		t.Errorf("y in a dialog that Enter confirms is dropped silently:\n%s", all)
	}
}

// TestCtrlCInADialog cancels the dialog, as a person means it who is typing, and quits in a panel.
func TestCtrlCInADialog(t *testing.T) {
	m := newDemo(t, 80, 24)
	if effects := press(m, "p", "h", "i", "ctrl+c"); len(effects) > 0 || m.mode() != inList {
		t.Errorf("Ctrl-c in the editor of a prompt has the effects %v and leaves mode %v, want the list", effects, m.mode())
	}
	if effects := press(m, "ctrl+c"); len(effects) != 1 || effects[0] != (Quit{}) {
		t.Errorf("Ctrl-c in the list has the effects %v, want the end", effects)
	}
}

// TestNarrowTextIsWrapped shows the help and what a stop does in a small terminal.
func TestNarrowTextIsWrapped(t *testing.T) {
	m := newDemo(t, 60, 15)
	press(m, "x")
	if all := text(t, m); !strings.Contains(all, "restart it.") {
		t.Errorf("the end of what a stop does is cut off:\n%s", all)
	}
	press(m, "esc", "?")
	for range 60 {
		if all := text(t, m); strings.Contains(strings.Join(strings.Split(all, "\n")[2:], "\n"), "…") && !strings.Contains(all, "1 … 9") {
			t.Fatalf("a line of the help is cut off:\n%s", all)
		}
		press(m, "j")
	}
}

func TestMarkedAgentsAnswerTogether(t *testing.T) {
	m := newDemo(t, 100, 30)
	other := asked()
	other.ID, other.Agent, other.Since = "q-2", "web/coder", start
	different := asked()
	different.ID, different.Agent, different.Prompt = "q-3", "web/reviewer", "Delete?"
	m.Update(start, QuestionsMsg{[]client.Pending{asked(), other, different}})
	for _, name := range []string{"web/tester", "web/coder", "web/reviewer"} {
		m.marked[name] = true
	}
	effects := press(m, "a", "1")
	if got := effects[0].(Answer).IDs; !slices.Equal(got, []string{"q-1", "q-2"}) {
		t.Errorf("answered %v, want the two equal questions q-1 and q-2", got)
	}
}

// TestOnlyEqualQuestionsAreAnsweredTogether changes one property of the second of two equal questions of marked agents: the answer does
// not go to it.
func TestOnlyEqualQuestionsAreAnsweredTogether(t *testing.T) {
	for name, change := range map[string]func(*client.Pending){
		"kind":       func(q *client.Pending) { q.Kind = "menu" },
		"prompt":     func(q *client.Pending) { q.Prompt += " now" },
		"options":    func(q *client.Pending) { q.Options = slices.Clone(q.Options); slices.Reverse(q.Options) },
		"tool":       func(q *client.Pending) { q.Tool = "Write" },
		"input":      func(q *client.Pending) { q.Input = "rm -rf /" },
		"no text":    func(q *client.Pending) { q.NoText = true },
		"suggested":  func(q *client.Pending) { q.Suggested = "Yes" },
		"not marked": func(q *client.Pending) { q.Agent = "web/reviewer" },
	} {
		m := newDemo(t, 100, 30)
		other := asked()
		other.ID, other.Agent, other.Since = "q-2", "web/coder", start
		change(&other)
		m.Update(start, QuestionsMsg{[]client.Pending{asked(), other}})
		m.marked["web/tester"], m.marked["web/coder"] = true, true
		if got := press(m, "a", "1")[0].(Answer).IDs; !slices.Equal(got, []string{"q-1"}) {
			t.Errorf("with another %s: answered %v, want only q-1", name, got)
		}
	}
}

// TestAnswerOfAnAgentThatIsNotMarked answers an agent that is not marked: a marked agent with an equal question gets no answer.
func TestAnswerOfAnAgentThatIsNotMarked(t *testing.T) {
	m := newDemo(t, 100, 30)
	other := asked()
	other.ID, other.Agent = "q-2", "web/coder"
	m.Update(start, QuestionsMsg{[]client.Pending{asked(), other}})
	m.marked["web/coder"] = true
	if got := press(m, "a", "1")[0].(Answer).IDs; !slices.Equal(got, []string{"q-1"}) {
		t.Errorf("answered %v, want only q-1, which was shown", got)
	}
}

func TestQuestionAnsweredElsewhereClosesItsDialog(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, "a")
	m.Update(start, EventMsg{client.Event{Kind: "pending.answered", Agent: "web/tester", Data: map[string]string{"id": "q-1"}}})
	if m.mode() != inList || m.question("web/tester") != nil {
		t.Errorf("the dialog or the question is still there")
	}
	m.Update(start, QuestionsMsg{[]client.Pending{asked()}}) // an answer of the city from before
	if m.question("web/tester") != nil {
		t.Errorf("an old list of questions brought the question back")
	}
	m.Update(start, EventMsg{client.Event{Kind: "pending.raised", Agent: "web/tester", Data: map[string]string{"id": "q-1", "prompt": "Proceed?", "options": `["Yes"]`}}})
	if m.question("web/tester") != nil {
		t.Errorf("a late event brought the question back")
	}
}

// TestQuestionWithFewerOptions: a question that is reported again may have fewer options than the chosen one.
func TestQuestionWithFewerOptions(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, "a", "down", "down", "down")
	again := asked()
	again.Options = again.Options[:1]
	m.Update(start, QuestionsMsg{[]client.Pending{again}})
	if effects := press(m, "enter"); len(effects) != 1 || effects[0].(Answer).Option != "Yes" {
		t.Errorf("Enter has the effects %v, want the only option", effects)
	}
}

// TestEqualQuestionsThatDiffer: events have only the beginning of two questions, which are equal. The answer goes only to the shown one
// when the whole questions, or the ends of one, arrive while the dialog is open.
func TestEqualQuestionsThatDiffer(t *testing.T) {
	for name, arrives := range map[string]func(m *Model, other client.Pending){
		"another input": func(m *Model, other client.Pending) {
			other.Input = "rm -rf /"
			m.Update(start, QuestionsMsg{[]client.Pending{asked(), other}})
		},
		"another input of the shown one": func(m *Model, other client.Pending) {
			shown := asked()
			shown.Input = "make"
			m.Update(start, QuestionsMsg{[]client.Pending{shown, other}})
		},
		"its end": func(m *Model, _ client.Pending) {
			m.Update(start, EventMsg{client.Event{Kind: "pending.answered", Agent: "web/coder", Data: map[string]string{"id": "q-2"}}})
		},
	} {
		m := newDemo(t, 100, 30)
		m.marked["web/tester"], m.marked["web/coder"] = true, true
		other := asked()
		other.ID, other.Agent = "q-2", "web/coder"
		options, err := json.Marshal(other.Options)
		if err != nil {
			t.Fatal(err)
		}
		data := map[string]string{"id": other.ID, "kind": other.Kind, "prompt": other.Prompt, "options": string(options)}
		m.Update(start, EventMsg{client.Event{Kind: "pending.raised", Agent: other.Agent, Data: data}})
		press(m, "a")
		if all := text(t, m); !strings.Contains(all, "Answer 2 equal questions") {
			t.Fatalf("the dialog is not for both questions:\n%s", all)
		}
		arrives(m, other)
		if all := text(t, m); !strings.Contains(all, "Answer web/tester") {
			t.Errorf("%s: the dialog does not say that the answer is for one question:\n%s", name, all)
		}
		if got := press(m, "1")[0].(Answer).IDs; !slices.Equal(got, []string{"q-1"}) {
			t.Errorf("%s: answered %v, want only q-1", name, got)
		}
	}
}

func TestStopAsksForTheName(t *testing.T) {
	m := newDemo(t, 80, 24)
	if effects := press(m, "x", "enter"); len(effects) != 0 {
		t.Fatalf("Enter without the name has the effects %v", effects)
	}
	effects := press(m, strings.Split("tester", "")...)
	effects = append(effects, press(m, "enter")...)
	if len(effects) != 1 || effects[0].(Act).Verb != Stop || effects[0].(Act).Agents[0].Instance != "i-web/tester" {
		t.Fatalf("the name and Enter have the effects %v, want to stop the instance of web/tester", effects)
	}
	m = newDemo(t, 80, 24)
	m.marked["web/coder"], m.marked["web/tester"] = true, true
	effects = press(m, "x", "2", "enter")
	if len(effects) != 1 || len(effects[0].(Act).Agents) != 2 {
		t.Fatalf("two marked agents and their number have the effects %v, want to stop both", effects)
	}
}

func TestPromptOfSeveralLines(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, "p", "a", "ctrl+j", "b")
	m.Update(start, Paste{"\nc\x1b[31md\n"})
	effects := press(m, "enter")
	if want := (Prompt{Agents: []string{"web/tester"}, Text: "a\nb\nc[31md\n"}); len(effects) != 1 || fmt.Sprint(effects[0]) != fmt.Sprint(want) {
		t.Fatalf("effects %v, want %v", effects, want)
	}
	m.Update(start, PromptsMsg{[]client.Receipt{{ID: "r-9", Agent: "web/tester", State: client.ReceiptAccepted, CreatedAt: start}}})
	m.notice = notice{}
	if got := text(t, m); !strings.Contains(got, "last prompt: waiting") {
		t.Errorf("the delivery status is not shown:\n%s", got)
	}
	m.Update(start, EventMsg{client.Event{Kind: "prompt.submitted", Agent: "web/tester", Time: start.Add(time.Second), Data: map[string]string{"receipt": "r-9"}}})
	if got := text(t, m); !strings.Contains(got, "last prompt: delivered") {
		t.Errorf("the delivery status did not follow the event:\n%s", got)
	}
}

// TestNewestPromptIsShown: of several prompts of an agent, in any order, the list shows the newest, and of one prompt its last state.
func TestNewestPromptIsShown(t *testing.T) {
	older := client.Receipt{ID: "r-1", Agent: "web/reviewer", State: client.ReceiptExpired, CreatedAt: minutesAgo(9), UpdatedAt: minutesAgo(1)}
	newer := client.Receipt{ID: "r-2", Agent: "web/reviewer", State: client.ReceiptSubmitted, CreatedAt: minutesAgo(3), UpdatedAt: minutesAgo(2)}
	before := newer
	before.State, before.UpdatedAt = client.ReceiptQueued, minutesAgo(3)
	for _, prompts := range [][]client.Receipt{{older, before, newer}, {newer, before, older}} {
		m := newDemo(t, 100, 30)
		for _, r := range prompts {
			m.Update(start, PromptsMsg{[]client.Receipt{r}})
		}
		m.selected = "web/reviewer"
		if all := text(t, m); !strings.Contains(all, "last prompt: delivered") {
			t.Errorf("the newest prompt is not shown:\n%s", all)
		}
	}
}

// TestMarksEndWithTheirAgents: an agent that vanishes and comes back, as one of a pool does, is not marked any more.
func TestMarksEndWithTheirAgents(t *testing.T) {
	m := newDemo(t, 100, 30)
	m.marked["web/coder"] = true
	without := demo()
	without.Agents = slices.DeleteFunc(without.Agents, func(a client.Agent) bool { return a.Name == "web/coder" })
	m.Update(start, StatusMsg{without})
	m.Update(start, StatusMsg{demo()})
	effects := press(m, "p", "h", "i", "enter")
	if want := (Prompt{Agents: []string{"web/tester"}, Text: "hi"}); len(effects) != 1 || fmt.Sprint(effects[0]) != fmt.Sprint(want) {
		t.Errorf("the effects are %v, want %v", effects, want)
	}
}

// TestAgentThatMovesHasOneRow: while an agent moves to another runtime provider the city reports its old session and the new one, which
// does not run yet.
func TestAgentThatMovesHasOneRow(t *testing.T) {
	for _, first := range []bool{true, false} {
		m := newDemo(t, 80, 24)
		next := client.Agent{Name: "web/tester", State: client.StateStopped, Reason: "waits for the old session"}
		s := demo()
		if s.Agents = append(s.Agents, next); first {
			s.Agents = slices.Concat([]client.Agent{next}, demo().Agents)
		}
		m.Update(start, StatusMsg{s})
		if all := text(t, m); strings.Count(all, " tester ") != 1 || !strings.Contains(all, "9 agents") || !strings.Contains(all, "needs you") {
			t.Errorf("the agent has not the one row of its old session:\n%s", all)
		}
	}
}

func TestControllerAway(t *testing.T) {
	m := newDemo(t, 100, 30)
	m.Update(start.Add(time.Minute), LinkMsg{Err: client.ErrNoController})
	m.Update(start.Add(2*time.Minute), LinkMsg{Err: client.ErrNoController})
	if got := text(t, m); !strings.Contains(got, "controller away since 12:01:00") || !strings.Contains(got, "web/tester") {
		t.Errorf("the dashboard does not show the last state and since when the controller is away:\n%s", got)
	}
	m.Update(start.Add(3*time.Minute), LinkMsg{})
	if got := text(t, m); strings.Contains(got, "away") {
		t.Errorf("the controller is back, but:\n%s", got)
	}
}

func TestSelectionFollowsItsAgent(t *testing.T) {
	m := newDemo(t, 80, 24)
	m.Update(start, Key{Name: "j"})
	selected := m.selected
	s := demo()
	slices.Reverse(s.Agents)
	m.Update(start, StatusMsg{s})
	if m.selected != selected {
		t.Errorf("selected is %s after a new status, want %s", m.selected, selected)
	}
	s.Agents = slices.DeleteFunc(s.Agents, func(a client.Agent) bool { return a.Name == selected })
	m.Update(start, StatusMsg{s})
	if m.agent(m.selected) == nil {
		t.Errorf("selected is %q, which does not exist", m.selected)
	}
	m.Update(start, StatusMsg{client.Status{City: "empty"}})
	press(m, "j", "k", "g", "G", "n", "a", "p", "i", "x", "r", "e", "tab", "w", "enter", "space")
	text(t, m)
}

// TestPanLeavesTheWallAlone moves a wide screen to the left and opens the wall: no tile is moved.
func TestPanLeavesTheWallAlone(t *testing.T) {
	m := newDemo(t, 100, 30)
	for _, a := range demo().Agents {
		m.Update(start, ScreenMsg{Agent: a.Name, Screen: screenOf(120, 24, "begin of "+a.Name+strings.Repeat(" .", 30))})
	}
	press(m, "right")
	if all := text(t, m); strings.Contains(all, "begin of") {
		t.Fatalf("the screen did not move:\n%s", all)
	}
	press(m, "w")
	if all := text(t, m); strings.Count(all, "begin of") != len(m.wallNames()) {
		t.Errorf("tiles of the wall are moved:\n%s", all)
	}
}

// TestNextTryIsNoEnd: a failed agent is tried again at a time; a usage limit lasts until a time.
func TestNextTryIsNoEnd(t *testing.T) {
	m := newDemo(t, 100, 30)
	at := func(t time.Time) string { return t.Local().Format("15:04") }
	for agent, want := range map[string]string{"infra/broken": "next try at " + at(start.Add(time.Minute)), "api/docs": "until " + at(start.Add(2*time.Hour))} {
		m.selected = agent
		if all := text(t, m); !strings.Contains(all, want) {
			t.Errorf("of %s the dashboard does not say %q:\n%s", agent, want, all)
		}
	}
}

// TestOnlyQuestionsAreAnswered: an agent that needs a login or whose input is blocked has asked nothing.
func TestOnlyQuestionsAreAnswered(t *testing.T) {
	m := newDemo(t, 100, 30)
	s := demo()
	s.Agents[0].InputBlocked = "text of an earlier delivery"
	s.Agents[2].Obstacle = &client.AgentObstacle{Kind: client.ObstacleLogin, Since: start}
	m.Update(start, StatusMsg{s})
	for agent, answers := range map[string]bool{"web/coder": false, "web/reviewer": false, "web/tester": true} {
		m.selected = agent
		if m.conditions[agent].tone != toneNeed {
			t.Fatalf("%s is %v, want it to need a person", agent, m.conditions[agent])
		}
		if all := text(t, m); strings.Contains(all, "a answer") != answers {
			t.Errorf("for %s the answer is offered: %v, want %v:\n%s", agent, !answers, answers, all)
		}
		if effects := press(m, "a"); len(effects) > 0 || (m.mode() == inAnswer) != answers {
			t.Errorf("a on %s opens mode %v with %v", agent, m.mode(), effects)
		}
		press(m, "esc")
	}
}

func TestMouseEqualsKeys(t *testing.T) {
	m := newDemo(t, 100, 30)
	text(t, m)
	at := slices.IndexFunc(m.zones, func(z zone) bool { return z.agent == "web/coder" })
	m.Update(start, Mouse{X: m.zones[at].x + 5, Y: m.zones[at].y})
	if m.selected != "web/coder" {
		t.Fatalf("a click selected %s, want web/coder", m.selected)
	}
	text(t, m)
	if effects := m.Update(start, Mouse{X: m.zones[at].x + 5, Y: m.zones[at].y}); len(effects) != 1 || effects[0] != Effect(Attach{"web/coder"}) {
		t.Fatalf("a click on the selected agent has the effects %v, want to attach", effects)
	}
	press(m, "n")
	text(t, m)
	at = slices.IndexFunc(m.zones, func(z zone) bool { return z.key == "a" })
	m.Update(start, Mouse{X: m.zones[at].x, Y: m.zones[at].y})
	text(t, m)
	at = slices.IndexFunc(m.zones, func(z zone) bool { return z.key == "1" })
	effects := m.Update(start, Mouse{X: m.zones[at].x, Y: m.zones[at].y})
	if len(effects) != 1 || effects[0].(Answer).Option != "Yes" {
		t.Fatalf("clicks on the question and its option have the effects %v, want the answer Yes", effects)
	}
}

// TestClicksBehindADialog: a click beside a dialog, or on its frame, neither selects nor attaches an agent.
func TestClicksBehindADialog(t *testing.T) {
	m := newDemo(t, 100, 30)
	press(m, "p", "h", "i")
	text(t, m)
	zones := slices.Clone(m.zones)
	for _, z := range zones {
		if z.key != "" {
			continue // a key of the dialog
		}
		if effects := m.Update(start, Mouse{X: z.x, Y: z.y}); len(effects) > 0 || m.selected != "web/tester" {
			t.Fatalf("a click at column %d of row %d has the effects %v, and %q is selected", z.x, z.y, effects, m.selected)
		}
	}
	if effects := press(m, "enter"); len(effects) != 1 || fmt.Sprint(effects[0]) != fmt.Sprint(Prompt{Agents: []string{"web/tester"}, Text: "hi"}) {
		t.Errorf("afterwards Enter has the effects %v", effects)
	}
}

// TestHostileText checks that text of agents reaches the terminal only as visible characters.
func TestHostileText(t *testing.T) {
	const evil = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\u202ed\u009b31me"
	s := demo()
	for i := range s.Agents {
		s.Agents[i].Reason, s.Agents[i].Activity.Detail, s.Agents[i].Warning, s.Agents[i].LastSign = evil, evil, evil, evil
	}
	s.City = evil
	m := newDemo(t, 100, 30)
	m.Update(start, StatusMsg{s})
	q := asked()
	q.Prompt, q.Options, q.Input = evil, []string{evil}, evil
	m.Update(start, QuestionsMsg{[]client.Pending{q}})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: screenOf(80, 24, "x\u202ey\u2066z")})
	m.Update(start, NoticeMsg{Text: evil, Failed: true})
	hostile := waiting()
	for i := range hostile {
		hostile[i].Agent, hostile[i].Text, hostile[i].Reason, hostile[i].Source = evil, evil, evil, evil
	}
	m.Update(start, QueueMsg{Prompts: hostile})
	for _, keys := range [][]string{nil, {"a"}, {"esc", "e"}, {"esc", "w"}, {"Q"}, {"c"}} {
		press(m, keys...)
		m.page.add(PageMsg{ID: m.page.id, Output: evil + "\n", Done: true})
		out := output{colors: TrueColors}
		f := m.View()
		frame := string(out.frame(f.canvas, f.cursor))
		for _, bad := range []string{"\x1b]", "\u202e", "\u2066", "\u009b", "\x07"} {
			if strings.Contains(frame, bad) {
				t.Errorf("after %v the frame contains %q", keys, bad)
			}
		}
		if strings.Count(frame, "\x1b[2J") > 0 {
			t.Errorf("after %v the frame clears the screen", keys)
		}
	}
}

// TestPromptsMoveInTheirPriority: K and J move a prompt only among those of the same agent and priority.
func TestPromptsMoveInTheirPriority(t *testing.T) {
	m := newDemo(t, 100, 30)
	prompts := waiting()
	prompts[1].State = client.ReceiptQueued // the urgent one of web/coder waits too
	prompts = append(prompts[:3:3], client.Receipt{ID: "r-9", Agent: "web/coder", Session: "web/coder", State: client.ReceiptQueued, Priority: client.PrioritySystem, Text: "at last", Position: 2, CreatedAt: start})
	m.Update(start, QueueMsg{Prompts: prompts})
	press(m, "Q", "j", "j") // r-4, between an urgent prompt and one of the city
	if effects := press(m, "K", "J"); len(effects) != 0 {
		t.Errorf("K and J have the effects %v", effects)
	}
	if all := text(t, m); strings.Contains(all, "sooner") || strings.Contains(all, "later") {
		t.Errorf("the footer offers a move:\n%s", all)
	}
}

// TestHiddenTextStaysHidden: a screen with hidden text, such as a password, is drawn without it.
func TestHiddenTextStaysHidden(t *testing.T) {
	m := newDemo(t, 100, 30)
	m.Update(start, QuestionsMsg{})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: screenOf(80, 24, "before \x1b[8mhunter2\x1b[m behind")})
	for _, panel := range []string{"list", "tab", "w"} {
		if panel != "list" {
			press(m, panel)
		}
		if all := text(t, m); strings.Contains(all, "hunter2") || !strings.Contains(all, "before         behind") {
			t.Errorf("%s: the screen with hidden text is\n%s", panel, all)
		}
	}
}

func TestEverySizeIsDrawn(t *testing.T) {
	for _, keys := range [][]string{nil, {"a"}, {"p"}, {"x"}, {"?"}, {"w"}, {"tab"}, {"/"}, {":"}, {"e"}, {"Q"}, {"Q", "j", "c"}} {
		m := newDemo(t, 80, 24)
		m.Update(start, QueueMsg{Prompts: waiting()})
		press(m, keys...)
		for cols := 1; cols <= 300; cols += 7 {
			for rows := 1; rows <= 100; rows += 9 {
				m.Update(start, Resize{cols, rows})
				m.View()
			}
		}
	}
}

func TestPageFollowsItsEnd(t *testing.T) {
	m := newDemo(t, 80, 24)
	effects := press(m, "l")
	id := effects[0].(Command).ID
	for i := range 100 {
		m.Update(start, PageMsg{ID: id, Output: fmt.Sprintf("line %d\n", i)})
	}
	if got := text(t, m); !strings.Contains(got, "line 99") || !strings.Contains(got, "81-100 of 100") {
		t.Fatalf("the page does not follow its end:\n%s", got)
	}
	press(m, "k")
	m.Update(start, PageMsg{ID: id, Output: "line 100\n"})
	if got := text(t, m); !strings.Contains(got, "80-99 of 101") {
		t.Fatalf("the page moved although the person had moved up:\n%s", got)
	}
	m.Update(start, PageMsg{ID: id - 1, Output: "of another command\n", Done: true})
	if effects := press(m, "esc"); len(effects) != 1 || effects[0] != Effect(CancelCommand{id}) {
		t.Errorf("Esc has the effects %v, want to end the command", effects)
	}
}

// TestQuestionThatIsNotThereYet presses a before the city has reported the question: it opens when it is there.
func TestQuestionThatIsNotThereYet(t *testing.T) {
	m := newDemo(t, 80, 24)
	m.Update(start, QuestionsMsg{})
	if effects := press(m, "a"); len(effects) != 1 || effects[0] != Effect(LoadQuestions{}) || m.mode() != inList {
		t.Fatalf("a without a question has the effects %v", effects)
	}
	m.Update(start, QuestionsMsg{[]client.Pending{asked()}})
	if m.mode() != inAnswer {
		t.Fatal("the question did not open when it was there")
	}
	m = newDemo(t, 80, 24)
	m.Update(start, QuestionsMsg{})
	press(m, "a", "j")
	m.Update(start, QuestionsMsg{[]client.Pending{asked()}})
	if m.mode() != inList {
		t.Error("the question opened although the person has moved on")
	}
	m = newDemo(t, 100, 30)
	m.Update(start, QuestionsMsg{})
	press(m, "a")
	text(t, m)
	at := slices.IndexFunc(m.zones, func(z zone) bool { return z.agent == "web/coder" })
	m.Update(start, Mouse{X: m.zones[at].x, Y: m.zones[at].y})
	other := asked()
	other.ID, other.Agent = "q-2", "web/coder"
	m.Update(start, QuestionsMsg{[]client.Pending{asked(), other}})
	if m.mode() != inList {
		t.Errorf("the question of %s opened, which the person has only selected", m.dialog.question.Agent)
	}
}

// TestFrameOfTwoHundredAgents checks that the frame after a key takes no longer than a person can notice. BenchmarkDashboard measures the
// whole way over a terminal.
func TestFrameOfTwoHundredAgents(t *testing.T) {
	m := NewModel(start, detachKeys)
	m.Update(start, Resize{200, 60})
	m.Update(start, StatusMsg{fleet(200)})
	out := output{colors: TrueColors}
	var took []time.Duration
	for range 200 {
		began := time.Now()
		press(m, "j")
		f := m.View()
		out.frame(f.canvas, f.cursor)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	// The fastest tenth shows what the code costs; the others may wait for a processor, in CI for most of their time.
	if tenth := took[len(took)/10]; tenth > 16*time.Millisecond {
		t.Errorf("nine of ten frames took longer than %v, want at most 16ms", tenth)
	}
}
