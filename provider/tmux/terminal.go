package tmux

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/tty"
	"gascity/internal/terminal/vt"
	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
)

// terminal is the pane of one instance for the rules of package screen. Its screen is
// asked for, never guessed: output only says that it may be another one.
type terminal struct {
	provider *Provider
	record   *record
	pane     *pane
	// What follows is for the goroutine of a lease.
	attached int // people, when it was asked last
	kept     keyHold
}

var _ screenreader.Terminal = (*terminal)(nil)

// screenFields is what is asked for beside the cells. The state is last: it ends with the
// title.
const (
	screenFields = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{keypad_cursor_flag} #{keypad_flag} #{wrap_flag} " +
		"#{insert_flag} #{origin_flag} #{mouse_standard_flag} #{mouse_button_flag} #{mouse_all_flag} #{mouse_sgr_flag} " +
		"#{mouse_utf8_flag} #{pane_width} #{pane_height} #{pane_tty} #{@" + server.OptionPaste + "} #{@" + server.OptionSigns + "} " + keyHoldFields + " " + server.StateFields
	screenCount = 22
)

// Frame implements screen.Terminal.
func (t *terminal) Frame(ctx context.Context, after uint64) (screenreader.Frame, error) {
	seq, err := t.await(ctx, after)
	if err != nil {
		return screenreader.Frame{}, err
	}
	reply, err := t.capture(ctx)
	switch {
	case server.Absent(err), errors.Is(err, control.ErrNotFound):
		return screenreader.Frame{Seq: max(seq, after+1), Exited: true}, nil
	case err != nil && ctx.Err() != nil:
		return screenreader.Frame{}, ctx.Err()
	case err != nil:
		return screenreader.Frame{}, err
	}
	t.pane.setDigest(reply.Output)
	first, cells, _ := bytes.Cut(reply.Output, []byte("\n"))
	fields := strings.SplitN(string(first), " ", screenCount)
	s, err := server.Parse(fields[len(fields)-1])
	if len(fields) < screenCount || errors.Is(err, server.ErrNotOurs) || err == nil && s.Hash != t.record.hash() {
		return screenreader.Frame{Seq: max(seq, after+1), Exited: true}, nil
	}
	if err != nil {
		return screenreader.Frame{}, err
	}
	t.provider.panes.publishChanges(s)
	return t.frame(max(seq, after), fields, s, cells), nil
}

// healAfter is how long a screen that is waited for is believed not to have changed because
// nothing was received: a notification may be lost with a connection.
const healAfter = time.Second

// await returns the number of a screen after the given one.
func (t *terminal) await(ctx context.Context, after uint64) (seq uint64, err error) {
	heal := time.NewTicker(healAfter)
	defer heal.Stop()
	for {
		seq, changed := t.pane.state()
		if after == 0 || seq > after {
			return seq, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-heal.C:
			reply, err := t.capture(ctx)
			if err != nil || t.pane.differs(reply.Output) {
				t.pane.bump()
			}
		}
	}
}

// capture asks for the state and the cells of the pane in one step.
func (t *terminal) capture(ctx context.Context) (control.Reply, error) {
	target := t.record.target()
	return t.provider.server.Query(ctx, control.Sequence(
		control.Cmd("display-message", "-p", "-t", target, screenFields),
		control.Cmd("capture-pane", "-p", "-e", "-t", target),
	))
}

// frame makes a frame of what was answered.
func (t *terminal) frame(seq uint64, f []string, s server.State, cells []byte) screenreader.Frame {
	width, height := max(1, server.Number(f[14])), max(1, server.Number(f[15]))
	screen := vt.New(width, height, &vt.Options{Scrollback: -1})
	screen.Write(redraw(cells, height))
	on := func(i int) bool { return f[i] == "1" }
	modes := vt.Modes{
		AltScreen: on(3), AppCursorKeys: on(4), AppKeypad: on(5), AutoWrap: on(6), Insert: on(7), Origin: on(8), CursorVisible: on(2),
	}
	switch {
	case on(11):
		modes.Mouse = vt.MouseAny
	case on(10):
		modes.Mouse = vt.MouseButton
	case on(9):
		modes.Mouse = vt.MouseNormal
	}
	switch {
	case on(12):
		modes.MouseEncoding = vt.MouseSGR
	case on(13):
		modes.MouseEncoding = vt.MouseUTF8
	}
	state := tty.StateOf(f[16])
	line, input := lineMode(state.Line, state.Input)
	frame := screenreader.Frame{
		Seq: seq, Rows: screen.Rows(), Cells: screen.Row, Modes: modes, Title: s.Title, Line: line, Input: input, Lines: state.Lines, Silent: state.Silent,
		Cursor: vt.Cursor{X: min(server.Number(f[0]), width-1), Y: min(server.Number(f[1]), height-1), PendingWrap: server.Number(f[0]) >= width, Visible: on(2)},
		// An exit that the server has not reported yet is none: its last words are on their
		// way.
		LastOutput: s.Output, LastHuman: s.Human, Attached: s.Attached, Exited: s.Dead,
	}
	t.attached = s.Attached
	if t.kept.hasWaitingKey(f[19], f[20]) {
		frame.LastHuman = t.kept.humanInput
	}
	t.pane.describe(&frame, f[17], f[18])
	return frame
}

