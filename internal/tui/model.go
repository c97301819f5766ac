package tui

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
)

// Model is the state of the dashboard. It is used by one goroutine.
type Model struct {
	keys       []binding
	detach     func(client.Agent) string
	now        time.Time
	cols, rows int
	link       link

	city       client.Status
	loaded     bool
	conditions map[string]condition
	failures   map[string]time.Time // since when agents have failed, as far as this dashboard has seen it
	questions  []client.Pending     // oldest first
	closed     map[string]bool      // questions that have ended; an older answer of the city may still list them
	prompts    map[string]client.Receipt
	costs      map[string]float64
	screens    map[string]*Screen
	noScreen   map[string]string // why the screen of an agent cannot be shown

	lines    []line // of the list
	selected string // the name of an agent
	top      int    // first visible line of the list
	marked   map[string]bool
	filter   string
	sort     order
	shift    int // columns by which the screen is moved to the left

	modes  []mode // the last one is active
	dialog dialog
	input  field // of the active dialog
	page   page
	queue  queue
	pages  int // number of commands so far
	help   int // first visible line of the help
	notice notice
	// noticed is when the notice was set.
	noticed time.Time
	// unsent are the prompts that failed, the oldest first, until the editor is opened for their agents.
	unsent []UnsentMsg
	// sent is the text of the prompt that was sent last, if no key was pressed since.
	sent string
	// expected is the agent whose question is opened when it is there, because the person has asked for it.
	expected string
	words    []string // completions of the command line
	history  history  // of the command line
	zones    []zone   // of the last frame
}

// line is one line of the list: an agent, or the heading of a rig.
type line struct {
	rig   string
	agent *client.Agent // nil: a heading
}

// notice is a message in the last row but one.
type notice struct {
	text   string
	failed bool
}

// order is the order of the agents in a list.
type order int

const (
	byUrgency order = iota
	byName
	byAge
	byContext
	byCost
	orders // the number of orders
)

var orderNames = [...]string{"urgency", "name", "age", "context", "cost"}

// mode is what the keys act on. Several modes are a set.
type mode int

const (
	inList mode = 1 << iota
	inScreen
	inWall
	inPage
	inHelp
	inQueue
	inAnswer
	inPrompt
	inEdit
	inConfirm
	inFilter
	inCommand

	agentPanels = inList | inScreen | inWall
	panels      = agentPanels | inPage | inHelp | inQueue
	dialogs     = inAnswer | inPrompt | inEdit | inConfirm | inFilter | inCommand
)

// NewModel returns the state of a dashboard that knows nothing yet. detach names the keys that detach from an
// attached agent, see [Options].
func NewModel(now time.Time, detach func(client.Agent) string) *Model {
	return &Model{
		keys: keymap(), detach: detach, now: now, modes: []mode{inList}, cols: 80, rows: 24,
		conditions: map[string]condition{}, failures: map[string]time.Time{}, closed: map[string]bool{}, prompts: map[string]client.Receipt{},
		screens: map[string]*Screen{}, noScreen: map[string]string{}, marked: map[string]bool{},
	}
}

func (m *Model) mode() mode { return m.modes[len(m.modes)-1] }

// panel returns the panel that is visible, also behind a dialog.
func (m *Model) panel() mode {
	for _, at := range slices.Backward(m.modes) {
		if at&panels != 0 {
			return at
		}
	}
	return inList
}

func (m *Model) open(to mode) {
	if m.mode() != to {
		m.modes = append(m.modes, to)
	}
}

// find returns the first item for which match is true, or nil.
func find[T any](items []T, match func(*T) bool) *T {
	for i := range items {
		if match(&items[i]) {
			return &items[i]
		}
	}
	return nil
}

// agent returns an agent by its name, or nil.
func (m *Model) agent(name string) *client.Agent {
	return find(m.city.Agents, func(a *client.Agent) bool { return a.Name == name })
}

// targets returns the agents that an action applies to: the marked ones in the order of the list, or the selected one.
func (m *Model) targets() []client.Agent {
	var found []client.Agent
	for _, a := range m.city.Agents {
		if m.marked[a.Name] {
			found = append(found, a)
		}
	}
	if a := m.agent(m.selected); len(found) == 0 && a != nil {
		found = append(found, *a)
	}
	return found
}

// namesOf returns the names of agents.
func namesOf(agents []client.Agent) []string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name
	}
	return names
}

// question returns the oldest open question of an agent, or nil.
func (m *Model) question(agent string) *client.Pending {
	return find(m.questions, func(q *client.Pending) bool { return q.Agent == agent })
}

// equal returns the open questions of the marked agents that are equal to q, or q alone.
func (m *Model) equal(q *client.Pending) []client.Pending {
	found := []client.Pending{*q}
	for i := range m.questions {
		other := &m.questions[i]
		if other.ID != q.ID && m.marked[other.Agent] && m.marked[q.Agent] && identity(other) == identity(q) {
			found = append(found, *other)
		}
	}
	return found
}

// identity returns all that decides whether two questions are equal.
func identity(q *client.Pending) string {
	key, _ := json.Marshal([]any{q.Kind, q.Prompt, q.Options, q.Tool, q.Input, q.NoText, q.Suggested}) // never fails: texts and a flag
	return string(key)
}

