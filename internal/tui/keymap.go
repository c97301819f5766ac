package tui

import (
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// binding is one row of the table of keys.
type binding struct {
	keys  []string // names of keys, see [Key]
	modes mode     // in which it applies
	help  string   // what it does, for the help
	foot  string   // the same in one or two words for the footer; empty: not in the footer
	// ready reports whether it can do something now; nil: always. The footer shows only these. A key of a dialog that is not
	// ready is text.
	ready func(m *Model) bool
	act   func(m *Model, key string) []Effect
}

// keymap returns the table of keys, in the order of the help. In panels each key has one meaning, and so it has in dialogs.
func keymap() []binding {
	return []binding{
		{[]string{"enter"}, agentPanels, "attach this terminal to the agent" + detachMark, "attach" + detachMark, hasAgent, (*Model).attach},
		{[]string{"n"}, panels, "select the next agent that needs you", "next", needsMe, (*Model).nextNeed},
		{[]string{"a"}, agentPanels, "answer its question", "answer", hasQuestion, (*Model).openAnswer},
		{[]string{"p"}, agentPanels, "send a prompt", "prompt", hasAgent, (*Model).openPrompt},
		{[]string{"i"}, agentPanels, "interrupt its turn (asks)", "interrupt", canInterrupt, confirms(Interrupt)},
		{[]string{"r"}, agentPanels, "restart it, or start it if it does not run (asks)", restartMark, canRestart, confirms(Restart)},
		{[]string{"x"}, agentPanels, "stop it (asks for its name)", "stop", canStop, confirms(Stop)},
		{[]string{"space"}, agentPanels, "mark it: a, p, i, r and x act on all marked agents", "mark", hasAgent, (*Model).mark},
		{[]string{"t"}, inQueue, "edit the text of a prompt", "edit", canEdit, (*Model).openEdit},
		{[]string{"K"}, inQueue, "move a prompt forward in the queue of its agent", "sooner", canMove(-1), moveBy(-1)},
		{[]string{"J"}, inQueue, "move a prompt back", "later", canMove(1), moveBy(1)},
		{[]string{"c"}, inQueue, "cancel a prompt (asks)", "cancel", canCancel, (*Model).confirmCancel},

		{[]string{"j", "down"}, panels, "next line", "", nil, moves(1)},
		{[]string{"k", "up"}, panels, "previous line", "", nil, moves(-1)},
		{[]string{"g", "home"}, panels, "first line", "", nil, moves(-1 << 20)},
		{[]string{"G", "end"}, panels, "last line", "", nil, moves(1 << 20)},
		{[]string{"ctrl+d", "pgdown"}, panels, "half a page down", "", nil, scrolls(1)},
		{[]string{"ctrl+u", "pgup"}, panels, "half a page up", "", nil, scrolls(-1)},
		{[]string{"right"}, inList | inScreen, "move a wide screen to the left", "", hasAgent, pans(16)},
		{[]string{"left"}, inList | inScreen, "move it back", "", hasAgent, pans(-16)},

		{[]string{"tab"}, agentPanels, "switch between list and screen", "screen", hasAgent, (*Model).toggleScreen},
		{[]string{"w"}, agentPanels, "wall: many screens at once", "wall", hasAgent, (*Model).toggleWall},
		{[]string{"e"}, agentPanels, "explain its state", "explain", hasAgent, pageOf("explain")},
		{[]string{"d"}, agentPanels, "the files that it changed", "diff", hasAgent, pageOf("diff")},
		{[]string{"l"}, agentPanels, "its logs", "logs", hasAgent, pageOf("logs", "--follow")},
		{[]string{"E"}, panels, "events of the city", "", nil, pageOfCity("events", "--follow")},
		{[]string{"Q"}, panels, "queue of prompts: edit, move, cancel", "", nil, (*Model).toggleQueue},
		{[]string{"$"}, panels, "usage and cost", "", nil, pageOfCity("usage")},
		{[]string{"/"}, agentPanels, "filter by name or state", "filter", nil, (*Model).openFilter},
		{[]string{"s"}, agentPanels, "sort by urgency, name, age, context or cost", "", nil, (*Model).nextOrder},
		{[]string{":"}, panels, "run a gc command; edit opens city.toml", "", nil, (*Model).openCommand},
		{[]string{"?"}, panels, "this help", "help", nil, (*Model).toggleHelp},
		{[]string{"ctrl+l"}, panels | dialogs, "draw the screen again", "", nil, func(*Model, string) []Effect { return []Effect{Redraw{}} }},
		{[]string{"esc"}, panels | dialogs, "back: close, or remove filter and marks", "back", canBack, func(m *Model, _ string) []Effect { return m.back() }},
		{[]string{"q"}, panels, "quit; agents keep running", "quit", nil, func(*Model, string) []Effect { return []Effect{Quit{}} }},
		{[]string{"ctrl+c"}, panels, "quit; agents keep running", "", nil, func(*Model, string) []Effect { return []Effect{Quit{}} }},
		{[]string{"ctrl+z"}, panels | dialogs, "back to the shell; fg continues here", "", nil, func(*Model, string) []Effect { return []Effect{Suspend{}} }},
		{[]string{"ctrl+c"}, dialogs, "cancel: close the dialog", "", nil, func(m *Model, _ string) []Effect { return m.back() }},

		{[]string{"enter"}, dialogs, "send, or confirm", "OK", nil, (*Model).submit},
		{optionKeys, inAnswer, "answer with this option", "choose", hasOptions, (*Model).choose},
		{[]string{"up"}, dialogs, "previous option, line or command", "", nil, steps(-1)},
		{[]string{"down"}, dialogs, "next option, line or command", "", nil, steps(1)},
		{[]string{"alt+enter", "ctrl+j", "shift+enter"}, inPrompt | inEdit | inAnswer, "new line", "new line", (*Model).typable, (*Model).newLine},
		{[]string{"ctrl+g"}, inPrompt | inEdit | inAnswer, "write the text in $EDITOR", "editor", (*Model).typable, func(m *Model, _ string) []Effect { return []Effect{Edit{m.input.String()}} }},
		{[]string{"tab"}, inCommand, "complete the word", "complete", nil, (*Model).complete},
	}
}

// restartMark stands in the table of keys for what r does with the selected or marked agents: a restart, a start or a resume.
const restartMark = "\x01"

// detachMark stands in the table of keys for what comes back from the selected agent.
const detachMark = "\x00"

// footOf returns the words of a row for the footer.
func (m *Model) footOf(b *binding) string {
	key, _, _ := strings.Cut(m.detachKeys(), " or ")
	if key != "" {
		key = " (" + key + ": back)"
	}
	restart := dialog{verb: Restart}
	if b.foot == restartMark {
		restart.agents = m.targets()
	}
	return strings.NewReplacer(detachMark, key, restartMark, restart.word()).Replace(b.foot)
}

// helpOf returns the words of a row for the help.
func (m *Model) helpOf(b *binding) string {
	keys := m.detachKeys()
	if keys != "" {
		keys = "; back with " + keys
	}
	return strings.ReplaceAll(b.help, detachMark, keys)
}

// detachKeys names the keys that detach from the selected agent; empty if they are not known.
func (m *Model) detachKeys() string {
	if a := m.agent(m.selected); a != nil && m.detach != nil {
		return m.detach(*a)
	}
	return ""
}

// optionKeys are the keys of the first nine options.
var optionKeys = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}