// describe adds what only output shows.
func (p *pane) describe(f *screenreader.Frame, paste, signs string) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.restoreLocked(paste, signs)
	f.Modes.BracketedPaste, f.Modes.Synchronized = p.modes.Paste, p.modes.Synchronized
	if !p.lastOutput.IsZero() {
		f.LastOutput = p.lastOutput
	}
	if f.Exited {
		return
	}
	heard := p.signs.OfGroup(tty.Foreground(p.pid))
	f.Status = screenreader.Sign{Text: heard.Status.Text, Since: heard.Status.Since}
	f.Progress = screenreader.Sign{Text: heard.Progress.Text, Since: heard.Progress.Since}
	f.Mark = screenreader.Sign{Text: heard.Mark.Text, Since: heard.Mark.Since}
}

func lineMode(l tty.Line, i tty.Input) (screenreader.LineMode, screenreader.InputState) {
	line := map[tty.Line]screenreader.LineMode{tty.Raw: screenreader.LineRaw, tty.Cooked: screenreader.LineCooked}[l]
	return line, map[tty.Input]screenreader.InputState{tty.InputRead: screenreader.InputRead, tty.InputWaiting: screenreader.InputWaiting}[i]
}

// redraw makes of captured rows what draws them on a blank screen. Rows are drawn without
// wrapping, and with the line drawing set that tmux writes as SO.
func redraw(cells []byte, height int) []byte {
	var b bytes.Buffer
	b.WriteString("\x1b)0\x1b[?7l")
	for y, row := range bytes.SplitN(cells, []byte("\n"), height) {
		if y > 0 {
			b.WriteString("\r\n")
		}
		b.Write(row)
	}
	return b.Bytes()
}

// Send implements screen.Terminal. The server takes all bytes at once and
// keeps those that the program has not read.
func (t *terminal) Send(ctx context.Context, p []byte) error {
	return t.send(ctx, t.record.fence(), p, control.Command{})
}

// send writes the bytes under a condition, after carrying out a command in the same step.
func (t *terminal) send(ctx context.Context, condition string, p []byte, before control.Command) error {
	switch target := t.record.target(); {
	case bytes.IndexByte(p, 0) >= 0: // a buffer holds no NUL
		_, err := t.provider.act(ctx, t.record, condition, control.Sequence(before, keysCommand(target, p)))
		return toErrExited(err)
	case len(p) <= maxInline:
		reply, err := t.provider.server.Query(ctx, control.Sequence(setCommand(p), t.paste(condition, inlineBuffer, before)))
		return toErrExited(fenced(reply.Output, err))
	}
	out, err := t.provider.server.Client().WithBuffer(ctx, p, func(name string) control.Command { return t.paste(condition, name, before) })
	return toErrExited(fenced(out, err))
}

// Commands of inputs are called by their short names: the server parses each byte, and prints
// it for its log.

// paste does away with a buffer: into the pane if the condition holds. The text is outside of
// the condition because the server takes its time for words within one.
func (t *terminal) paste(condition, buffer string, before control.Command) control.Command {
	target := t.record.target()
	return control.If(target, condition, control.Sequence(before, pasteCommand(target, buffer)),
		control.Sequence(control.Cmd("deleteb", "-b", buffer), control.Cmd("display", "-p", fencedWord)))
}

// maxInline is how many bytes go with the command itself; more go by a private file: that
// takes as long to write as the server takes to parse so many.
const maxInline = 2 << 10

// inlineBuffer is the paste buffer of small inputs. It exists within one step only.
const inlineBuffer = "gc-input"

func setCommand(p []byte) control.Command {
	return control.Cmd("setb", "-b", inlineBuffer, "--", string(p))
}

// keysCommand writes bytes to a pane as they are, whatever mode a person has put it in.
func keysCommand(target string, p []byte) control.Command {
	if bytes.IndexByte(p, 0) < 0 {
		return control.Sequence(setCommand(p), pasteCommand(target, inlineBuffer))
	}
	var pieces []control.Command
	for len(p) > 0 { // a buffer holds no NUL
		n := min(len(p), 512)
		words := []string{"-t", target, "-H"}
		for _, b := range p[:n] {
			words = append(words, hex.EncodeToString([]byte{b}))
		}
		pieces, p = append(pieces, control.Cmd("send-keys", words...)), p[n:]
	}
	return control.Sequence(pieces...)
}

func pasteCommand(target, buffer string) control.Command {
	return control.Cmd("pasteb", "-rdb", buffer, "-t", target)
}

// toErrExited puts console's error in the place of ours.
func toErrExited(err error) error {
	if errors.Is(err, errFenced) || server.Absent(err) || errors.Is(err, control.ErrServerLost) {
		return screenreader.ErrExited
	}
	return err
}

// humanAt returns when a person typed last, as the server counts.
func (p *Provider) humanAt(ctx context.Context, r *record) (time.Time, error) {
	s, err := p.stateOf(ctx, r)
	return s.Human, err
}
