package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// The tests of this file are the defects that a day with twelve agents has shown, see docs/maintainers/dashboard-walk.md.

// typed types a text, a key for each character.
func typed(m *Model, text string) []Effect { return press(m, strings.Split(text, "")...) }

// TestStrayTextConfirmsNothing types a word into the list whose r opens a dialog, and then Enter.
func TestStrayTextConfirmsNothing(t *testing.T) {
	for _, keys := range [][]string{{"r", "u", "n", "enter"}, {"i", "t", "enter"}, {"r", "y", "enter"}, {"Q", "c", "o", "enter"}} {
		m := newDemo(t, 80, 24)
		m.Update(start, QueueMsg{Prompts: waiting()})
		for _, e := range press(m, keys...) {
			switch e.(type) {
			case Act, CancelPrompt:
				t.Errorf("the keys %v have the effect %T", keys, e)
			}
		}
	}
	m := newDemo(t, 80, 24)
	press(m, "r", "u")
	if all := text(t, m); m.mode() != inList || !strings.Contains(all, "nothing was done") {
		t.Errorf("another key than Enter does not close the dialog, or does not say so:\n%s", all)
	}
}

// TestLongErrorIsShownWhole: the end of an error names the command that repairs it.
func TestLongErrorIsShownWhole(t *testing.T) {
	const long = "web/tester: refused: web/tester accepts no prompts: it is stopped; start it with: gc start web/tester, and send the prompt again"
	for _, keys := range [][]string{nil, {"w"}, {"tab"}, {"Q"}, {"?"}, {"p"}} {
		for _, size := range [][2]int{{60, 15}, {80, 24}} {
			m := newDemo(t, size[0], size[1])
			press(m, keys...)
			m.Update(start, NoticeMsg{Text: long, Failed: true})
			all := text(t, m)
			if got := strings.Join(strings.Fields(all), " "); !strings.Contains(got, "send the prompt again") || !strings.Contains(got, "? help") && keys == nil {
				t.Errorf("after %v in %v the end of the error is cut off:\n%s", keys, size, all)
			}
		}
	}
}

// TestStartOfAStoppedAgent: r starts an agent that does not run; footer and dialog say so.
func TestStartOfAStoppedAgent(t *testing.T) {
	m := newDemo(t, 110, 30)
	m.selectAgent("infra/watcher")
	if all := text(t, m); !strings.Contains(all, "r start ") {
		t.Errorf("the footer does not offer a start:\n%s", all)
	}
	press(m, "r")
	if all := text(t, m); !strings.Contains(all, "Start infra/watcher?") || strings.Contains(all, "turn in progress") {
		t.Errorf("the dialog is not about a start:\n%s", all)
	}
	effects := press(m, "enter")
	if len(effects) != 1 || effects[0].(Act).Verb != Restart {
		t.Errorf("Enter has the effects %v", effects)
	}
}

// TestRestartInEachState: r does what footer and dialog say, and says why if it does nothing.
func TestRestartInEachState(t *testing.T) {
	const start1, resume, restart = "The agent does not run. It starts now.", "It was asked to finish its work and stop. It keeps running instead.", "The turn in progress ends. The agent starts again at once."
	for state, want := range map[string]string{
		client.StateRunning: restart, client.StateDraining: resume, client.StateStopped: start1, client.StateAsleep: start1, client.StateSuspended: start1,
		client.StateQuarantined: start1, client.StateFailed: start1, client.StateLost: start1,
		client.StateCreating: "starts or stops already", client.StateStarting: "starts or stops already", client.StateStopping: "starts or stops already",
		client.StateUnknown: "gc does not know whether it runs", "": "gc does not know whether it runs",
	} {
		m := newDemo(t, 120, 30)
		m.selectAgent("web/coder")
		in(m, map[string]string{"web/coder": state})
		if all := text(t, m); restartOf(*m.agent("web/coder")) != "start" && strings.Contains(all, "does not run") {
			t.Errorf("%q: the pane says that the agent does not run:\n%s", state, all)
		}
		offered := strings.Contains(text(t, m), " r re") || strings.Contains(text(t, m), " r start")
		press(m, "r")
		all := text(t, m)
		if !strings.Contains(all, want) || offered != (m.mode() == inConfirm) {
			t.Errorf("%q: r is offered (%v), and the dashboard does not show %q:\n%s", state, offered, want, all)
		}
		if title := "Resume web/coder?"; state == client.StateDraining && !strings.Contains(all, title) {
			t.Errorf("the dialog is not called %s:\n%s", title, all)
		}
	}
}

