package screen

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// question is a question that blocks an agent.
type question struct {
	dialog  *Dialog // nil if only the program's own report shows the question
	kind    string
	text    string
	name    string // the text without the parts that change while the question stays the same
	source  runtime.Source
	why     string
	tool    string
	input   string
	episode string // distinguishes a report from the next one with the same words

	textAllowed bool // a text in the input box answers it
}

const (
	// questionRows is the largest number of rows of a question above its options.
	questionRows = 30
	// looseRows replaces questionRows if nothing marks the beginning of the question.
	looseRows = 12
)

// asked returns the question that blocks the agent: the dialog on the screen, or, without a dialog, the program's own
// report that it waits for an answer. The text identifies a question on the screen. If no dialog rule matches, the kind of
// the question is that of the program's report. ok is false if there is no question.
func (v Snapshot) asked(rules Rules) (question, bool) {
	report := v.Program()
	blocked := report.State == "blocked" && !v.NeedsLogin(rules)
	d := v.Dialog(rules)
	if d == nil {
		if !blocked {
			return question{}, false
		}
		q := question{
			kind: statusKind(report.Kind), text: report.Message, source: runtime.SourceStatus,
			episode: v.Status.Since.UTC().String(), why: "the program reports that it waits for an answer",
		}
		if reason, _ := v.InputRefusal(rules); reason == "" && q.kind == runtime.WaitQuestion {
			q.textAllowed = true
		}
		if q.text == "" {
			q.text = strings.Join(trimBlank(dedent(v.live(rules))), "\n")
		}
		return q, true
	}
	q := question{dialog: d, kind: dialogKind(d.Kind), source: runtime.SourceScreen, why: d.Why}
	if blocked && d.Kind == agentcli.DialogUnknown {
		q.kind = statusKind(report.Kind)
	}
	lines := belowArt(v.questionLines(d))
	if q.text = strings.Join(lines, "\n"); q.text == "" {
		q.text = d.Text
	}
	q.name = withoutClock(strings.Join(withoutProgress(strings.Split(q.text, "\n"), rules), "\n"))
	q.tool, q.input = toolOf(d.rule, lines)
	return q, true
}

// belowArt returns the lines of a question without a picture above them: a logo of Braille patterns or block characters,
// which may be animated. It removes only rows without letters and digits.
func belowArt(lines []string) []string {
	first := 0
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !isArt(line) {
			break
		}
		first = i + 1
	}
	if rest := trimBlank(lines[first:]); len(rest) > 0 {
		return rest
	}
	return lines
}

// isArt reports whether a row is a part of a picture: Braille patterns or blocks, and no letter
// or digit.
func isArt(row string) bool {
	art := false
	for _, r := range row {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return false
		}
		art = art || r > 0x2800 && r <= 0x28ff || r >= 0x2580 && r <= 0x259f
	}
	return art
}

// live returns the rows above the input box that belong to the live part of the screen, or the last rows if the program may have
// printed below its box.
func (v Snapshot) live(rules Rules) []string {
	c := v.InputBox(rules.Screen.InputBox)
	bottom := len(v.rows)
	if c.Found && !c.Above {
		bottom = c.top
	}
	rows := slices.DeleteFunc(slices.Clone(v.rows[:bottom]), func(row string) bool {
		rule, _ := ruleRow(row)
		return rule || agentcli.MatchAny(rules.Screen.Busy, strings.TrimSpace(row))
	})
	rows = trimBlank(rows)
	return rows[max(0, len(rows)-neighbourhood):]
}

// questionLines returns the lines of the question above the dialog's options. The question begins below a horizontal rule,
// else with the paragraph that contains the words of the dialog's rule, else after a gap of two blank rows.
func (v Snapshot) questionLines(d *Dialog) []string {
	if d.rule != nil && d.rule.IsForm() {
		return strings.Split(d.Text, "\n")
	}
	if len(d.Options) == 0 {
		return trimBlank(dedent(v.paragraphAbove(d, len(v.rows))))
	}
	bottom := d.Options[0].Row
	top, blank := bottom, 0
	for y := bottom - 1; y >= max(0, bottom-questionRows); y-- {
		if rule, _ := ruleRow(v.rows[y]); rule && !v.boxed(y) {
			return v.unboxed(y+1, bottom)
		}
		if v.rows[y] == "" {
			blank++
		} else {
			blank = 0
		}
		if blank < 2 && top == y+1 && bottom-y <= looseRows {
			top = y
		}
	}
	if d.Rule != "" {
		return trimBlank(dedent(v.paragraphAbove(d, bottom)))
	}
	return trimBlank(dedent(v.rows[top:bottom]))
}

// boxed reports whether the row is inside a box that has sides.
func (v Snapshot) boxed(y int) bool {
	row := strings.TrimSpace(v.Rows[y])
	first, _ := utf8.DecodeRuneInString(row)
	last, _ := utf8.DecodeLastRuneInString(row)
	return row != "" && strings.ContainsRune(borders, first) && strings.ContainsRune(borders, last)
}

