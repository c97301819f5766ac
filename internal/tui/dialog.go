package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
)

// dialog is what the active dialog is about. Only the fields of its mode are set.
type dialog struct {
	agents   []client.Agent // that a prompt or an action is for
	question client.Pending
	equal    []client.Pending // the questions that get the answer
	option   int              // the highlighted option; -1: none
	verb     Verb
	typed    string         // what a person types to confirm; empty: Enter confirms
	prompt   client.Receipt // that is edited or cancelled
	before   string         // the text that is edited
	failed   UnsentMsg      // the prompt that failed before
}

// start opens a dialog.
func (m *Model) start(in mode, d dialog) []Effect {
	m.dialog = d
	m.input = field{lines: in&(inPrompt|inEdit|inAnswer) != 0}
	m.open(in)
	return nil
}

// openAnswer opens the question of the selected agent. If the city has not reported it yet, it is opened when it is there.
func (m *Model) openAnswer(string) []Effect {
	q := m.question(m.selected)
	if q == nil {
		m.expected = m.selected
		m.notice = notice{text: "gc has not read a question yet; Enter attaches to the agent"}
		return []Effect{LoadQuestions{}}
	}
	return m.start(inAnswer, dialog{question: *q, equal: m.equal(q), option: -1})
}

// openPrompt opens the editor for a prompt, or on a prompt for one of the agents that failed before.
func (m *Model) openPrompt(string) []Effect {
	agents := m.targets()
	i := m.unsentFor(agents)
	if i < 0 {
		return m.start(inPrompt, dialog{agents: agents})
	}
	msg := m.unsent[i]
	m.unsent = slices.Delete(m.unsent, i, i+1)
	m.notice = notice{text: "this prompt for " + textfmt.List(msg.Agents) + " was not sent: Enter sends it again, Esc discards it"}
	return m.reopen(msg)
}

// unsentFor returns the index of the oldest prompt that failed for one of the agents, or whose agents are not in the city any more; -1 if there is none.
func (m *Model) unsentFor(agents []client.Agent) int {
	names := namesOf(agents)
	return slices.IndexFunc(m.unsent, func(msg UnsentMsg) bool {
		gone := !slices.ContainsFunc(msg.Agents, func(name string) bool { return m.agent(name) != nil })
		return gone || slices.ContainsFunc(msg.Agents, func(name string) bool { return slices.Contains(names, name) })
	})
}

// reopen opens the editor on a prompt that failed, for the agents for which it failed.
func (m *Model) reopen(msg UnsentMsg) []Effect {
	d := dialog{failed: msg}
	for _, name := range msg.Agents {
		d.agents = append(d.agents, client.Agent{Name: name})
	}
	m.start(inPrompt, d)
	m.input.set(msg.Text)
	return nil
}

// addUnsent opens the editor again on a prompt that failed. If the person has pressed a key since it was sent, the prompt waits until the person
// opens the editor for its agents: the next key may be meant for what is visible now.
func (m *Model) addUnsent(msg UnsentMsg) {
	m.notice = notice{msg.Problem, true}
	if m.sent == msg.Text && m.mode()&agentPanels != 0 {
		m.reopen(msg)
		return
	}
	m.unsent = append(m.unsent, msg)
	m.notice.text += "; p opens the prompt for " + textfmt.List(msg.Agents) + " again"
}

func (m *Model) openFilter(string) []Effect {
	m.start(inFilter, dialog{})
	m.input.set(m.filter)
	return nil
}

func (m *Model) openCommand(string) []Effect {
	m.history.at = len(m.history.lines)
	return m.start(inCommand, dialog{})
}

// confirms returns the action that asks whether to change the marked agents.
func confirms(verb Verb) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect {
		d := dialog{verb: verb, agents: m.targets()}
		if verb == Stop {
			_, d.typed = rigOf(d.agents[0].Name)
			if len(d.agents) > 1 {
				d.typed = strconv.Itoa(len(d.agents))
			}
		}
		return m.start(inConfirm, d)
	}
}

// who returns the agents of the dialog for people.
func (d *dialog) who() string {
	if d.prompt.ID != "" {
		return "the prompt for " + d.prompt.Agent
	}
	if len(d.agents) == 1 {
		return d.agents[0].Name
	}
	return textfmt.Count(len(d.agents), "agent")
}

// title returns the heading of a dialog.
func (m *Model) title() string {
	d := &m.dialog
	switch m.mode() {
	case inAnswer:
		if len(d.equal) > 1 {
			return fmt.Sprintf("Answer %d equal questions", len(d.equal))
		}
		return "Answer " + d.question.Agent
	case inPrompt:
		return "Prompt for " + d.who()
	case inEdit:
		return "Edit " + d.who()
	case inConfirm:
		word := d.word()
		return strings.ToUpper(word[:1]) + word[1:] + " " + d.who() + "?"
	default:
		return ""
	}
}