// TestRestartOfSeveralStates: the dialog is true for each of the marked agents.
func TestRestartOfSeveralStates(t *testing.T) {
	for _, test := range []struct{ coder, reviewer, want string }{
		{client.StateDraining, client.StateDraining, "They were asked to finish their work and stop. They keep running instead."},
		{client.StateDraining, client.StateStopped, "Agents that drain keep running. The others start now."},
		{client.StateDraining, client.StateRunning, "Agents that drain keep running. The turns of the others end, and they start again at once."},
		{client.StateStopped, client.StateRunning, "The turns in progress end. The agents start again at once."},
		{client.StateStopped, client.StateFailed, "The agents do not run. They start now."},
	} {
		m := newDemo(t, 120, 30)
		in(m, map[string]string{"web/coder": test.coder, "web/reviewer": test.reviewer})
		m.marked["web/coder"], m.marked["web/reviewer"] = true, true
		press(m, "r")
		if all := text(t, m); !strings.Contains(all, test.want) {
			t.Errorf("%s and %s: the dialog does not say %q:\n%s", test.coder, test.reviewer, test.want, all)
		}
	}
}

// TestDrainingAgentHasATurn: i does not say that a draining agent has none.
func TestDrainingAgentHasATurn(t *testing.T) {
	m := newDemo(t, 120, 30)
	m.selectAgent("web/coder")
	in(m, map[string]string{"web/coder": client.StateDraining})
	press(m, "i")
	if all := text(t, m); strings.Contains(all, "no turn") || !strings.Contains(all, "finishes its turn and stops") {
		t.Errorf("i on a draining agent says:\n%s", all)
	}
}

// in sets the states of agents of the demo city.
func in(m *Model, states map[string]string) {
	s := demo()
	for i := range s.Agents {
		if state, ok := states[s.Agents[i].Name]; ok {
			s.Agents[i].State = state
		}
	}
	m.Update(start, StatusMsg{s})
}

// TestOnlyRunningAgentsAreInterrupted: an agent that does not run has no turn, and one that a person has stopped is not stopped again.
func TestOnlyRunningAgentsAreInterrupted(t *testing.T) {
	m := newDemo(t, 110, 30)
	s := demo()
	for i := range s.Agents {
		if s.Agents[i].Name == "infra/watcher" {
			s.Agents[i].State = client.StateSuspended
		}
	}
	m.Update(start, StatusMsg{s})
	for agent, keys := range map[string][2]bool{"web/coder": {true, true}, "infra/broken": {false, true}, "infra/watcher": {false, false}} {
		m.selectAgent(agent)
		all := text(t, m)
		if got := [2]bool{strings.Contains(all, "i interrupt"), strings.Contains(all, "x stop")}; got != keys {
			t.Errorf("%s: interrupt and stop are offered: %v, want %v:\n%s", agent, got, keys, all)
		}
	}
	m.selectAgent("infra/broken")
	if press(m, "i"); m.mode() != inList {
		t.Error("i opens a dialog for an agent that does not run")
	}
}

// TestKeyThatDoesNothingSaysWhy presses keys that can do nothing now.
func TestKeyThatDoesNothingSaysWhy(t *testing.T) {
	m := newDemo(t, 110, 30)
	m.Update(start, QuestionsMsg{})
	s := demo()
	s.Agents = slices.DeleteFunc(s.Agents, func(a client.Agent) bool { return a.Name == "web/tester" })
	m.Update(start, StatusMsg{s})
	m.selectAgent("web/reviewer")
	for key, want := range map[string]string{"n": "no agent needs you", "a": "web/reviewer has asked nothing", "i": "no turn to interrupt"} {
		press(m, key)
		if all := text(t, m); !strings.Contains(all, want) {
			t.Errorf("%s does nothing and does not say why (%q):\n%s", key, want, all)
		}
	}
}