// unboxed returns the text of rows [top, bottom) without the lines of boxes.
func (v Snapshot) unboxed(top, bottom int) []string {
	lines := make([]string, bottom-top)
	for i, row := range v.rows[top:bottom] {
		if rule, _ := ruleRow(row); !rule {
			lines[i] = clean(row)
		}
	}
	return trimBlank(dedent(lines))
}

// paragraphAbove returns the rows above bottom, from the paragraph that contains the words of the dialog's rule. Without a
// rule it returns the last looseRows rows.
func (v Snapshot) paragraphAbove(d *Dialog, bottom int) []string {
	if d.rule == nil {
		return v.rows[max(0, bottom-looseRows):bottom]
	}
	for y, row := range v.rows[:bottom] {
		if !slices.ContainsFunc(d.rule.Match, func(words string) bool { return begins(row, words) }) {
			continue
		}
		for y > 0 && v.rows[y-1] != "" {
			if rule, _ := ruleRow(v.rows[y-1]); rule {
				break
			}
			y--
		}
		return v.rows[y:bottom]
	}
	return v.rows[max(0, bottom-looseRows):bottom]
}

// begins reports whether the row contains the words, or ends with the beginning of the words.
func begins(row, words string) bool {
	row, words = fold(row), fold(words)
	if strings.Contains(row, words) {
		return true
	}
	for cut := strings.LastIndexByte(words, ' '); cut > 0; cut = strings.LastIndexByte(words[:cut], ' ') {
		if strings.HasSuffix(" "+row, " "+words[:cut]) {
			return true
		}
	}
	return false
}

// toolOf returns the tool that the question is about and its input, by the patterns of the rule; empty if not known.
func toolOf(rule *agentcli.Dialog, lines []string) (tool, input string) {
	if rule == nil {
		return "", ""
	}
	var inputs, below []string
	for y, line := range lines {
		line = strings.TrimSpace(line)
		if found, ok := rule.Tool.Find(line); ok && tool == "" {
			tool, below = found, lines[y+1:]
		}
		if found, ok := rule.Input.Find(line); ok {
			inputs = append(inputs, found)
		}
	}
	if len(inputs) == 0 {
		inputs = between(below, rule.Match[0])
	}
	return tool, strings.Join(inputs, "\n")
}

// between returns the lines above the line on which the words begin. If there is no such line, it returns the first
// paragraph.
func between(lines []string, words string) []string {
	lines = trimBlank(lines)
	end := slices.IndexFunc(lines, func(line string) bool { return begins(line, words) })
	if end < 0 {
		end = slices.Index(lines, "")
	}
	if end >= 0 {
		lines = lines[:end]
	}
	return dedent(trimBlank(lines))
}

// dedent removes the indentation that all lines have.
func dedent(lines []string) []string {
	common := -1
	for _, line := range lines {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); line != "" && (common < 0 || indent < common) {
			common = indent
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(max(common, 0), len(line)):]
	}
	return out
}

// trimBlank removes blank lines at both ends.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// options returns the labels of the options in order; nil without a dialog.
func (q question) options() []string {
	if q.dialog == nil {
		return nil
	}
	return q.dialog.labels()
}

// digest returns the RequestID of the question, a hash of its text and options. The highlighted row and clocks do not change
// it.
func (q question) digest() string {
	words := []string{q.name, q.tool, q.input}
	for _, option := range q.options() {
		words = append(words, withoutClock(option))
	}
	if q.source == runtime.SourceStatus {
		words = []string{q.kind, q.episode} // its text may still be drawn
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// interaction returns the question as a runtime.PendingInteraction.
func (q question) interaction() *runtime.PendingInteraction {
	p := &runtime.PendingInteraction{
		RequestID: q.digest(), Kind: q.kind, Prompt: q.text, Options: q.options(),
		Metadata: map[string]string{runtime.MetaSource: string(q.source)},
	}
	for key, value := range map[string]string{runtime.MetaTool: q.tool, runtime.MetaInput: q.input, runtime.MetaWhy: q.why} {
		if value != "" {
			p.Metadata[key] = value
		}
	}
	p.Metadata[runtime.MetaText] = "no"
	if q.textAllowed {
		p.Metadata[runtime.MetaText] = "yes"
	}
	if q.dialog != nil && q.dialog.Rule != "" {
		p.Metadata[MetaRule] = q.dialog.Rule
		if label, ok := q.dialog.harmless(); ok {
			p.Metadata[runtime.MetaSuggest] = label
		}
	}
	return p
}

// harmless returns the option that closes a known dialog and lets the agent CLI continue, if the dialog is of a kind that grants
// no permission.
func (d *Dialog) harmless() (label string, ok bool) {
	switch d.Kind {
	case agentcli.DialogTheme, agentcli.DialogNotice, agentcli.DialogResume, agentcli.DialogModel, agentcli.DialogLimit:
	default:
		return "", false
	}
	i, ok := menu{options: d.Options}.find(d.rule.Want[agentcli.PolicyAccept])
	if !ok {
		return "", false
	}
	return d.Options[i].Label, true
}

// MetaRule is the metadata key of a pending question for the ID of the dialog's rule.
const MetaRule = "rule"
