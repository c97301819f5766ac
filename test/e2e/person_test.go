package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// person is a terminal of a person: a shell in a tmux server of the test.
type person struct {
	t      *testing.T
	socket string
}

// newPerson opens a terminal with a shell in the city's directory. gc is in its PATH. The shell's prompt is "$ ".
func newPerson(c *city, cols, rows int, env ...string) *person {
	c.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		c.t.Skip("tmux is not installed here")
	}
	p := &person{t: c.t, socket: filepath.Join(c.root, fmt.Sprintf("person%d", time.Now().UnixNano()))}
	cmd := exec.Command("tmux", "-S", p.socket, "-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "-c", c.root, "sh")
	cmd.Env = append([]string{"PATH=" + filepath.Dir(c.gc) + ":" + os.Getenv("PATH"), "HOME=" + c.root, "LANG=C.UTF-8", "TERM=xterm-256color"}, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("tmux: %v: %s", err, out)
	}
	c.t.Cleanup(func() { p.tmux("kill-server") })
	p.until("the shell is ready", func(screen string) bool { return strings.TrimSpace(screen) != "" })
	p.types("PS1='$ '; clear")
	p.until("it has its prompt", func(screen string) bool { return strings.TrimSpace(screen) == "$" })
	return p
}

func (p *person) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// types types text and Enter.
func (p *person) types(text string) {
	p.t.Helper()
	p.tmux("send-keys", "-l", text)
	p.press("Enter")
}

// press presses keys by their names.
func (p *person) press(keys ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys"}, keys...)...)
}

// screen returns what the terminal shows.
func (p *person) screen() string {
	p.t.Helper()
	return p.tmux("capture-pane", "-p")
}

// format returns the value of a format of tmux, for example "#{cursor_flag}".
func (p *person) format(format string) string {
	p.t.Helper()
	return strings.TrimSpace(p.tmux("display-message", "-p", format))
}

// await waits until the terminal shows all texts, and returns what it shows.
func (p *person) await(texts ...string) string {
	p.t.Helper()
	return p.until("it shows "+strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// until waits until the terminal fulfills a condition, and returns what it shows.
func (p *person) until(what string, is func(screen string) bool) string {
	p.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		screen := p.screen()
		switch {
		case is(screen):
			return screen
		case time.Now().After(deadline):
			p.t.Fatalf("the terminal never was so: %s; it shows:\n%s", what, screen)
		}
		pause(50 * time.Millisecond)
	}
}