// word returns what the action does, for people. Of a restart that means something else for each agent, it is the first of restart, start and resume.
func (d *dialog) word() string {
	if d.verb != Restart {
		return string(d.verb)
	}
	for _, word := range []string{"restart", "start", "resume"} {
		if slices.ContainsFunc(d.agents, func(a client.Agent) bool { return restartOf(a) == word }) {
			return word
		}
	}
	return string(d.verb)
}

// restartOf returns what a restart of an agent is in its state, as the gc command: an agent that does not run is started, and one that drains is
// resumed. It is empty if the agent is starting or stopping, or if gc does not know whether it runs.
func restartOf(a client.Agent) string {
	switch {
	case runs(a):
		return "restart"
	case drains(a):
		return "resume"
	case session.State(a.State).IsDown():
		return "start"
	}
	return ""
}

// drains reports whether an agent was asked to finish its work and stop.
func drains(a client.Agent) bool { return a.State == client.StateDraining }

// runs reports whether an agent runs.
func runs(a client.Agent) bool { return a.State == client.StateRunning }

// consequence describes what a confirmed action does.
func (d *dialog) consequence() string {
	one := len(d.agents) == 1
	switch {
	case d.verb == cancelPrompt:
		return "It is removed from the queue. To queue it again: gc queue retry " + d.prompt.ID
	case d.verb == Interrupt && one:
		return "The turn in progress ends. The agent keeps running and waits for a prompt."
	case d.verb == Interrupt:
		return "The turns in progress end. The agents keep running and wait for prompts."
	case d.verb == Restart:
		return d.restarts(one)
	case one:
		return "Its processes exit now. It stays stopped until you restart it."
	}
	return "Their processes exit now. They stay stopped until you restart them."
}

// restarts describes what a restart does.
func (d *dialog) restarts(one bool) string {
	word, some := d.word(), slices.ContainsFunc(d.agents, drains)
	switch {
	case word == "resume" && one:
		return "It was asked to finish its work and stop. It keeps running instead."
	case word == "resume":
		return "They were asked to finish their work and stop. They keep running instead."
	case word == "start" && some:
		return "Agents that drain keep running. The others start now."
	case some:
		return "Agents that drain keep running. The turns of the others end, and they start again at once."
	case word == "start" && one:
		return "The agent does not run. It starts now."
	case word == "start":
		return "The agents do not run. They start now."
	case one:
		return "The turn in progress ends. The agent starts again at once."
	}
	return "The turns in progress end. The agents start again at once."
}

// choose answers with the option of a digit.
func (m *Model) choose(key string) []Effect {
	i := int(key[0] - '1')
	if i >= len(m.dialog.question.Options) {
		m.notice = notice{fmt.Sprintf("there is no option %s", key), true}
		return nil
	}
	return m.answer(m.dialog.question.Options[i], "")
}

// answer sends an answer and closes the dialog.
func (m *Model) answer(option, text string) []Effect {
	d := m.dialog
	effect := Answer{Option: option, Text: text}
	for _, q := range d.equal {
		effect.IDs = append(effect.IDs, q.ID)
		effect.Agents = append(effect.Agents, q.Agent)
	}
	m.back()
	m.notice = notice{text: "answering " + textfmt.List(effect.Agents)}
	return []Effect{effect}
}

// steps returns the action that moves the highlight of the options, or the cursor in the text.
func steps(step int) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect {
		n := len(m.dialog.question.Options)
		switch {
		case m.mode() == inCommand:
			m.input.set(m.history.move(step, m.input.String()))
			m.words = nil
		case m.mode() == inAnswer && n > 0 && len(m.input.text) == 0:
			m.dialog.option = max(0, min(m.dialog.option+step, n-1))
		case m.input.lines:
			m.input.move(step, m.editorWidth())
		}
		return nil
	}
}

func (m *Model) newLine(string) []Effect {
	if m.typable() {
		m.input.insert("\n")
	}
	return nil
}

