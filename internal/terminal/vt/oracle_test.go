package vt_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	xterm "golang.org/x/term"

	"gascity/internal/terminal/vt"
	"gascity/test/tier"
)

// tmuxReference is a real tmux with one pane. Bytes reach the pane through a feeder: this test
// binary, started inside the pane, which copies a socket to its terminal and back.
type tmuxReference struct {
	t       testing.TB
	conn    net.Conn
	replies *bufio.Reader
	in      io.Writer
	out     *bufio.Reader
}

const feederEnv = "GC_TERM_TEST_FEEDER"

func TestMain(m *testing.M) {
	if path := os.Getenv(feederEnv); path != "" {
		if err := feed(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// feed connects its terminal with the socket at path.
func feed(path string) error {
	if _, err := xterm.MakeRaw(0); err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() {
		_, err := io.Copy(conn, os.Stdin)
		failed <- err
	}()
	go func() {
		_, err := io.Copy(os.Stdout, conn)
		failed <- err
	}()
	return <-failed
}

// startTmuxReference starts tmux with a pane of the given size. Without tmux the test is
// skipped, or fails when GC_TEST_REQUIRE names it.
func startTmuxReference(t testing.TB, cols, rows int) *tmuxReference {
	t.Helper()
	tier.Process(t)
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		if strings.Contains(os.Getenv("GC_TEST_REQUIRE"), "tmux") {
			t.Fatal("tmux is required by GC_TEST_REQUIRE and not installed")
		}
		t.Skip("tmux is not installed")
	}
	if out, err := exec.Command(tmux, "-V").Output(); err != nil || strings.TrimSpace(string(out)) != "tmux 3.3a" {
		if strings.Contains(os.Getenv("GC_TEST_REQUIRE"), "tmux") {
			t.Fatalf("the model follows tmux 3.3a, found %q (%v)", out, err)
		}
		t.Skipf("the model follows tmux 3.3a, found %q", out)
	}
	dir := shortDir(t)
	sock := filepath.Join(dir, "feed")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conf := filepath.Join(dir, "conf")
	settings := "set -g status off\nset -g history-limit 10000\nset -s exit-empty on\n"
	if err := os.WriteFile(conf, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	base := []string{"-S", filepath.Join(dir, "tmux"), "-f", conf}
	env := append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=", "TERM=xterm-256color", feederEnv+"="+sock)
	start := exec.Command(tmux, append(base, "new-session", "-d", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), os.Args[0],
		";", "set", "-g", "window-size", "manual")...)
	start.Env = env
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("cannot start tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command(tmux, append(base, "kill-server")...).Run() // fails when the server ended with its pane
	})
	o := &tmuxReference{t: t}
	if err := listener.(*net.UnixListener).SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if o.conn, err = listener.Accept(); err != nil {
		t.Fatalf("the feeder did not start: %v", err)
	}
	t.Cleanup(func() { o.conn.Close() })
	o.replies = bufio.NewReader(o.conn)
	o.control(exec.Command(tmux, append(base, "-C", "attach")...), env)
	o.command("refresh-client -f no-output")
	return o
}

// control attaches a control mode client, so that commands need no process each.
func (o *tmuxReference) control(cmd *exec.Cmd, env []string) {
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		o.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		o.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	o.in, o.out = in, bufio.NewReaderSize(out, 1<<20)
	o.block() // of the attach itself
}

// command runs a tmux command and returns its output.
func (o *tmuxReference) command(format string, args ...any) string {
	o.t.Helper()
	if _, err := fmt.Fprintf(o.in, format+"\n", args...); err != nil {
		o.t.Fatal(err)
	}
	return o.block()
}

// block reads the output of one command.
func (o *tmuxReference) block() string {
	o.t.Helper()
	var body strings.Builder
	inside := false
	for {
		line, err := o.out.ReadString('\n')
		if err != nil {
			o.t.Fatalf("tmux went away: %v", err)
		}
		switch {
		case strings.HasPrefix(line, "%begin "):
			inside = true
		case inside && strings.HasPrefix(line, "%end "):
			return body.String()
		case inside && strings.HasPrefix(line, "%error "):
			o.t.Fatalf("tmux command failed: %s", body.String())
		case inside:
			body.WriteString(line)
		}
	}
}

// write sends bytes to the pane and waits until tmux has taken them.
func (o *tmuxReference) write(p []byte) {
	o.t.Helper()
	o.send(append(bytes.Clone(p), "\x18\x1b[5n"...))
	o.answer()
}

// send feeds p to the pane without waiting; what goes wrong shows in the answer.
func (o *tmuxReference) send(p []byte) {
	if err := o.conn.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		o.t.Fatal(err)
	}
	go func() { _, _ = o.conn.Write(p) }()
}

// typed returns what tmux wrote to the program since the last call, having taken all
// that was sent.
func (o *tmuxReference) typed() []byte {
	o.t.Helper()
	o.send([]byte("\x1b[5n"))
	return bytes.TrimSuffix(o.answer(), []byte("\x1b[0n"))
}

// answer reads what tmux writes to the program up to its answer to a status request.
func (o *tmuxReference) answer() []byte {
	o.t.Helper()
	var got []byte
	for !bytes.HasSuffix(got, []byte("\x1b[0n")) {
		b, err := o.replies.ReadByte()
		if err != nil {
			o.t.Fatalf("no answer from tmux: %v", err)
		}
		got = append(got, b)
	}
	return got
}

