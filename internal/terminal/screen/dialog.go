package screen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/internal/agentcli"
)

// ErrUnknownLayout reports a dialog that must not get keys.
var ErrUnknownLayout = errors.New("dialog has an unknown layout")

// Dialog is a dialog or menu on a screen.
type Dialog struct {
	Rule    string // the ID of the matching rule; empty if none matches
	Kind    agentcli.DialogKind
	Options []Option
	At      int    // the index of the highlighted option; -1 if not known
	Want    int    // the index of the option to choose; -1 if none
	Why     string // the reason why gc does not answer the dialog; empty if it may
	Text    string // the text of the screen

	rule *agentcli.Dialog // the matching rule; nil if none matches
}

// screenText is the largest number of screen rows in Dialog.Text.
const screenText = 40

// Dialog returns the dialog on the screen; nil if there is none. Why is set for a menu without a matching rule, and for a
// dialog whose options differ from its rule.
func (v Snapshot) Dialog(rules Rules) *Dialog {
	if d := v.matchDialog(rules); d != nil {
		return d
	}
	if d := v.unknownMenu(rules); d != nil {
		return d
	}
	return v.attention(rules)
}

// matchDialog returns the lowest dialog on the screen that matches a rule. A finished dialog may still be visible above it.
func (v Snapshot) matchDialog(rules Rules) (lowest *Dialog) {
	folded := v.folded()
	at := -1
	for i, rule := range rules.Dialogs {
		if !matches(rule, folded) {
			continue
		}
		y := v.rowOf(rule.Match[0])
		if lowest != nil && y <= at {
			continue
		}
		if d := v.dialogOf(&rules.Dialogs[i], rules); d != nil {
			lowest, at = d, y
		}
	}
	return lowest
}

// dialogOf returns the dialog for a rule whose words are on the screen; nil if the words are a part of the conversation.
func (v Snapshot) dialogOf(rule *agentcli.Dialog, rules Rules) *Dialog {
	d := &Dialog{Rule: rule.ID, Kind: rule.Kind, At: -1, Want: -1, Text: v.text(), rule: rule}
	m, ok := v.findMenu(rule.Glyphs)
	why := "gc could not read the options of the dialog"
	if rule.IsForm() {
		m, ok = v.form(*rule)
		d.Text, why = strings.Join(v.formLines(m), "\n"), "the form has an empty input field; "+rule.Remedy
	}
	if v.inputBoxBelow(rules, m, ok || rule.IsForm()) {
		return nil
	}
	if !ok {
		d.Why = why
		return d
	}
	d.setMenu(m)
	d.judge(m, *rule)
	if d.Why == "" && rule.Footer != "" && !v.below(m, rule.Footer) {
		d.Why = fmt.Sprintf("the line %q is missing", rule.Footer)
	}
	return d
}

// rowOf returns the lowest row on which the words begin; -1 if there is none.
func (v Snapshot) rowOf(words string) int {
	return v.lastRow(func(row string) bool { return begins(row, words) })
}

// form finds a form by the first words of its rule and returns it as a menu with one option. ok is false if its field is
// empty.
func (v Snapshot) form(rule agentcli.Dialog) (m menu, ok bool) {
	m.top = max(0, v.rowOf(rule.Match[0]))
	m.bottom = m.top + 1
	for y := m.bottom; y < len(v.rows); y++ {
		if rule.Field.Match(strings.TrimSpace(v.rows[y])) {
			m.options, m.bottom = []Option{{Label: rule.FormOption(), Row: y}}, y+1
			return m, true
		}
	}
	return m, false
}

// formLines returns the text of a form above its field. It leaves out the field, which may contain a secret.
func (v Snapshot) formLines(m menu) []string {
	end := m.top
	for ; end < len(v.rows); end++ {
		if rule, _ := ruleRow(strings.Trim(v.rows[end], " "+borders)); rule {
			break
		}
	}
	return trimBlank(dedent(v.rows[m.top:end]))
}

// setMenu sets the options and the highlighted option of the dialog.
func (d *Dialog) setMenu(m menu) {
	d.Options, d.At = m.options, m.at
	if m.ambiguous {
		d.At, d.Why = -1, "more than one option is highlighted"
	}
}

// judge sets Want to the option to choose in a known dialog, or Why to the reason why none can be chosen.
func (d *Dialog) judge(m menu, rule agentcli.Dialog) {
	want := rule.Want[agentcli.PolicyAccept]
	switch {
	case d.Why != "":
	case len(want) == 0:
		d.Why = "a person has to answer it"
	case m.cut:
		d.Why = "the beginning of the list of options is not on the screen"
	case rule.Numbered && m.options[0].Number == 0:
		d.Why = "the options have no numbers"
	default:
		i, ok := m.find(want)
		if !ok {
			d.Why = fmt.Sprintf("no option, or more than one, has the label %q", want)
			return
		}
		d.Want = i
	}
}

// inputBoxBelow reports whether the program's input box is below the menu, or on the screen if there is no menu. Then the
// matching text is not an open dialog.
func (v Snapshot) inputBoxBelow(rules Rules, m menu, isMenu bool) bool {
	c := v.InputBox(rules.Screen.InputBox)
	if !c.Found || c.Above {
		return isMenu && v.readyBelow(rules, m.bottom)
	}
	if !isMenu {
		return true
	}
	frame := rules.Screen.InputBox.Frame
	around := (frame == agentcli.FrameRules || frame == agentcli.FrameBox) && c.top <= m.top && m.bottom <= c.bottom
	return around || c.top >= m.bottom
}