// setStatus replaces the state of the city.
func (m *Model) setStatus(s client.Status) {
	m.city, m.loaded = s, true
	m.city.Agents = session.OneRow(s.Agents)
	before := maps.Clone(m.conditions)
	clear(m.conditions)
	for i := range m.city.Agents {
		a := &m.city.Agents[i]
		m.conditions[a.Name] = m.dated(a.Name, conditionOf(a), before)
	}
	gone := func(name string) bool {
		_, ok := m.conditions[name]
		return !ok
	}
	maps.DeleteFunc(m.marked, func(name string, _ bool) bool { return gone(name) })
	maps.DeleteFunc(m.failures, func(name string, _ time.Time) bool { return gone(name) })
	maps.DeleteFunc(m.screens, func(name string, _ *Screen) bool { return gone(name) })
	maps.DeleteFunc(m.noScreen, func(name, _ string) bool { return gone(name) })
	maps.DeleteFunc(m.prompts, func(name string, _ client.Receipt) bool { return gone(name) })
}

// dated returns the condition c of an agent. The city does not report when an agent has failed, so its failure begins when this dashboard first sees
// it; before are the conditions until now.
func (m *Model) dated(name string, c condition, before map[string]condition) condition {
	if c.tone != toneFail {
		delete(m.failures, name)
		return c
	}
	if old, ok := before[name]; ok && old.tone != toneFail {
		m.failures[name] = m.now
	}
	c.since = cmp.Or(m.failures[name], c.since)
	return c
}

// arrange makes the lines of the list and corrects the selection and the first visible line.
func (m *Model) arrange() {
	if m.panel() == inPage {
		m.page.clamp(layoutOf(m).body.h)
	}
	m.queue.scroll(layoutOf(m).body.h)
	position := lineOf(m.lines, m.selected)
	m.lines = m.arranged()
	if lineOf(m.lines, m.selected) < 0 {
		m.selected = ""
		for i := range m.lines {
			if a := m.lines[i].agent; a != nil {
				m.selected = a.Name
				if i >= position {
					break
				}
			}
		}
	}
	at, height := m.position(), max(1, layoutOf(m).list.h)
	if at == 1 && m.lines[0].agent == nil {
		at = 0 // show the heading too
	}
	m.top = max(0, min(m.top, at, len(m.lines)-height), at-height+1)
}

// position returns the line of the selected agent.
func (m *Model) position() int { return max(0, lineOf(m.lines, m.selected)) }

// lineOf returns the index of the line of an agent; -1 if there is none.
func lineOf(lines []line, name string) int {
	return slices.IndexFunc(lines, func(l line) bool { return l.agent != nil && l.agent.Name == name })
}

// listed returns the names of the agents in the list.
func (m *Model) listed() []string {
	var names []string
	for _, l := range m.lines {
		if l.agent != nil {
			names = append(names, l.agent.Name)
		}
	}
	return names
}

// arranged returns the lines of the list: filtered, sorted, and with headings if there are several rigs.
func (m *Model) arranged() []line {
	agents := make([]*client.Agent, 0, len(m.city.Agents))
	for i := range m.city.Agents {
		if a := &m.city.Agents[i]; m.matches(a) {
			agents = append(agents, a)
		}
	}
	slices.SortStableFunc(agents, m.compare)
	rigs := map[string][]*client.Agent{}
	var names []string
	for _, a := range agents {
		rig, _ := rigOf(a.Name)
		if rigs[rig] == nil {
			names = append(names, rig)
		}
		rigs[rig] = append(rigs[rig], a)
	}
	lines := make([]line, 0, len(agents)+len(names))
	if len(names) < 2 || m.sort != byUrgency {
		for _, a := range agents {
			lines = append(lines, line{agent: a})
		}
		return lines
	}
	slices.SortStableFunc(names, func(a, b string) int { // a rig moves only for what needs a person or has failed
		first := func(rig string) tone { return min(m.conditions[rigs[rig][0].Name].tone, toneWarn) }
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a, b))
	})
	for _, rig := range names {
		lines = append(lines, line{rig: rig})
		for _, a := range rigs[rig] {
			lines = append(lines, line{rig: rig, agent: a})
		}
	}
	return lines
}

// compare compares two agents in the order of the list.
func (m *Model) compare(a, b *client.Agent) int {
	switch m.sort {
	case byName:
		return cmp.Compare(a.Name, b.Name)
	case byAge:
		return m.conditions[a.Name].since.Compare(m.conditions[b.Name].since)
	case byContext:
		return cmp.Compare(contextOf(b), contextOf(a))
	case byCost:
		return cmp.Compare(m.costs[b.Name], m.costs[a.Name])
	default:
		return cmp.Compare(m.conditions[a.Name].tone, m.conditions[b.Name].tone)
	}
}

// contextOf returns the used part of the context window, or -1 if it is not known.
func contextOf(a *client.Agent) float64 {
	if a.Worker == nil || a.Worker.ContextUsage == nil {
		return -1
	}
	return *a.Worker.ContextUsage
}

// matches reports whether an agent has all words of the filter in its name, its state or the command line program.
func (m *Model) matches(a *client.Agent) bool {
	if m.filter == "" {
		return true
	}
	text := strings.ToLower(a.Name + " " + m.conditions[a.Name].word + " " + a.Provider)
	for word := range strings.FieldsSeq(strings.ToLower(m.filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// Watched returns the names of the agents whose screens are visible.
func (m *Model) Watched() []string {
	switch m.panel() {
	case inWall:
		return m.wallNames()
	case inList, inScreen:
		if m.selected != "" && layoutOf(m).pane.w > 0 {
			return []string{m.selected}
		}
	default:
	}
	return nil
}