// shortDir returns a folder whose name leaves room for a socket in it.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcterm") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// picture is what the two are compared by.
type picture struct {
	Cells   [][]vt.Cell // scrollback and screen
	History int
	State   string
}

const stateFormat = "#{cursor_x},#{cursor_y} alt=#{alternate_on} cursor=#{cursor_flag} insert=#{insert_flag} " +
	"keypad=#{keypad_flag} appcursor=#{keypad_cursor_flag} origin=#{origin_flag} wrap=#{wrap_flag} " +
	"mouse=#{mouse_any_flag}#{mouse_button_flag}#{mouse_standard_flag}#{mouse_sgr_flag} " +
	"region=#{scroll_region_upper},#{scroll_region_lower}"

// picture captures the pane.
func (o *tmuxReference) picture(cols int) picture {
	o.t.Helper()
	info := strings.TrimRight(o.command("display-message -p '%s|#{history_size}'", stateFormat), "\n")
	state, size, _ := strings.Cut(info, "|")
	history, err := strconv.Atoi(size)
	if err != nil {
		o.t.Fatalf("bad answer %q", info)
	}
	lines := strings.Split(o.command("capture-pane -p -e -N -S -"), "\n")
	return picture{Cells: parseCapture(lines[:len(lines)-1], cols), History: history, State: state}
}

// parseCapture turns the lines of capture-pane -e into cells.
func parseCapture(lines []string, cols int) [][]vt.Cell {
	out := make([][]vt.Cell, len(lines))
	s := vt.New(cols, 1, &vt.Options{Scrollback: -1})
	s.Write([]byte("\x1b)0"))
	for y, line := range lines {
		s.Write([]byte(line))
		out[y] = s.Row(0)
		for x := range out[y] {
			if c := s.Cursor(); !c.PendingWrap && x >= c.X {
				out[y][x] = vt.Cell{Text: " ", Width: -1}
			}
		}
		s.Write([]byte("\x1b7\x1b[m\r\x1b[2K\x1b8\r"))
	}
	return out
}

// pictureOf returns the same of the model.
func pictureOf(s *vt.Screen) picture {
	cols, rows := s.Size()
	p := picture{History: s.ScrollbackLen()}
	for i := range p.History {
		p.Cells = append(p.Cells, fit(s.ScrollbackRow(i), cols))
	}
	for y := range rows {
		p.Cells = append(p.Cells, s.Row(y))
	}
	c, m := s.Cursor(), s.Modes()
	x := c.X
	if c.PendingWrap {
		x++
	}
	top, bottom := s.Margins()
	p.State = fmt.Sprintf("%d,%d alt=%d cursor=%d insert=%d keypad=%d appcursor=%d origin=%d wrap=%d mouse=%d%d%d%d region=%d,%d",
		x, c.Y, bit(m.AltScreen), bit(c.Visible), bit(m.Insert), bit(m.AppKeypad), bit(m.AppCursorKeys),
		bit(m.Origin), bit(m.AutoWrap), bit(m.Mouse >= vt.MouseNormal), bit(m.Mouse == vt.MouseButton), bit(m.Mouse == vt.MouseNormal),
		bit(m.MouseEncoding == vt.MouseSGR), top, bottom)
	return p
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fit crops or fills a row to cols columns.
func fit(row []vt.Cell, cols int) []vt.Cell {
	for len(row) < cols {
		row = append(row, vt.Cell{Text: " ", Width: 1})
	}
	return row[:cols]
}

// difference describes how two pictures differ, empty when they do not.
func difference(want, got picture) string {
	var b strings.Builder
	if want.State != got.State {
		fmt.Fprintf(&b, "state: tmux %s\n        ours %s\n", want.State, got.State)
	}
	if want.History != got.History {
		fmt.Fprintf(&b, "scrollback: tmux %d lines, ours %d\n", want.History, got.History)
	}
	shown := 0
	for y := range max(len(want.Cells), len(got.Cells)) {
		var w, g []vt.Cell
		if y < len(want.Cells) {
			w = want.Cells[y]
		}
		if y < len(got.Cells) {
			g = got.Cells[y]
		}
		for x := range max(len(w), len(g)) {
			if x < len(w) && x < len(g) && alike(w[x], g[x]) {
				continue
			}
			fmt.Fprintf(&b, "line %d column %d:\n  tmux %q %s\n  ours %q %s\n", y, x, rowString(w), cellString(w, x), rowString(g), cellString(g, x))
			shown++
			break
		}
		if shown == 4 {
			break
		}
	}
	return b.String()
}

// alike compares a cell of tmux with one of ours. What tmux 3.3a does not have or does not
// capture is left out: hyperlinks and overlines. Past the captured end of a row (Width -1)
// only the text counts; the ink pass looks at backgrounds there.
func alike(want, got vt.Cell) bool {
	if want.Width < 0 {
		return got.Text == " "
	}
	got.Style.Link, got.Style.LinkID = "", ""
	got.Style.Attr &^= vt.Overline
	want.Style.Attr &^= vt.Overline
	if got.Style.Underline == vt.UnderlineNone { // tmux does not always store a colour that shows nowhere
		got.Style.UnderlineColor, want.Style.UnderlineColor = 0, 0
	}
	return want == got
}

func rowString(row []vt.Cell) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteString(c.Text)
	}
	return b.String()
}

func cellString(row []vt.Cell, x int) string {
	if x >= len(row) {
		return "none"
	}
	return fmt.Sprintf("%+v", row[x])
}
