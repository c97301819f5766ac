package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAttachShowsHowToDetach: inside the person's own tmux the terminal shows keys that this tmux does not use, for agents at pty and at
// tmux; they detach, and the hint stays when the size changes and leaves nothing on the screen.
func TestAttachShowsHowToDetach(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed here")
	}
	c := newCityOf(t, "", []member{{name: "one"}, {name: "two", toml: "session = \"tmux\""}})
	c.start()
	c.await("running", running)
	p := newPerson(c, 80, 24)
	attach := func(agent, hint, absent string, keys ...string) {
		t.Helper()
		p.types("gc attach " + agent)
		screen := p.await("❯", hint)
		if absent != "" && strings.Contains(screen, absent) {
			t.Errorf("the hint for %s has a key that does not detach here:\n%s", agent, screen)
		}
		p.press(keys...)
		p.until("the terminal is detached", func(screen string) bool {
			return strings.Contains(screen, "detached") && !strings.Contains(screen, "❯")
		})
		p.types("clear")
		p.until("the shell has its prompt", func(screen string) bool { return strings.TrimSpace(screen) == "$" })
	}
	attach("one", `detach: Ctrl-\ `, "Ctrl-b d", `C-\`)
	attach("two", `C-\ detaches`, "", `C-\`)
	p.types("gc attach one")
	p.await("❯", "detach:")
	p.tmux("resize-window", "-x", "100", "-y", "30") // as when a person attaches to the tmux from a larger terminal
	p.until("the hint is in the new corner", func(screen string) bool {
		first, _, _ := strings.Cut(screen, "\n")
		return strings.Index(first, "detach:") > 80
	})
	p.until("the hint has ended", func(screen string) bool {
		return !strings.Contains(screen, "detach:") && strings.Contains(screen, "❯")
	})
	p.press(`C-\`)
	p.await("detached")

	p.tmux("bind-key", "-n", `C-\`, "display-message", "mine")
	p.tmux("set-option", "-g", "prefix", "C-a")
	p.types("clear")
	attach("one", "detach: Ctrl-b d ", `Ctrl-\`, "C-b", "d")
	p.tmux("set-option", "-g", "prefix", "C-b")
	attach("one", "detach: Ctrl-] ", `Ctrl-\`, "C-]")
	p.types("GC_DETACH_KEYS=C-q gc attach one")
	p.await("detach: Ctrl-q ")
	p.press("C-q")
	p.await("detached")
}
