package agents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"gascity/internal/terminal/screen"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
	"gascity/test/boxmodel"
	"gascity/test/terminal"
)

// typed is an agent CLI on a terminal, without gc, beside the model of its input box.
type typed struct {
	*testing.T
	name   string
	found  bed.Installed
	model  *mockmodel.Server
	rules  screen.Rules
	term   *terminal.Fake
	box    boxmodel.Box
	sent   []string // what the model of the box submitted
	lost   int      // Enters that had no effect
	folded bool     // the box held a placeholder before the last keys
	start  func() *terminal.Fake
}

func newTyped(t *testing.T, name string) *typed {
	t.Helper()
	d := &typed{T: t, name: name, found: bed.Need(t, name)}
	model, err := mockmodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	wire, err := bed.NewTripwire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = model.Close(), wire.Close() })
	dir := t.TempDir()
	t.Cleanup(func() { endLeft(t, dir) })
	seat, err := bed.NewAgentHome(d.found.CLI, dir, bed.Seeded, model.URL(name), wire.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(seat.Work, "note.txt"), []byte("a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.model, d.rules = model, terminal.Rules(t, name)
	d.start = func() *terminal.Fake {
		cmd := exec.CommandContext(t.Context(), d.found.Path, seat.Args...)
		cmd.Dir = seat.Work
		cmd.Env = []string{"PATH=" + d.found.Bin + ":/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8", "DISABLE_AUTOUPDATER=1"}
		for k, v := range seat.Env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		cols := 200
		if name == "opencode" {
			cols = 110 // in a wide terminal it draws a side bar beside its box
		}
		return terminal.NewProgram(t, cmd, cols, 50)
	}
	d.open()
	return d
}

// endLeft ends what a CLI has left: codex starts a server that outlives it.
func endLeft(t *testing.T, dir string) {
	left, _ := bed.LeftProcesses(dir)
	for _, line := range left {
		pid, _, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(pid)
		if err == nil {
			err = syscall.Kill(n, syscall.SIGKILL)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Errorf("cannot end %s: %v", line, err)
		}
	}
}

// open starts the CLI and waits until it takes prompts.
func (d *typed) open() {
	d.Helper()
	d.term = d.start()
	got, err := screen.Ready(d.Context(), d.term, d.rules, bed.StepTimeout)
	if err != nil || got.State != screen.ReadyPrompt {
		d.Fatalf("%s is not ready: %+v, %v\n%s", d.name, got, err, strings.Join(d.frame().Rows, "\n"))
	}
	d.box.Content, d.box.Behind, d.box.Menu = nil, 0, false
}

func (d *typed) frame() screen.Frame {
	f, err := d.term.Frame(d.Context(), 0)
	if err != nil {
		d.Fatal(err)
	}
	return f
}

// rested waits until the screen has shown the same for d.
func (d *typed) rested(rest time.Duration) {
	const most = 10 * time.Second
	f := d.frame()
	for end := time.Now().Add(most); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(d.Context(), rest)
		next, err := d.term.Frame(ctx, f.Seq)
		cancel()
		if err != nil {
			return
		}
		f = next
	}
}

// boxWords returns what the sequences of keys are made of.
func boxWords() []string {
	return []string{"ab", "word", " ", "e\u0301", "x\u200by", "\u202ertl\u202c", "作業", "\U0001F680", "=.=", "\\", "@zz9", "(1)", "#tag", "tab\tc"}
}