// TestErrorsOfCityTomlAreShown: the dashboard shows the first error of city.toml, not only that there are some.
func TestErrorsOfCityTomlAreShown(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		m := newDemo(t, size[0], size[1])
		s := demo()
		s.Plan.Error = "/srv/demo/city.toml:7:1: unknown key \"max_restart\" in [daemon]\n    max_restart = 3\n    ^^^^^^^^^^^\n    did you mean \"max_restarts\"?"
		m.Update(start, StatusMsg{s})
		all := strings.Join(strings.Fields(text(t, m)), " ")
		for _, want := range []string{`city.toml:7:1: unknown key "max_restart"`, ": config check", "permission"} {
			if !strings.Contains(all, want) {
				t.Errorf("in %v the dashboard does not show %q:\n%s", size, want, text(t, m))
			}
		}
		s.Plan.Error = ""
		m.Update(start, StatusMsg{s})
		if all := text(t, m); strings.Contains(all, "max_restart") {
			t.Errorf("the error is repaired, but:\n%s", all)
		}
	}
}

// TestAwayControllerNamesTheStart: a controller that is gone is started from the dashboard.
func TestAwayControllerNamesTheStart(t *testing.T) {
	m := newDemo(t, 80, 24)
	m.Update(start, LinkMsg{Err: fmt.Errorf("%w for /srv/demo; start it with: gc start", client.ErrNoController)})
	if all := text(t, m); !strings.Contains(all, ": start") {
		t.Errorf("the dashboard does not say how to start a controller:\n%s", all)
	}
}

// TestCompletionOfAPartOfAName: the city offers all agents, also those that begin with other letters.
func TestCompletionOfAPartOfAName(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, ":")
	typed(m, "explain")
	press(m, "space")
	typed(m, "web/c")
	press(m, "tab")
	m.Update(start, CompletionMsg{Line: "explain web/c", Words: []string{"web/coder", "web/tester", "infra/broken"}})
	if got := m.input.String(); got != "explain web/coder " {
		t.Errorf("the completion makes %q", got)
	}
	m.input.set("explain web/")
	m.Update(start, CompletionMsg{Line: "explain web/", Words: []string{"web/coder", "web/tester", "infra/broken"}})
	if all := text(t, m); strings.Contains(all, "web/coder  web/tester  infra/broken") || !strings.Contains(all, "web/coder  web/tester") {
		t.Errorf("words are offered that do not complete the line:\n%s", all)
	}
	m.input.set("explain nothing")
	m.Update(start, CompletionMsg{Line: "explain nothing", Words: []string{"web/coder"}})
	if got := m.input.String(); got != "explain nothing" {
		t.Errorf("a word that does not fit makes %q", got)
	}
}

// submitted returns a model in which a prompt for an agent was just sent.
func submitted(t *testing.T, agent, prompt string) *Model {
	t.Helper()
	m := newDemo(t, 110, 30)
	m.selectAgent(agent)
	press(m, "p")
	typed(m, prompt)
	press(m, "enter")
	return m
}

// TestRefusedPromptIsOnlyForItsAgents: it is never offered for another agent, and not lost.
func TestRefusedPromptIsOnlyForItsAgents(t *testing.T) {
	for _, keys := range []string{"?", "Q", "E", "/", ":", "p"} { // a page, or another dialog
		m := submitted(t, "web/tester", "one")
		m.selectAgent("web/coder")
		press(m, keys)
		mode, input := m.mode(), m.input.String()
		m.Update(start, UnsentMsg{Agents: []string{"web/tester"}, Text: "one", Problem: "web/tester: it is stopped"})
		if m.mode() != mode || m.input.String() != input {
			t.Errorf("the refused prompt changes what %s has opened", keys)
		}
		press(m, "esc", "p")
		if all := text(t, m); !strings.Contains(all, "Prompt for web/coder") || len(m.input.text) > 0 {
			t.Errorf("after %s, p on another agent opens:\n%s", keys, all)
		}
		press(m, "esc")
		m.selectAgent("web/tester")
		if all := text(t, m); !strings.Contains(all, "a prompt for web/tester was not sent: p opens it") {
			t.Errorf("nothing says that the text still waits:\n%s", all)
		}
		press(m, "p")
		if all := text(t, m); !strings.Contains(all, "Prompt for web/tester") || !strings.Contains(all, "Enter sends it again, Esc discards it") {
			t.Errorf("after %s, p on the agent opens:\n%s", keys, all)
		}
		effects := press(m, "enter")
		if want := []Effect{Prompt{Agents: []string{"web/tester"}, Text: "one"}}; fmt.Sprint(effects) != fmt.Sprint(want) {
			t.Errorf("after %s, Enter sends %v, want %v", keys, effects, want)
		}
	}
}

