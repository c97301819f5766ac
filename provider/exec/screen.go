package exec

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/driver/script"
	"gascity/internal/retry"
	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// checkInput reads the screen and returns the refusal of a prompt if a dialog is open or a draft is
// in the input box. It returns nil if it sees neither. A script that does not declare screen may
// hide both, and its screen does not distinguish a draft from a suggestion of the agent.
func (p *Provider) checkInput(ctx context.Context, name string) *runtime.Outcome {
	rules, err := p.rules(ctx, name)
	if err != nil {
		return nil
	}
	seen, err := p.captureScreen(ctx, name)
	switch {
	case err != nil && p.caps.Has(script.CapScreen):
		return new(refused(runtime.RefusedUnready, "cannot read the screen: "+err.Error()))
	case err != nil:
		return nil
	}
	if d := seen.dialog(rules); d != nil {
		detail := string(d.Kind)
		if d.Why != "" {
			detail += ": " + d.Why
		}
		return new(refused(runtime.RefusedDialog, detail))
	}
	refusal := seen.draft(rules)
	if refusal == nil || !retry.Sleep(ctx, draftConfirmDelay) {
		return refusal
	}
	if seen, err = p.captureScreen(ctx, name); err != nil {
		return refusal
	}
	return seen.draft(rules)
}

// dialog returns the open dialog or menu, or nil. If the cursor is unknown, the text is not a menu
// but a list in the conversation if the input box is below it.
func (s screenState) dialog(rules screenreader.Rules) *screenreader.Dialog {
	d := screenreader.NewSnapshot(s.Frame).Dialog(rules)
	if d != nil && !s.drawn && d.Rule == "" && promptUnder(s.Rows, d, rules.ReadyPrefix) {
		return nil
	}
	return d
}

// draftConfirmDelay is how long a draft must be visible to count. A screen that the agent is drawing may
// show a draft that does not exist.
const draftConfirmDelay = 100 * time.Millisecond

// draft returns the refusal because of a draft, because a draft is possible, or because the program
// seems to ask on the line of the cursor. It returns nil if there is none.
func (s screenState) draft(rules screenreader.Rules) *runtime.Outcome {
	if !s.drawn {
		return nil
	}
	seen := screenreader.NewSnapshot(s.Frame)
	c := seen.InputBox(rules.Screen.InputBox)
	n := utf8.RuneCountInString(strings.TrimSpace(c.Content))
	asks := seen.LineQuestion(rules)
	switch {
	case asks != "" && len(rules.Screen.InputBox.Marks) > 0:
		return new(refused(runtime.RefusedDialog, screenreader.SeemsToAsk+asks))
	case c.Above && len(rules.Screen.InputBox.Marks) > 0:
		return new(refused(runtime.RefusedDraft, "the cursor is below the row of the prompt sign: the text between them may be a draft"))
	case c.Found && !c.Above && n > 0:
		return new(refused(runtime.RefusedDraft, fmt.Sprintf("the input box contains %d characters", n)))
	}
	return nil
}

// frameOf returns a script's screen as a frame. Rows are not wrapped. If the script reports no
// styles, the cursor decides: text before the cursor was typed by a person, text after it is a
// suggestion of the agent.
func frameOf(s script.Screen) screenreader.Frame {
	screen := vt.New(s.Cols, s.Rows, &vt.Options{Scrollback: -1})
	var b bytes.Buffer
	b.WriteString("\x1b)0\x1b[?7l")
	for y, row := range bytes.SplitN(s.Cells, []byte("\n"), s.Rows+1) {
		if y == s.Rows {
			break
		}
		fmt.Fprintf(&b, "\x1b[%d;1H%s", y+1, row)
	}
	screen.Write(b.Bytes())
	f := screenreader.Frame{Seq: 1, Rows: screen.Rows(), Cells: screen.Row, Cursor: vt.Cursor{X: min(s.X, s.Cols-1), Y: s.Y, Visible: true}}
	if !s.Styles {
		f.Cells = func(y int) []vt.Cell { return suggested(screen.Row(y), y, f.Cursor) }
	}
	return f
}

// suggested returns the cells of row y with the text after the cursor marked as a suggestion.
func suggested(cells []vt.Cell, y int, cursor vt.Cursor) []vt.Cell {
	if y != cursor.Y {
		return cells
	}
	drawn := append([]vt.Cell(nil), cells...)
	for x := cursor.X; x < len(drawn); x++ {
		drawn[x].Style.Attr |= vt.Dim
	}
	return drawn
}

// typing reports whether a person typed in the last moments. It allows for a script's clock with a
// precision of seconds.
func typing(obs runtime.Observation) bool {
	return obs.Attached != 0 && !obs.LastInput.IsZero() && time.Since(obs.LastInput) < screenreader.DefaultHumanQuiet+clockGrain
}