// readyBelow reports, for a program without a known input box, whether a row from y on shows that it reads input. The text
// above is then a part of the conversation.
func (v Snapshot) readyBelow(rules Rules, y int) bool {
	return rules.Screen.InputBox.Frame == "" && v.anyRow(rules.Screen.Ready, y)
}

// unknownMenu finds a menu without a matching rule: a list of numbered options, or a list with a line that explains how to
// choose.
func (v Snapshot) unknownMenu(rules Rules) *Dialog {
	m, ok := v.findMenu(glyphsOf(rules))
	if !ok || v.inputBoxBelow(rules, m, true) {
		return nil
	}
	listed := m.options[0].Number > 0 && !v.atPrompt(rules, m)
	if !listed && !v.hinted(m) {
		return nil
	}
	d := &Dialog{Kind: agentcli.DialogUnknown, Want: -1, Text: v.text()}
	d.setMenu(m)
	d.Why = "gc does not know this dialog"
	return d
}

// atPrompt reports whether the highlighted row is the prompt of a plain program, into which somebody has typed a list.
func (v Snapshot) atPrompt(rules Rules, m menu) bool {
	c := v.InputBox(rules.Screen.InputBox)
	return c.Found && rules.Screen.InputBox.Frame == agentcli.FrameLine && c.top == m.options[m.at].Row
}

// glyphsOf returns the glyphs that can mark the highlighted row of an unknown menu.
func glyphsOf(rules Rules) []string {
	var glyphs []string
	for _, rule := range rules.Dialogs {
		glyphs = append(glyphs, rule.Glyphs...)
	}
	if len(glyphs) == 0 {
		return commonGlyphs
	}
	return append(glyphs, "❯", "›")
}

// attention finds a question that the profile describes only by a title or by text on the screen.
func (v Snapshot) attention(rules Rules) *Dialog {
	if !agentcli.MatchAny(rules.Screen.TitleAttention, v.Title) {
		c := v.InputBox(rules.Screen.InputBox)
		y := v.lastRow(func(row string) bool { return agentcli.MatchAny(rules.Screen.Attention, strings.TrimSpace(row)) })
		if c.Found || y < 0 || v.readyBelow(rules, y+1) {
			return nil
		}
	}
	return &Dialog{
		Kind: agentcli.DialogTool, At: -1, Want: -1, Text: v.text(),
		Why: "a person has to answer it",
	}
}

// matches reports whether the folded screen contains all words of the rule.
func matches(rule agentcli.Dialog, folded string) bool {
	return !slices.ContainsFunc(rule.Match, func(words string) bool { return !containsFolded(folded, words) })
}

// fold normalizes a text for comparison: it joins white space, converts to lower case and uses straight apostrophes.
func fold(s string) string {
	s = strings.ReplaceAll(s, "’", "'")
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}

// containsFolded reports whether a folded text contains the folded words. It compares ASCII words with single spaces, the
// usual form in rules, without a copy.
func containsFolded(folded, words string) bool {
	if words == "" || !plainWords(words) {
		return strings.Contains(folded, fold(words))
	}
	for first := lower(words[0]); ; folded = folded[1:] {
		at := strings.IndexByte(folded, first)
		if at < 0 || len(folded)-at < len(words) {
			return false
		}
		folded = folded[at:]
		same := 1
		for same < len(words) && folded[same] == lower(words[same]) {
			same++
		}
		if same == len(words) {
			return true
		}
	}
}

// lower returns the ASCII lower case of c.
func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// plainWords reports whether fold would change only the case of letters in s.
func plainWords(s string) bool {
	last := byte(' ')
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == ' ' && last == ' ' {
			return false
		}
		last = s[i]
	}
	return last != ' '
}

// below reports whether the rows below the menu contain the text.
func (v Snapshot) below(m menu, text string) bool {
	return strings.Contains(fold(strings.Join(v.rows[m.bottom:], " ")), fold(text))
}

// NextKey returns the next key toward the wanted option. done reports that it is the confirming key. After each key the
// caller must read a new frame. It returns [ErrUnknownLayout] if the dialog must not get keys.
func (d *Dialog) NextKey() (key string, done bool, err error) {
	switch {
	case d.Why != "":
		return "", false, fmt.Errorf("%w: %s", ErrUnknownLayout, d.Why)
	case d.At < 0 || d.Want < 0 || d.At >= len(d.Options) || d.Want >= len(d.Options):
		return "", false, fmt.Errorf("%w: the highlighted or the wanted option is not known", ErrUnknownLayout)
	case d.At < d.Want:
		return "Down", false, nil
	case d.At > d.Want:
		return "Up", false, nil
	default:
		return "Enter", true, nil
	}
}

// unanswered returns the dialog as a report for a person.
func (d *Dialog) unanswered() *Unanswered {
	return &Unanswered{Kind: d.Kind, Text: d.Text, Options: d.labels(), Why: d.Why}
}

// labels returns the labels of the options.
func (d *Dialog) labels() []string {
	var labels []string
	for _, o := range d.Options {
		labels = append(labels, o.Label)
	}
	return labels
}

// state returns a text that changes with every change of the options, their labels or the highlighted row.
func (d *Dialog) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d", d.Rule, d.Kind, d.At)
	for _, label := range d.labels() {
		b.WriteString("\n" + label)
	}
	return b.String()
}