// TestRefusedPromptOpensOnlyBetweenKeys: a key that is pressed after the prompt was sent is not for an editor that opens by itself.
func TestRefusedPromptOpensOnlyBetweenKeys(t *testing.T) {
	m := submitted(t, "web/tester", "one")
	press(m, "j")
	m.Update(start, UnsentMsg{Agents: []string{"web/tester"}, Text: "one", Problem: "web/tester: it is stopped"})
	if all := text(t, m); m.mode() != inList || !strings.Contains(all, "it is stopped; p opens the prompt for web/tester again") {
		t.Errorf("after another key the refused prompt opens the editor, or the dashboard does not say how to open it:\n%s", all)
	}
	if effects := press(m, "enter"); fmt.Sprint(effects) != "[{web/coder}]" {
		t.Errorf("Enter has the effects %v, want an attachment", effects)
	}
	press(m, "k", "p", "esc", "p")
	if len(m.input.text) > 0 {
		t.Errorf("the prompt was discarded with Esc, and the editor has %q", m.input.String())
	}
}

// TestSeveralRefusedPromptsAreNotLost: each is offered for its agents, the oldest first.
func TestSeveralRefusedPromptsAreNotLost(t *testing.T) {
	m := newDemo(t, 110, 30)
	for _, msg := range []UnsentMsg{
		{Agents: []string{"web/tester"}, Text: "one"}, {Agents: []string{"web/coder", "api/docs"}, Text: "two"}, {Agents: []string{"web/tester"}, Text: "three"},
	} {
		m.Update(start, msg)
	}
	for _, want := range []Prompt{
		{Agents: []string{"web/coder", "api/docs"}, Text: "two"}, {Agents: []string{"web/tester"}, Text: "one"}, {Agents: []string{"web/tester"}, Text: "three"},
	} {
		m.selectAgent(want.Agents[0])
		press(m, "p")
		if effects := press(m, "enter"); fmt.Sprint(effects) != fmt.Sprint([]Effect{want}) {
			t.Errorf("p and Enter on %s send %v, want %v", want.Agents[0], effects, want)
		}
	}
}

// TestRefusedPromptOfAnAgentThatIsGone: its text is offered, for that agent.
func TestRefusedPromptOfAnAgentThatIsGone(t *testing.T) {
	m := submitted(t, "web/tester", "one")
	s := demo()
	s.Agents = slices.DeleteFunc(s.Agents, func(a client.Agent) bool { return a.Name == "web/tester" })
	m.Update(start, StatusMsg{s})
	press(m, "j")
	m.Update(start, UnsentMsg{Agents: []string{"web/tester"}, Text: "one", Problem: "web/tester: not found"})
	press(m, "p")
	if all := text(t, m); !strings.Contains(all, "Prompt for web/tester") || m.input.String() != "one" {
		t.Errorf("p opens:\n%s", all)
	}
	if effects, want := press(m, "enter"), []Effect{Prompt{Agents: []string{"web/tester"}, Text: "one"}}; fmt.Sprint(effects) != fmt.Sprint(want) {
		t.Errorf("Enter sends %v, want %v", effects, want)
	}
}

// TestCompletionOfAFlagWithItsValue: the city offers the values of the flag, without the flag.
func TestCompletionOfAFlagWithItsValue(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, ":")
	m.input.set("queue edit r-1 --priority=")
	words := []string{"system", "urgent", "normal"}
	m.Update(start, CompletionMsg{Line: m.input.String(), Words: words})
	if all := text(t, m); !strings.Contains(all, "system  urgent  normal") {
		t.Errorf("the values are not offered:\n%s", all)
	}
	press(m, "u")
	m.Update(start, CompletionMsg{Line: m.input.String(), Words: words})
	if got := m.input.String(); got != "queue edit r-1 --priority=urgent " {
		t.Errorf("the completion makes %q", got)
	}
	m.input.set("send web/coder a=web/c")
	m.Update(start, CompletionMsg{Line: m.input.String(), Words: []string{"web/coder"}})
	if got := m.input.String(); got != "send web/coder a=web/c" {
		t.Errorf("a word that does not fit makes %q", got)
	}
}