// submit carries out the active dialog.
func (m *Model) submit(string) []Effect {
	text := m.input.String()
	d := &m.dialog
	switch m.mode() {
	case inAnswer:
		switch {
		case strings.TrimSpace(text) != "":
			return m.answer("", text)
		case d.option >= 0:
			return m.answer(d.question.Options[d.option], "")
		}
		m.notice = notice{"choose an option, or type an answer", true}
		if d.question.NoText {
			m.notice.text = "choose an option"
		}
	case inPrompt:
		if strings.TrimSpace(text) == "" {
			m.notice = notice{"the prompt is empty", true}
			return nil
		}
		m.back()
		m.notice = notice{text: "sending to " + d.who()}
		m.sent = text
		effect := Prompt{Agents: namesOf(d.agents), Text: text}
		if text == d.failed.Text {
			effect.Keys = d.failed.Keys
		}
		return []Effect{effect}
	case inEdit:
		return m.saveText(text)
	case inConfirm:
		if text != d.typed {
			m.notice = notice{fmt.Sprintf("type %s to confirm, or press Esc", d.typed), true}
			return nil
		}
		var effect Effect = Act{Verb: d.verb, Agents: d.agents}
		if d.verb == cancelPrompt {
			effect = CancelPrompt{ID: d.prompt.ID, Agent: d.prompt.Agent}
		}
		m.back()
		m.notice = notice{text: fmt.Sprintf("%s: %s", d.word(), d.who())}
		return []Effect{effect}
	case inFilter:
		m.modes = m.modes[:len(m.modes)-1]
	case inCommand:
		return m.runCommand(text)
	default:
	}
	return nil
}

// runCommand runs a command line in a page.
func (m *Model) runCommand(text string) []Effect {
	m.back()
	m.history.add(strings.TrimSpace(text))
	args, err := splitWords(strings.TrimPrefix(strings.TrimSpace(text), "gc "))
	switch {
	case err != nil:
		m.notice = notice{err.Error(), true}
		return nil
	case len(args) == 0:
		return nil
	case args[0] == "q" || args[0] == "quit":
		return []Effect{Quit{}}
	case args[0] == "top":
		return nil
	case args[0] == "edit" && len(args) == 1:
		return []Effect{EditCity{}}
	case args[0] == "attach" && len(args) == 2:
		return []Effect{Attach{args[1]}}
	}
	return m.openPage(args)
}

// complete asks for words that complete the command line.
func (m *Model) complete(string) []Effect {
	text := string(m.input.text[:m.input.at])
	args, err := splitWords(text)
	if err != nil || m.input.at < len(m.input.text) {
		return nil
	}
	if text == "" || strings.HasSuffix(text, " ") {
		args = append(args, "")
	}
	return []Effect{Complete{Line: text, Args: args}}
}

// addCompletions completes the command line as far as the words agree, and shows them if there are several.
func (m *Model) addCompletions(msg CompletionMsg) {
	last := msg.Line[strings.LastIndexByte(msg.Line, ' ')+1:]
	if _, value, found := strings.Cut(last, "="); found && strings.HasPrefix(last, "-") {
		last = value // the words are the values of the flag
	}
	words := slices.DeleteFunc(slices.Clone(msg.Words), func(word string) bool { return !strings.HasPrefix(word, last) })
	if m.mode() != inCommand || m.input.String() != msg.Line || len(words) == 0 {
		return
	}
	common := words[0]
	for _, word := range words[1:] {
		for !strings.HasPrefix(word, common) {
			common = common[:len(common)-1]
		}
	}
	common = strings.ToValidUTF8(common, "") // without a part of a character
	m.input.insert(common[len(last):])
	if len(words) == 1 {
		m.input.insert(" ")
		m.words = nil
		return
	}
	m.words = words
}

// history holds the command lines of this dashboard, the newest last.
type history struct {
	lines []string
	at    int    // the line that is shown; len(lines): the one that is being typed
	draft string // the line that is being typed
}

// maxHistory is the largest number of command lines that are kept.
const maxHistory = 100

// add adds a line, unless it is empty or the same as the last one.
func (h *history) add(line string) {
	if line != "" && (len(h.lines) == 0 || h.lines[len(h.lines)-1] != line) {
		h.lines = append(h.lines[max(0, len(h.lines)-maxHistory+1):], line)
	}
}

// move returns the line that is step lines later, or the nearest one. shown is the line that is shown.
func (h *history) move(step int, shown string) string {
	if h.at == len(h.lines) {
		h.draft = shown
	}
	h.at = max(0, min(h.at+step, len(h.lines)))
	if h.at == len(h.lines) {
		return h.draft
	}
	return h.lines[h.at]
}

// addEdited replaces the text of the active dialog by that of the person's editor.
func (m *Model) addEdited(msg EditedMsg) {
	if msg.Err != nil {
		m.notice = notice{cmp.Or(msg.Err.Error(), "the editor failed"), true}
		return
	}
	if m.mode()&(inPrompt|inEdit|inAnswer) != 0 {
		m.input.set(msg.Text)
	}
}

// splitWords splits a command line into words. Quotes and backslashes are as in a shell.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, begun, escaped := rune(0), false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the command line has an open quote %c", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