// findKey returns the row of a key in a mode; nil if the key has no meaning there.
func (m *Model) findKey(in mode, key string) *binding {
	return find(m.keys, func(b *binding) bool { return b.modes&in != 0 && slices.Contains(b.keys, key) })
}

// isReady reports whether a row can do something now.
func (m *Model) isReady(b *binding) bool { return b.ready == nil || b.ready(m) }

// label returns the keys of a row for people.
func (b *binding) label() string {
	if len(b.keys) == len(optionKeys) {
		return "1 … 9"
	}
	names := make([]string, len(b.keys))
	for i, key := range b.keys {
		names[i] = keyLabel(key)
	}
	return strings.Join(names, " ")
}

// keyLabel returns the name of a key for people: "Ctrl-g" for "ctrl+g".
func keyLabel(key string) string {
	parts := strings.Split(key, "+")
	if key == "+" {
		return key
	}
	for i, part := range parts {
		switch {
		case part == "pgdown":
			parts[i] = "PgDn"
		case part == "pgup":
			parts[i] = "PgUp"
		case len(part) > 1:
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "-")
}

func hasAgent(m *Model) bool { return m.agent(m.selected) != nil }

func needsMe(m *Model) bool {
	for _, c := range m.conditions {
		if c.tone == toneNeed {
			return true
		}
	}
	return false
}

func hasQuestion(m *Model) bool {
	return m.question(m.selected) != nil || m.conditions[m.selected].asks
}

func canInterrupt(m *Model) bool {
	return slices.ContainsFunc(m.targets(), func(a client.Agent) bool { return runs(a) && m.conditions[a.Name].tone <= toneBusy })
}

// canRestart reports whether one of the agents can be restarted, started or resumed now.
func canRestart(m *Model) bool {
	return slices.ContainsFunc(m.targets(), func(a client.Agent) bool { return restartOf(a) != "" })
}

// canStop reports whether one of the agents was not stopped by a person before.
func canStop(m *Model) bool {
	return slices.ContainsFunc(m.targets(), func(a client.Agent) bool { return a.State != client.StateSuspended })
}

// whyNot returns why a key of a panel can do nothing now.
func (m *Model) whyNot(b *binding) string {
	who := m.selected
	if len(m.marked) > 0 {
		who = textfmt.Count(len(m.marked), "marked agent")
	}
	key := keyLabel(b.keys[0])
	switch {
	case key == "n":
		return "no agent needs you"
	case m.mode() == inQueue && m.queue.find() == nil:
		return "no prompt waits"
	case m.mode() == inQueue && !isWaiting(m.queue.find()):
		return "the delivery of this prompt has begun; c cancels it"
	case m.mode() == inQueue:
		return "this prompt cannot be moved further"
	case who == "":
		return "no agent is selected"
	case key == "a":
		return m.selected + " has asked nothing"
	case key == "i" && slices.ContainsFunc(m.targets(), drains):
		return who + ": an agent that drains finishes its turn and stops; x stops it now"
	case key == "i":
		return who + ": there is no turn to interrupt"
	case key == "r" && slices.ContainsFunc(m.targets(), func(a client.Agent) bool { return m.conditions[a.Name].tone == toneUnknown }):
		return who + ": gc does not know whether it runs; e explains the state"
	case key == "r":
		return who + ": starts or stops already; press r again after that"
	case key == "x":
		return who + ": already stopped"
	}
	return ""
}

// hasOptions reports whether a digit chooses an option. Behind other text it is text.
func hasOptions(m *Model) bool {
	return len(m.input.text) == 0 && len(m.dialog.question.Options) > 0
}

func canBack(m *Model) bool { return len(m.modes) > 1 || m.filter != "" || len(m.marked) > 0 }
