package tmux

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"gascity/internal/terminal/inject"
	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
)

// terminal implements screen.Terminal for the pane of one instance. It captures the screen from the server for each
// frame. Output events only indicate that the screen may have changed.
type terminal struct {
	provider *Provider
	record   *record
	pane     *pane
	// Only the goroutine of a lease uses the fields below.
	attached    int       // the number of attached clients at the last query
	clientInput time.Time // a person's last input from a client, in the last frame
	hold        keyHold
}

var _ screenreader.Terminal = (*terminal)(nil)

// screenFields are the formats that are queried together with the cells. The state is last because it ends with the
// title, which may contain spaces. screenCount is the number of fields with the state as the last one.
const (
	screenFields = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{keypad_cursor_flag} #{keypad_flag} #{wrap_flag} " +
		"#{insert_flag} #{origin_flag} #{mouse_standard_flag} #{mouse_button_flag} #{mouse_all_flag} #{mouse_sgr_flag} " +
		"#{mouse_utf8_flag} #{pane_width} #{pane_height} #{pane_tty} #{@" + optionPaste + "} #{@" + optionSigns + "} " + keyHoldFields + " " + stateFields
	screenCount = 22
)

// Frame implements screen.Terminal.
func (t *terminal) Frame(ctx context.Context, after uint64) (screenreader.Frame, error) {
	seq, err := t.await(ctx, after)
	if err != nil {
		return screenreader.Frame{}, err
	}
	c, err := t.look(ctx)
	switch {
	case errors.Is(err, screenreader.ErrExited):
		return screenreader.Frame{Seq: max(seq, after+1), Exited: true}, nil
	case err != nil:
		return screenreader.Frame{}, err
	}
	return t.frame(max(seq, after), c), nil
}

// captured is a pane at one moment: the values of screenFields, the state, and the rows.
type captured struct {
	fields []string
	state  paneState
	cells  []byte
}

// look captures the pane. If the instance has ended, the error is screen.ErrExited.
func (t *terminal) look(ctx context.Context) (captured, error) {
	reply, err := t.capture(ctx)
	switch {
	case isAbsent(err), errors.Is(err, errNotFound):
		return captured{}, screenreader.ErrExited
	case err != nil && ctx.Err() != nil:
		return captured{}, ctx.Err()
	case err != nil:
		return captured{}, err
	}
	t.pane.setDigest(reply.Output)
	first, cells, _ := bytes.Cut(reply.Output, []byte("\n"))
	fields := strings.SplitN(string(first), " ", screenCount)
	s, err := parseState(fields[len(fields)-1])
	if len(fields) < screenCount || errors.Is(err, errNotOurs) || err == nil && s.Hash != t.record.hash() {
		return captured{}, screenreader.ErrExited
	}
	if err == nil {
		t.provider.panes.publishChanges(s)
	}
	return captured{fields, s, cells}, err
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
			if err != nil || t.pane.setDigest(reply.Output) {
				t.pane.bump()
			}
		}
	}
}

// capture queries the state and the cells of the pane with one command.
func (t *terminal) capture(ctx context.Context) (tmuxReply, error) {
	target := t.record.target()
	return t.provider.server.Query(ctx, sequence(
		cmd("display-message", "-p", "-t", target, screenFields),
		cmd("capture-pane", "-p", "-e", "-t", target),
	))
}

// size returns the columns and rows of the pane.
func (c *captured) size() (width, height int) {
	return max(1, parseNumber(c.fields[14])), max(1, parseNumber(c.fields[15]))
}

// screen returns a screen with the captured rows.
func (c *captured) screen() *vt.Screen {
	width, height := c.size()
	screen := vt.New(width, height, &vt.Options{Scrollback: -1})
	screen.Write(redraw(c.cells, height))
	return screen
}

// modes returns the modes that the server reports.
func (c *captured) modes() vt.Modes {
	f := c.fields
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
	return modes
}

