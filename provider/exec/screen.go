package exec

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/driver/script"
	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// blockedBy looks at the screen and returns the refusal of a prompt: a dialog is up, or a draft
// stands in the input box. Nil if nothing is seen: a script that declares no screen may hide it,
// and cannot distinguish a draft from what the agent suggests there.
func (p *Provider) blockedBy(ctx context.Context, name string) *runtime.Outcome {
	rules, err := p.rules(ctx, name)
	if err != nil {
		return nil
	}
	seen, err := p.captureScreen(ctx, name)
	switch {
	case err != nil && p.caps.Has(script.CapScreen):
		out := refused(runtime.RefusedUnready, "the screen cannot be seen: "+err.Error())
		return &out
	case err != nil:
		return nil
	}
	if d := seen.dialog(rules); d != nil {
		out := refused(runtime.RefusedDialog, fmt.Sprintf("%s%s", d.Kind, reasonSuffix(d.Why)))
		return &out
	}
	no := seen.draft(rules)
	if no == nil || pause(ctx, draftHolds) != nil {
		return no
	}
	if seen, err = p.captureScreen(ctx, name); err != nil {
		return no
	}
	return seen.draft(rules)
}

// dialog returns the dialog or menu that is up, nil if none is. Without a cursor only the input box
// beneath it distinguishes a menu from a list in the conversation.
func (s screenState) dialog(rules screenreader.Rules) *screenreader.Dialog {
	d := screenreader.NewSnapshot(s.Frame).Dialog(rules)
	if d != nil && !s.drawn && d.Rule == "" && promptUnder(s.Rows, d, rules.ReadyPrefix) {
		return nil
	}
	return d
}

// draftHolds is how long a draft must stand: a screen that is being painted may show what is none.
const draftHolds = 100 * time.Millisecond

// draft returns the refusal because of a draft, or because it is unknown whether there is one.
func (s screenState) draft(rules screenreader.Rules) *runtime.Outcome {
	if !s.drawn {
		return nil
	}
	c := screenreader.NewSnapshot(s.Frame).InputBox(rules.Screen.InputBox)
	n := utf8.RuneCountInString(strings.TrimSpace(c.Content))
	switch {
	case c.Above && len(rules.Screen.InputBox.Marks) > 0:
		out := refused(runtime.RefusedDraft, "the cursor is not in the row of the prompt: what is between may be a draft")
		return &out
	case c.Found && !c.Above && n > 0:
		out := refused(runtime.RefusedDraft, fmt.Sprintf("the input box holds %d characters", n))
		return &out
	}
	return nil
}

func reasonSuffix(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// frameOf draws the rows on a blank screen, without wrapping. Without styles the cursor
// decides: an agent draws a suggestion behind it, and what a person has typed stands before it.
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

// suggested draws what stands behind the cursor in its row as a suggestion.
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

// typing reports whether a person typed a moment ago. The clock of a place may count seconds.
func typing(obs runtime.Observation) bool {
	return obs.Attached != 0 && !obs.LastInput.IsZero() && time.Since(obs.LastInput) < screenreader.DefaultHumanQuiet+clockGrain
}
