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

// terminal implements screen.Terminal for the pane of one instance. It captures the screen from the server for each
// frame. Output events only indicate that the screen may have changed.
type terminal struct {
	provider *Provider
	record   *record
	pane     *pane
	// Only the goroutine of a lease uses the fields below.
	attached int // the number of attached people at the last query
	hold     keyHold
}

var _ screenreader.Terminal = (*terminal)(nil)

// screenFields are the formats that are queried together with the cells. The state is last because it ends with the
// title, which may contain spaces. screenCount is the number of fields with the state as the last one.
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

// recheckInterval is the interval at which a caller that waits for a change captures the screen, because an output
// notification may be lost with a connection.
const recheckInterval = time.Second

// await waits until the screen's sequence number is greater than after, and returns the number. It returns at once
// if after is zero.
func (t *terminal) await(ctx context.Context, after uint64) (seq uint64, err error) {
	recheck := time.NewTicker(recheckInterval)
	defer recheck.Stop()
	for {
		seq, changed := t.pane.state()
		if after == 0 || seq > after {
			return seq, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-recheck.C:
			reply, err := t.capture(ctx)
			if err != nil || t.pane.differs(reply.Output) {
				t.pane.bump()
			}
		}
	}
}

// capture queries the state and the cells of the pane with one command.
func (t *terminal) capture(ctx context.Context) (control.Reply, error) {
	target := t.record.target()
	return t.provider.server.Query(ctx, control.Sequence(
		control.Cmd("display-message", "-p", "-t", target, screenFields),
		control.Cmd("capture-pane", "-p", "-e", "-t", target),
	))
}

// frame returns the frame for a reply to capture: f are the values of screenFields, s is the state and cells are the
// captured rows.
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
		// Exited is false until the server has reported the exit, because the last output may still be
		// unread.
		LastOutput: s.Output, LastHuman: s.Human, Attached: s.Attached, Exited: s.Dead,
	}
	t.attached = s.Attached
	if t.hold.hasWaitingKey(f[19], f[20]) {
		frame.LastHuman = t.hold.humanInput
	}
	t.pane.addOutputState(&frame, f[17], f[18])
	return frame
}

// addOutputState sets the fields of a frame that come from the output: bracketed paste and synchronized output modes,
// the time of the last output and the reports of the program.
func (p *pane) addOutputState(f *screenreader.Frame, paste, signs string) {
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
	reports := p.signs.OfGroup(tty.Foreground(p.pid))
	f.Status = screenreader.Sign{Text: reports.Status.Text, Since: reports.Status.Since}
	f.Progress = screenreader.Sign{Text: reports.Progress.Text, Since: reports.Progress.Since}
	f.Mark = screenreader.Sign{Text: reports.Mark.Text, Since: reports.Mark.Since}
}

// lineMode converts the line and input modes of package tty to those of package screen.
func lineMode(l tty.Line, i tty.Input) (screenreader.LineMode, screenreader.InputState) {
	line := map[tty.Line]screenreader.LineMode{tty.Raw: screenreader.LineRaw, tty.Cooked: screenreader.LineCooked}[l]
	return line, map[tty.Input]screenreader.InputState{tty.InputRead: screenreader.InputRead, tty.InputWaiting: screenreader.InputWaiting}[i]
}

// redraw returns terminal output that draws captured rows on a blank screen. It turns line wrapping off and selects
// the line drawing set for SO, which tmux uses in captured rows.
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

// Send implements screen.Terminal. The server accepts all bytes at once and buffers those that the program has not
// read.
func (t *terminal) Send(ctx context.Context, p []byte) error {
	return t.send(ctx, t.record.fence(), p, control.Command{})
}

// send writes bytes to the pane if the condition is true. In the same step the server runs the command before first.
// The error is screen.ErrExited if the condition is false.
func (t *terminal) send(ctx context.Context, condition string, p []byte, before control.Command) error {
	switch target := t.record.target(); {
	case bytes.IndexByte(p, 0) >= 0: // a paste buffer cannot contain NUL
		_, err := t.provider.act(ctx, t.record, condition, control.Sequence(before, keysCommand(target, p)))
		return toErrExited(err)
	case len(p) <= maxInline:
		reply, err := t.provider.server.Query(ctx, control.Sequence(setCommand(p), t.paste(condition, inlineBuffer, before)))
		return toErrExited(fencedError(reply.Output, err))
	}
	out, err := t.provider.server.Client().WithBuffer(ctx, p, func(name string) control.Command { return t.paste(condition, name, before) })
	return toErrExited(fencedError(out, err))
}

// Input commands use the short command names, because the server parses and logs each byte.

// paste returns the command that pastes a buffer into the pane if the condition is true, and deletes the buffer in
// any case. The text is in a buffer and not in the conditional command, because tmux parses long arguments of a
// conditional command slowly.
func (t *terminal) paste(condition, buffer string, before control.Command) control.Command {
	target := t.record.target()
	return control.If(target, condition, control.Sequence(before, pasteCommand(target, buffer)),
		control.Sequence(control.Cmd("deleteb", "-b", buffer), control.Cmd("display", "-p", fencedOutput)))
}

// maxInline is the largest input in bytes that is sent within the command. A larger input goes through a private
// file. At this size both ways take the same time.
const maxInline = 2 << 10

// inlineBuffer is the name of the paste buffer for small inputs. It exists only during one command sequence.
const inlineBuffer = "gc-input"

func setCommand(p []byte) control.Command {
	return control.Cmd("setb", "-b", inlineBuffer, "--", string(p))
}

// keysCommand returns the command that writes bytes unchanged to the program of a pane, even if a person has put the
// pane into copy mode.
func keysCommand(target string, p []byte) control.Command {
	if bytes.IndexByte(p, 0) < 0 {
		return control.Sequence(setCommand(p), pasteCommand(target, inlineBuffer))
	}
	var pieces []control.Command
	for len(p) > 0 { // a paste buffer cannot contain NUL
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

// toErrExited returns screen.ErrExited for an error that means that the session or the server has ended. It returns
// other errors unchanged.
func toErrExited(err error) error {
	if errors.Is(err, errFenced) || server.Absent(err) || errors.Is(err, control.ErrServerLost) {
		return screenreader.ErrExited
	}
	return err
}

// lastHumanInput returns the time of the last key of a person, by the clock of the server. It is zero if no client
// was ever attached.
func (p *Provider) lastHumanInput(ctx context.Context, r *record) (time.Time, error) {
	s, err := p.stateOf(ctx, r)
	return s.Human, err
}