// frame returns the frame for a captured pane.
func (t *terminal) frame(seq uint64, c captured) screenreader.Frame {
	f, s, screen, modes := c.fields, c.state, c.screen(), c.modes()
	width, height := c.size()
	state := inject.LineStateOf(f[16])
	frame := screenreader.Frame{
		Seq: seq, Rows: screen.Rows(), Cells: screen.Row, Modes: modes, Title: s.Title, Line: state.Line, Input: state.Input, Lines: state.Lines, Silent: state.Silent,
		Cursor: vt.Cursor{X: min(parseNumber(f[0]), width-1), Y: min(parseNumber(f[1]), height-1), PendingWrap: parseNumber(f[0]) >= width, Visible: modes.CursorVisible},
		// Exited is false until the server has reported the exit, because the last output may still be
		// unread.
		LastOutput: s.Output, LastHuman: s.Human, Attached: s.Attached, Exited: s.Dead,
	}
	t.attached = s.Attached
	if t.hold.hasWaitingKey(f[19], f[20]) {
		frame.LastHuman = t.hold.humanInput
	}
	t.clientInput = frame.LastHuman
	if s.Typed.After(frame.LastHuman) {
		frame.LastHuman = s.Typed
	}
	frame.Attached += t.provider.panes.typists(t.record.Name, t.record.hash())
	t.pane.addOutputState(&frame, f[17], f[18])
	return frame
}

// addOutputState sets the fields of a frame that come from the output: bracketed paste and synchronized output modes,
// the time of the last output and the reports of the program.
func (p *pane) addOutputState(f *screenreader.Frame, paste, signs string) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.restoreLocked(paste, signs)
	f.Modes.BracketedPaste, f.Modes.Synchronized = p.scanner.Paste, p.scanner.Synchronized
	if !p.lastOutput.IsZero() {
		f.LastOutput = p.lastOutput
	}
	if f.Exited {
		return
	}
	reports := p.signs.OfGroup(foregroundOf(p.pid))
	f.Signs = reports
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
	return t.send(ctx, t.record.fence(), p, tmuxCommand{})
}

// send writes bytes to the pane if the condition is true. The server first runs the command before; both are one step of
// the server. The error is screen.ErrExited if the condition is false.
func (t *terminal) send(ctx context.Context, condition string, p []byte, before tmuxCommand) error {
	switch target := t.record.target(); {
	case bytes.IndexByte(p, 0) >= 0: // a paste buffer cannot contain NUL
		_, err := t.provider.act(ctx, t.record, condition, sequence(before, keysCommand(target, p)))
		return toErrExited(err)
	case len(p) <= maxInline:
		reply, err := t.provider.server.Query(ctx, sequence(setCommand(p), t.paste(condition, inlineBuffer, before)))
		return toErrExited(fencedError(reply.Output, err))
	}
	out, err := t.provider.server.client.WithBuffer(ctx, p, func(name string) tmuxCommand { return t.paste(condition, name, before) })
	return toErrExited(fencedError(out, err))
}

// Input commands use the short command names, because the server parses and logs each byte.

// paste returns the command that pastes a buffer into the pane if the condition is true, and deletes the buffer in
// any case. The text is in a buffer and not in the conditional command, because tmux parses long arguments of a
// conditional command slowly.
func (t *terminal) paste(condition, buffer string, before tmuxCommand) tmuxCommand {
	target := t.record.target()
	return ifFormat(target, condition, sequence(before, pasteCommand(target, buffer)),
		sequence(cmd("deleteb", "-b", buffer), cmd("display", "-p", fencedOutput)))
}

// maxInline is the largest input in bytes that is sent within the command. A larger input goes through a private
// file. At this size both ways take the same time.
const maxInline = 2 << 10

// inlineBuffer is the name of the paste buffer for small inputs. It exists only during one command sequence.
const inlineBuffer = "gc-input"

func setCommand(p []byte) tmuxCommand {
	return cmd("setb", "-b", inlineBuffer, "--", string(p))
}

// keysCommand returns the command that writes bytes unchanged to the program of a pane, even if a person has put the
// pane into copy mode.
func keysCommand(target string, p []byte) tmuxCommand {
	if bytes.IndexByte(p, 0) < 0 {
		return sequence(setCommand(p), pasteCommand(target, inlineBuffer))
	}
	var pieces []tmuxCommand
	for len(p) > 0 { // a paste buffer cannot contain NUL
		n := min(len(p), 512)
		words := []string{"-t", target, "-H"}
		for _, b := range p[:n] {
			words = append(words, hex.EncodeToString([]byte{b}))
		}
		pieces, p = append(pieces, cmd("send-keys", words...)), p[n:]
	}
	return sequence(pieces...)
}

func pasteCommand(target, buffer string) tmuxCommand {
	return cmd("pasteb", "-rdb", buffer, "-t", target)
}

// toErrExited returns screen.ErrExited for an error that means that the session or the server has ended. It returns
// other errors unchanged.
func toErrExited(err error) error {
	if errors.Is(err, errFenced) || isAbsent(err) || errors.Is(err, errServerLost) {
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
