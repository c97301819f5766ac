package fakeagent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/fakeagent/ledger"
)

// menu is a list of options with a selected row. Arrows and Enter choose an option.
type menu struct {
	name     string   // name in the ledger
	kind     string   // kind in the status
	text     []string // lines above the options
	options  []string
	cursor   int
	numbered bool // options have numbers, and a digit chooses at once
	footer   string
}

// screen is a dialog that agents show before their input box.
type screen struct {
	menu
	right   []string // options with which the agent continues
	message string   // text on standard error if another option was chosen
}

const confirmFooter = "Enter to confirm · Esc to cancel"

var trustText = []string{
	"Accessing workspace:", "", "$CWD", "",
	"Quick safety check: Is this a project you created or one you trust? (Like your own code,",
	"a well-known open source project, or work from your team). If not, take a moment to",
	"review what's in this folder first.", "",
	"Claude Code'll be able to read, edit, and execute files here.", "",
	"Security guide", "",
}

const (
	yesTrust     = "Yes, I trust this folder"
	noExit       = "No, exit"
	trustMessage = "Claude Code didn't start because this folder isn't trusted"
)

// trust returns a trust dialog with these options. cursor is the index of the selected option.
func trust(cursor int, options ...string) screen {
	return screen{
		menu:    menu{text: trustText, options: options, cursor: cursor, footer: confirmFooter},
		right:   []string{yesTrust, "Yes, and trust all folders below it"},
		message: trustMessage,
	}
}

// screens returns all dialogs by name.
func screens() map[string]screen {
	numbered := trust(0, yesTrust, noExit)
	numbered.numbered = true
	return map[string]screen{
		"trust":          trust(0, yesTrust, noExit),
		"trust-no-first": trust(0, noExit, yesTrust),
		"trust-reversed": trust(1, noExit, yesTrust),
		"trust-extra":    trust(0, noExit, "Yes, and trust all folders below it", yesTrust),
		"trust-numbered": numbered,
		"bypass": {
			menu: menu{
				text: []string{
					"WARNING: Claude Code running in Bypass Permissions mode", "",
					"In Bypass Permissions mode, Claude Code will not ask for your approval before running",
					"potentially dangerous commands.", "",
					"By proceeding, you accept all responsibility for actions taken while running in",
					"Bypass Permissions mode.", "",
				},
				options: []string{noExit, "Yes, I accept"}, footer: confirmFooter,
			},
			right: []string{"Yes, I accept"}, message: "Bypass Permissions mode was not accepted",
		},
		"apikey": {
			menu: menu{
				text: []string{
					"Detected a custom API key in your environment", "",
					"ANTHROPIC_API_KEY: sk-ant-...dummy", "", "Do you want to use this API key?", "",
				},
				options: []string{"Yes", "No (recommended)"}, cursor: 1, footer: confirmFooter,
			},
			right: []string{"Yes"}, message: "Invalid API key · Please run /login",
		},
		"update-default-now": {
			menu: menu{
				text:    []string{"✨ Update available! 0.169.0 -> 0.170.0", "", "Release notes: https://example.invalid/releases", ""},
				options: []string{"Update now", "Skip", "Skip until next version"}, numbered: true,
				footer: "Press enter to continue",
			},
			right: []string{"Skip", "Skip until next version"}, message: "Updating... please restart",
		},
		"unknown": {
			menu: menu{
				text:    []string{"Something new wants your attention", "", "Choose how to go on with the stored sessions:", ""},
				options: []string{"Discard them all", "Go on"}, footer: "Enter to choose",
			},
			right: []string{"Go on"}, message: "All stored sessions were discarded",
		},
	}
}

// dialogNames returns the values that --dialog accepts.
func dialogNames() []string {
	names := make([]string, 0, 10)
	for name := range screens() {
		names = append(names, name)
	}
	slices.Sort(names)
	return append(names, "late-NAME:DURATION")
}

// findDialog returns the named dialog. For "late-NAME:DURATION" it also returns the time after ready at which the dialog
// appears. A late trust dialog has No first.
func findDialog(name string) (screen, time.Duration, error) {
	base, late := strings.CutPrefix(name, "late-")
	var after time.Duration
	if late {
		var text string
		var err error
		base, text, _ = strings.Cut(base, ":")
		if after, err = time.ParseDuration(text); err != nil {
			return screen{}, 0, fmt.Errorf("dialog %q: want late-NAME:DURATION", name)
		}
		if base == "trust" {
			base = "trust-no-first"
		}
	}
	found, ok := screens()[base]
	if !ok {
		return screen{}, 0, fmt.Errorf("unknown dialog %q: want one of %s", name, strings.Join(dialogNames(), ", "))
	}
	found.name = name
	return found, after, nil
}

// press handles a key or a typed character. done reports that an option was chosen.
func (m *menu) press(e inputEvent) (choice string, done bool) {
	switch {
	case e.Kind == textEvent && m.numbered:
		if n, err := strconv.Atoi(string(e.Data[:1])); err == nil && n >= 1 && n <= len(m.options) {
			m.cursor = n - 1
			return m.options[m.cursor], true
		}
	case e.Kind != keyEvent:
	case e.Key == "up" || e.Key == "c-p":
		m.cursor = (m.cursor + len(m.options) - 1) % len(m.options)
	case e.Key == "down" || e.Key == "c-n":
		m.cursor = (m.cursor + 1) % len(m.options)
	case e.Key == "enter":
		return m.options[m.cursor], true
	}
	return "", false
}

// lines returns the lines of the menu. The terminal's cursor is on the selected row.
func (m *menu) lines(cols int, cwd string) frame {
	f := frame{lines: []string{strings.Repeat("─", cols)}}
	for _, line := range m.text {
		f.lines = append(f.lines, clip(" "+strings.ReplaceAll(line, "$CWD", cwd), cols))
	}
	for i, option := range m.options {
		if m.numbered {
			option = strconv.Itoa(i+1) + ". " + option
		}
		mark := "  "
		if i == m.cursor {
			mark = "❯ "
			f.row = len(f.lines)
		}
		f.lines = append(f.lines, clip(" "+mark+option, cols))
	}
	f.lines = append(f.lines, "", clip(" "+m.footer, cols))
	f.col = 1
	return f
}

// showDialog shows the next dialog. If there is none, it makes the agent ready.
func (a *agent) showDialog() {
	for len(a.dialogs) > 0 {
		next, after, err := findDialog(a.dialogs[0])
		if err != nil {
			panic(err) // cannot happen: the flags were checked
		}
		a.dialogs = a.dialogs[1:]
		if after > 0 {
			a.late = append(a.late, lateDialog{next, after})
			continue
		}
		a.openDialog(next)
		return
	}
	if !a.ready {
		a.becomeReady()
	}
}

func (a *agent) openDialog(s screen) {
	a.dialog = &s
	a.status("blocked", "dialog")
	a.redraw() // draw first: the record says that the dialog is visible
	a.ledger.write(ledger.Record{Kind: ledger.DialogShown, Dialog: s.name, Bytes: unreadInput(), Time: time.Now()})
}

// answerDialog records the choice and continues, or exits as the real agent does.
func (a *agent) answerDialog(choice string) {
	s := a.dialog
	a.dialog = nil
	a.ledger.write(ledger.Record{Kind: ledger.Dialog, Dialog: s.name, Choice: choice})
	if !slices.Contains(s.right, choice) {
		a.stderr = s.message
		a.leave(1, "dialog "+s.name+": "+choice)
		return
	}
	a.status(a.activity(), "")
	a.showDialog()
}
