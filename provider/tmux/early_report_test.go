package tmux

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
)

// A status that a program reports before tmux has answered the command that started it stays when the program marks a prompt.
func TestReportBeforeThePIDIsKnown(t *testing.T) {
	p, err := Open(Config{Dir: filepath.Join(t.TempDir(), "tmux")})
	if err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), "sleep", "1000")
	terminal, err := pty.Start(program)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	panes := newPaneCache(p) // it does not run, so it does not read a list of sessions, which would not have this one
	panes.ctx = ctx
	t.Cleanup(func() {
		cancel()
		panes.wg.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		_ = program.Process.Kill() // it runs
		_ = program.Wait()         // killed
		_ = terminal.Close()       // its program has exited
	})
	panes.output(controlEvent{Pane: "%1", Data: []byte("\x1b]7501;status=idle\x1b\\")})
	panes.publishChanges(paneState{Name: "a", Hash: "h", Pane: "%1", PID: program.Process.Pid})
	panes.output(controlEvent{Pane: "%1", Data: []byte("\x1b]133;A\x1b\\")})
	panes.mu.Lock()
	defer panes.mu.Unlock()
	if got := panes.panes["%1"].signs.Status.Text; got != "status=idle" {
		t.Errorf("the status is %q, want status=idle", got)
	}
}

func TestForegroundOfNoProcess(t *testing.T) {
	if got := foregroundOf(1 << 30); got != 0 {
		t.Errorf("the foreground of no process is %d", got)
	}
}