// TestCommandsCanBeRepeated: Up brings back the command lines before.
func TestCommandsCanBeRepeated(t *testing.T) {
	m := newDemo(t, 80, 24)
	for _, line := range []string{"status", "usage", "usage"} {
		press(m, ":")
		typed(m, line)
		press(m, "enter", "esc")
	}
	press(m, ":", "x")
	for _, step := range [][2]string{{"up", "usage"}, {"up", "status"}, {"up", "status"}, {"down", "usage"}, {"down", "x"}, {"down", "x"}} {
		press(m, step[0])
		if got := m.input.String(); got != step[1] {
			t.Fatalf("%s shows %q, want %q", step[0], got, step[1])
		}
	}
}

// TestNextLeavesAFilter: an agent that needs a person may be outside of the filter.
func TestNextLeavesAFilter(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, "/")
	typed(m, "coder")
	press(m, "enter", "n")
	if m.selected != "web/tester" || !strings.Contains(text(t, m), "tester          needs you") {
		t.Errorf("n selects %q:\n%s", m.selected, text(t, m))
	}
}

// TestFilterSelectsTheFirst: of the agents that match, the first is selected, unless the selected one matches too.
func TestFilterSelectsTheFirst(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, "G", "/")
	typed(m, "web")
	if m.selected != "web/tester" {
		t.Errorf("the filter selects %s, want the first agent", m.selected)
	}
	press(m, "enter", "j", "/")
	typed(m, "/c")
	if m.selected != "web/coder" {
		t.Errorf("the filter selects %s, want the one that was selected", m.selected)
	}
}

// TestAnswerOfTwoLines: both lines of an answer are visible.
func TestAnswerOfTwoLines(t *testing.T) {
	m := newDemo(t, 80, 24)
	press(m, "a")
	typed(m, "first")
	press(m, "ctrl+j")
	typed(m, "second")
	if all := text(t, m); !strings.Contains(all, "first") || !strings.Contains(all, "second") {
		t.Errorf("a line of the answer is not visible:\n%s", all)
	}
}

// TestEnterOnAQuestionWithoutAText does not ask for a text that is not accepted.
func TestEnterOnAQuestionWithoutAText(t *testing.T) {
	m := newDemo(t, 80, 24)
	q := asked()
	q.NoText = true
	m.Update(start, QuestionsMsg{[]client.Pending{q}})
	press(m, "a", "enter")
	if all := text(t, m); !strings.Contains(all, "choose an option") || strings.Contains(all, "type an answer") {
		t.Errorf("Enter without an option says:\n%s", all)
	}
}

// TestEventsAndLogsAreLive: what happens while a person looks at them is shown.
func TestEventsAndLogsAreLive(t *testing.T) {
	for key, want := range map[string]string{"E": "[events --follow]", "l": "[logs web/tester --follow]"} {
		m := newDemo(t, 80, 24)
		effects := press(m, key)
		if got := fmt.Sprint(effects[0].(Command).Args); got != want {
			t.Errorf("%s runs %s, want %s", key, got, want)
		}
	}
}

// TestCommandThatTakesLongShowsItsEnd: of gc stop the end is important.
func TestCommandThatTakesLongShowsItsEnd(t *testing.T) {
	for line, want := range map[string]string{"stop": "line 99", "status": "line 0"} {
		m := newDemo(t, 80, 24)
		press(m, ":")
		typed(m, line)
		id := press(m, "enter")[0].(Command).ID
		for i := range 100 {
			m.Update(start, PageMsg{ID: id, Output: fmt.Sprintf("line %d\n", i)})
		}
		if all := text(t, m); !strings.Contains(all, want) {
			t.Errorf("the page of gc %s does not show %q:\n%s", line, want, all)
		}
	}
}