// boxKeys returns random input, and what it is in words. The cursor is moved only in opencode: Left in codex, in an empty
// box, opens a list of its sessions.
func (d *typed) boxKeys(random *rand.Rand) (keys, what string) {
	words := boxWords()
	word := func() string { return words[random.IntN(len(words))] }
	switch n := random.IntN(20); {
	case n < 7:
		return strings.ReplaceAll(word(), "\t", " "), "typed" // a tab is a key of its own
	case n < 11:
		text := word()
		for range random.IntN(6) {
			text += []string{" ", "\n", ""}[random.IntN(3)] + word()
		}
		return "\x1b[200~" + text + "\x1b[201~", "pasted"
	case n < 12:
		return "\x1b[200~" + strings.Repeat("row\n", random.IntN(9)) + "end\x1b[201~", "pasted rows"
	case n < 13:
		return "\x1b[200~\r\x1b[201~", "Enter in a paste"
	case n < 15:
		return strings.Repeat("\x7f", 1+random.IntN(3)), "backspace"
	case n < 16 || n == 16 && d.name != "opencode":
		return "\x15", "C-u"
	case n == 16:
		return []string{strings.Repeat(boxmodel.Left, 1+random.IntN(4)), "\x05"}[random.IntN(2)], "Left or C-e"
	default:
		return "\r", "Enter"
	}
}

var placeholder = regexp.MustCompile(`\[[Pp]asted[^\]]*\]`)

// shape returns what two boxes have in common that show the same text: without blanks and invisible
// characters, and with one word for every placeholder.
func shape(s string) string {
	s = placeholder.ReplaceAllString(s, "[pasted]")
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

// same reports whether the CLI shows the text, in its box, as the model does. In a row of opencode's with a
// character that has no column, it draws others at the columns of their neighbors: such a text is
// compared when it is submitted.
func (d *typed) same(shown, want string) bool {
	if d.name != "opencode" {
		return shape(shown) == shape(want)
	}
	letters := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) { // it may be drawn nowhere
			return -1
		}
		return r
	}, want+"\x00"+shown)
	want, shown, _ = strings.Cut(letters, "\x00")
	return strings.ContainsFunc(want, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) || shape(shown) == shape(want)
}

// content is what the CLI's box holds. The profile of opencode describes none: its box is the rows
// above the name of its agent, behind a bar.
func (d *typed) content(f screen.Frame) (content string, found bool) {
	if d.name != "opencode" {
		c := screen.NewSnapshot(f).InputBox(d.rules.Screen.InputBox)
		return c.Content, c.Found
	}
	const bar = "┃"
	var rows []string
	for _, row := range slices.Backward(f.Rows) {
		_, text, barred := strings.Cut(row, bar)
		switch {
		case !found:
			found = barred && strings.HasPrefix(text, "  Build · ")
		case !barred, text != "" && !strings.HasPrefix(text, "  "): // a menu above the box has less space
			content = strings.Join(rows, "\n")
			if strings.HasPrefix(strings.TrimSpace(content), "Ask anything") {
				content = ""
			}
			return content, true
		default:
			rows = slices.Insert(rows, 0, strings.TrimSpace(text))
		}
	}
	return "", false
}

// shows waits until the CLI's box shows what the model's does. It returns what it shows.
func (d *typed) shows(limit time.Duration) (string, bool) {
	for end := time.Now().Add(limit); ; {
		f := d.frame()
		content, found := d.content(f)
		if want := strings.Join(d.box.Rows(), "\n"); found && d.same(content, want) {
			return content, true
		}
		left := time.Until(end)
		if left <= 0 {
			return content, false
		}
		ctx, cancel := context.WithTimeout(d.Context(), left)
		_, _ = d.term.Frame(ctx, f.Seq) // the end of ctx is seen above
		cancel()
	}
}

