package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestWatchedStatusInATerminal: gc status -w is drawn in place, continues after a kill of the controller and says so, fits the
// terminal after its size has changed, and restores the terminal at Ctrl-C and at Ctrl-Z.
func TestWatchedStatusInATerminal(t *testing.T) {
	t.Parallel()
	c := newCity(t, 30)
	c.start()
	c.await("running", running)
	p := newPerson(c, 80, 24)
	p.types("echo before")
	p.types("gc status -w")
	screen := p.await("30 agents", "a000", "more")
	if strings.Contains(screen, "before") || strings.Contains(screen, "$") {
		t.Errorf("the page does not have the terminal for itself:\n%s", screen)
	}
	p.tmux("resize-window", "-x", "120", "-y", "40")
	p.until("all agents are shown after the terminal has grown", func(screen string) bool {
		return strings.Contains(screen, "a029") && strings.Contains(screen, "PID") && !strings.Contains(screen, "more")
	})
	p.press("x", "y", "z")

	c.kill()
	p.await("no controller runs", "waiting for it", "a029")
	c.start()
	p.until("the new controller answers", func(screen string) bool { return !strings.Contains(screen, "waiting for it") })
	if _, err := c.client.Suspend(t.Context(), "a007", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	p.await("suspended")

	p.press("C-z")
	p.await("before", "$")
	p.types("echo stopped; fg")
	p.await("30 agents", "a029")
	p.press("C-c")
	screen = p.await("stopped", "fg")
	if strings.Contains(screen, "agents") || strings.Contains(screen, "xyz") {
		t.Errorf("the page or the keys that were typed are left on the terminal:\n%s", screen)
	}
	if got := p.format("#{cursor_flag} #{alternate_on} #{wrap_flag}"); got != "1 0 1" {
		t.Errorf("cursor, alternate screen and wrap are %s after Ctrl-C; want 1 0 1", got)
	}
	p.types("stty -a | tr ' ;' '\\n\\n' | grep -c '^icanon\\|^echo$'")
	p.await("\n2\n")
}

// TestWatchWithoutColor: with NO_COLOR the page has no colors, and with TERM=dumb it moves no cursor.
func TestWatchWithoutColor(t *testing.T) {
	t.Parallel()
	c := newCity(t, 1)
	c.start()
	c.await("running", running)
	p := newPerson(c, 80, 24)
	p.types("gc status -w")
	p.await("running")
	if colored := p.tmux("capture-pane", "-p", "-e"); !strings.Contains(colored, "\x1b[32m") {
		t.Errorf("the page has no colors: %q", colored)
	}
	p.press("C-c")
	p.await("$")
	p.types("NO_COLOR=1 gc status -w")
	p.await("running")
	if plain := p.tmux("capture-pane", "-p", "-e"); strings.Contains(plain, "\x1b[32m") {
		t.Errorf("the page has colors in spite of NO_COLOR: %q", plain)
	}
	p.press("C-c")
	p.until("the page is gone, and the shell reads", func(screen string) bool {
		return !strings.Contains(screen, "running") && strings.HasSuffix(strings.TrimSpace(screen), "\n$")
	})
	p.types("TERM=dumb gc status -w")
	p.await("running", "$ TERM=dumb")
	p.press("C-c")
}

// TestFollowedScreensInATerminal: gc peek --follow shows one agent or several, side by side if there is room, continues after a kill of
// the controller, shows the last screen of an agent that is stopped, and no control sequence of an agent reaches the terminal.
func TestFollowedScreensInATerminal(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "", []member{{name: "one"}, {name: "two"}, {name: "three"}})
	text, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
	if err != nil {
		t.Fatal(err)
	}
	hostile := "[[agents]]\nname = \"hostile\"\nstart_command = '''printf \"\\033]2;evil title\\007\\033[?1003h\\033[31mred\\033[8m \\033[5;5Hmoved\\033]52;c;ZXZpbA==\\007\"; exec sleep 1000'''\n"
	if err := os.WriteFile(filepath.Join(c.root, client.CityFile), append(text, hostile...), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.await("running", running)
	p := newPerson(c, 80, 24)
	p.types("gc peek --follow one two three hostile")
	p.await("one  running", "two  running", "three  running", "hostile  running", "moved")
	if strings.Contains(p.screen(), "│") {
		t.Error("screens are side by side on 80 columns")
	}
	if mouse, title := p.format("#{mouse_any_flag}"), p.format("#{pane_title}"); mouse != "0" || title == "evil title" {
		t.Errorf("an agent has changed the terminal: mouse %s, title %q", mouse, title)
	}
	if text := p.tmux("capture-pane", "-p", "-e"); strings.Contains(text, "\x1b[31m") {
		t.Errorf("colors of the agent reach the terminal: %q", text)
	}
	p.tmux("resize-window", "-x", "200", "-y", "60")
	p.await(" │ two  running", " │ hostile  running")
	if _, err := c.client.Nudge(t.Context(), "two", client.NudgeRequest{Text: "words for two"}); err != nil {
		t.Fatal(err)
	}
	p.await("words for two")
	c.kill()
	p.await("waiting for it", "words for two")
	c.start()
	p.until("the new controller answers", func(screen string) bool { return !strings.Contains(screen, "waiting for it") })
	if _, err := c.client.Nudge(t.Context(), "one", client.NudgeRequest{Text: "words for one"}); err != nil {
		t.Fatal(err)
	}
	p.await("words for one", "words for two")
	if _, err := c.client.Suspend(t.Context(), "one", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	p.await("one  suspended", "last screen", "words for one")
	if _, err := c.client.Resume(t.Context(), "one", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	p.until("the new instance is shown", func(screen string) bool {
		return strings.Contains(screen, "one  running") && !strings.Contains(screen, "words for one")
	})
	p.press("C-c")
	p.until("the terminal is as before", func(screen string) bool {
		return strings.Contains(screen, "$ gc peek") && !strings.Contains(screen, "running")
	})
	if got := p.format("#{cursor_flag} #{alternate_on} #{wrap_flag}"); got != "1 0 1" {
		t.Errorf("cursor, alternate screen and wrap are %s after Ctrl-C; want 1 0 1", got)
	}
}