// TestNoticeOfASuccessEnds: it must not hide for long what is to be known about the selected agent. An error stays.
func TestNoticeOfASuccessEnds(t *testing.T) {
	m := newDemo(t, 80, 24)
	m.Update(start, NoticeMsg{Text: "prompt stored"})
	m.Update(start.Add(tickGap/2), Tick{})
	if all := text(t, m); !strings.Contains(all, "prompt stored") {
		t.Errorf("the notice has ended too early:\n%s", all)
	}
	m.Update(start.Add(2*tickGap), Tick{})
	if all := text(t, m); strings.Contains(all, "prompt stored") {
		t.Errorf("the notice is still there:\n%s", all)
	}
	m.Update(start, NoticeMsg{Text: "it failed", Failed: true})
	m.Update(start.Add(5*time.Minute), Tick{})
	if all := text(t, m); !strings.Contains(all, "it failed") {
		t.Errorf("the error has ended by itself:\n%s", all)
	}
}

// TestRepeatedNoticeIsShownAgain: a key that does nothing says why each time, for the same time.
func TestRepeatedNoticeIsShownAgain(t *testing.T) {
	m := newDemo(t, 80, 24)
	m.selectAgent("infra/watcher")
	first := start.Add(time.Minute)
	later := first.Add(noticeTime - time.Millisecond)
	m.Update(first, Key{Name: "i", Text: "i"})
	m.Update(later, Key{Name: "i", Text: "i"})
	m.Update(later.Add(noticeTime/2), Tick{})
	if all := text(t, m); !strings.Contains(all, "no turn to interrupt") {
		t.Errorf("the second notice has ended with the time of the first:\n%s", all)
	}
	m.Update(later.Add(noticeTime), Tick{})
	if all := text(t, m); strings.Contains(all, "no turn to interrupt") {
		t.Errorf("the notice is still there:\n%s", all)
	}
}

// TestRestartedAgentSaysSo: an agent that crashed and runs again has lost its turn.
func TestRestartedAgentSaysSo(t *testing.T) {
	m := newDemo(t, 110, 30)
	s := demo()
	for i := range s.Agents {
		if s.Agents[i].Name == "web/coder" {
			s.Agents[i].Restarts, s.Agents[i].Exit = 2, "the agent ended by signal: killed"
		}
	}
	m.Update(start, StatusMsg{s})
	m.selectAgent("web/coder")
	if all := text(t, m); !strings.Contains(all, "restarted 2 times") || !strings.Contains(all, "the agent ended by signal: killed") {
		t.Errorf("the dashboard does not say that the agent was restarted:\n%s", all)
	}
}

// TestAgeOfAFailure: it counts from the failure, not from the last output of the agent, and that of a blocked input from its begin.
func TestAgeOfAFailure(t *testing.T) {
	m := newDemo(t, 80, 24)
	s := demo()
	for i := range s.Agents {
		switch a := &s.Agents[i]; a.Name {
		case "web/reviewer":
			a.State, a.ActiveAt = client.StateFailed, minutesAgo(61)
		case "web/coder":
			a.Pending, a.InputBlocked, a.InputBlockedSince = 1, "text", minutesAgo(2)
		}
	}
	m.Update(start, StatusMsg{s})
	m.Update(start.Add(4*time.Minute), StatusMsg{s})
	all := strings.Join(strings.Fields(text(t, m)), " ")
	for _, want := range []string{"reviewer failed 4m", "coder needs you 6m"} {
		if !strings.Contains(all, want) {
			t.Errorf("the ages do not show %q:\n%s", want, text(t, m))
		}
	}
}

// TestTimeOfTheNextTryIsNotCutOff by a long reason.
func TestTimeOfTheNextTryIsNotCutOff(t *testing.T) {
	m := newDemo(t, 80, 24)
	s := demo()
	for i := range s.Agents {
		if s.Agents[i].Name == "infra/broken" {
			s.Agents[i].Reason = strings.Repeat("3 failures within 1h, ", 8)
		}
	}
	m.Update(start, StatusMsg{s})
	m.selectAgent("infra/broken")
	if all := text(t, m); !strings.Contains(all, "next try at "+start.Add(time.Minute).Local().Format("15:04")) {
		t.Errorf("the time of the next try is cut off:\n%s", all)
	}
}