// step sends keys to both and compares what they show, and what they submit: exactly.
func (d *typed) step(keys string) (difference string) {
	before, sent := len(d.prompts()), len(d.sent)
	if keys == "\r" {
		d.rested(300 * time.Millisecond) // as a delivery waits before Enter
	}
	if err := d.term.Send(d.Context(), []byte(keys)); err != nil {
		d.Fatal(err)
	}
	held := strings.Join(d.box.Rows(), "\n")
	d.folded = slices.ContainsFunc(d.box.Content, func(c boxmodel.Char) bool { return c.Fold > 0 })
	d.box.Type(keys, 1)
	if d.name == "opencode" { // it inserts a paste a moment later, and submits what its box holds a moment after Enter
		d.rested(300 * time.Millisecond)
	}
	shown, same := d.shows(8 * time.Second)
	if !same && len(d.sent) > sent && d.same(shown, held) { // as the models of boxes with DropEnters do
		d.lost++
		if err := d.term.Send(d.Context(), []byte(keys)); err != nil {
			d.Fatal(err)
		}
		shown, same = d.shows(8 * time.Second)
	}
	if !same {
		return fmt.Sprintf("shows %+q, the model %+q", shown, strings.Join(d.box.Rows(), "\n"))
	}
	if len(d.sent) == sent {
		return ""
	}
	for end := time.Now().Add(time.Minute); len(d.prompts()) == before; {
		if time.Now().After(end) {
			return fmt.Sprintf("submits nothing, the model %+q", d.sent[sent])
		}
		d.rested(100 * time.Millisecond)
	}
	d.rested(time.Second) // its turn ends
	got, same := d.prompts()[before], false
	if same = got == d.sent[sent]; d.folded { // a paste with a placeholder has a wrapper of its own
		same = shape(got) == shape(d.sent[sent])
	}
	if !same {
		return fmt.Sprintf("submits %+q, the model %+q", got, d.sent[sent])
	}
	return ""
}

// empty empties both boxes, by a new start if no key does.
func (d *typed) empty() {
	d.Helper()
	keys, tries := strings.Repeat("\x05\x7f\x15", 12), 6
	if d.name == "opencode" { // no other key removes a character without a column; C-c ends it if its box is empty
		keys, tries = "\x03", 1
		d.typeAndSee("xyz")
	}
	d.box.Content, d.box.Behind, d.box.Menu = nil, 0, false
	for range tries {
		if err := d.term.Send(d.Context(), []byte(keys)); err != nil {
			d.Fatal(err)
		}
		d.rested(500 * time.Millisecond)
		if _, same := d.shows(5 * time.Second / time.Duration(tries)); same {
			return
		}
	}
	d.open()
}

// typeAndSee types a text and waits until the CLI's box shows it.
func (d *typed) typeAndSee(text string) {
	d.Helper()
	if err := d.term.Send(d.Context(), []byte(text)); err != nil {
		d.Fatal(err)
	}
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); d.rested(500 * time.Millisecond) {
		if content, _ := d.content(d.frame()); strings.Contains(shape(content), text) {
			return
		}
	}
}

// TestTheModelsOfInputBoxesAreTrue sends the same random keys to a model of package boxmodel and
// to the agent CLI that it is the model of, and compares what they show and what
// they submit. The property test of deliveries holds for the CLI as far as this holds.
func TestTheModelsOfInputBoxesAreTrue(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "codex", "gemini", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			options, _ := boxmodel.Of(name)
			d := newTyped(t, name)
			recordOnFailure(t, d.found, "input box")
			d.box.Options = options
			d.box.Submitted = func(text string, _ []boxmodel.Char) { d.sent = append(d.sent, text) }
			sequences, seed := setting("GC_AGENTS_BOXES", 20), uint64(setting("GC_AGENTS_SEED", 1))
			keys, different := 0, 0
			for n := range sequences {
				random := rand.New(rand.NewPCG(seed+uint64(n), 5))
				var sent []string
				for range 10 {
					input, _ := d.boxKeys(random)
					if d.isCommand(input) {
						continue
					}
					sent = append(sent, input)
					keys++
					if difference := d.step(input); difference != "" {
						different++
						t.Errorf("seed %d: after %+q %s %s", seed+uint64(n), sent, name, difference)
						break
					}
				}
				t.Logf("%s: sequence %d, %d inputs, %d differences so far", name, n+1, keys, different)
				d.empty()
			}
			logFigure(t, d.found, "input box", "%d sequences with %d inputs, %d differences, %d lost Enters", sequences, keys, different, d.lost)
		})
	}
}

// isCommand reports whether the box would hold a command of the CLI with this input: what
// that does is not a matter of the box.
func (d *typed) isCommand(input string) bool {
	text := strings.TrimPrefix(input, "\x1b[200~")
	return len(d.box.Content) == 0 && (strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!"))
}

// prompts returns the texts of the prompts that the model got.
func (d *typed) prompts() []string { return textsOf(d.model.Prompts(d.name)) }
