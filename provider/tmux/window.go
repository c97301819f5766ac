package tmux

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// Kill returns the command that kills the window and its session, with all windows that a person has added to it. It
// kills only the window if Session is empty.
func (s paneState) Kill() tmuxCommand {
	window := cmd("kill-window", "-t", s.Window)
	if s.Session == "" {
		return window
	}
	return sequence(window, cmd("kill-session", "-t", s.Session))
}

// Sweep kills the windows of strays: a person has killed their sessions, and only the hub still contains the windows.
func (s *tmuxServer) Sweep(ctx context.Context, strays []paneState) {
	for _, pane := range strays {
		condition := "#{&&:#{==:#{@" + optionInstance + "}," + pane.Hash + "},#{==:#{session_name}," + hub + "}}"
		if _, err := s.Query(ctx, ifFormat(pane.Pane, condition, cmd("kill-window", "-t", pane.Window), tmuxCommand{})); err != nil {
			s.cfg.Logger.Debug("cannot kill a window", "session", pane.Name, "error", err)
		}
	}
}

// RestoreSizes resizes the windows without an attached client to defaultCols and defaultRows. tmux before 3.2 reports a
// new size to the program only after 250 ms in which no request arrived, which on a busy server may never happen. For
// such a server, which has no feature Pause, RestoreSizes also sets the size of the terminal itself.
func (s *tmuxServer) RestoreSizes(ctx context.Context, list []paneState) {
	for _, pane := range list {
		if pane.Attached > 0 || pane.Width == defaultCols && pane.Height == defaultRows {
			continue
		}
		condition := "#{&&:#{==:#{@" + optionInstance + "}," + pane.Hash + "},#{==:#{session_attached},0}}"
		resize := sequence(
			cmd("resize-window", "-t", pane.Window, "-x", fmt.Sprint(defaultCols), "-y", fmt.Sprint(defaultRows)),
			cmd("display-message", "-p", "-t", pane.Pane, "#{pane_tty}"),
		)
		done, err := s.Query(ctx, ifFormat(pane.Session+":"+pane.Window+"."+pane.Pane, condition, resize, tmuxCommand{}))
		if _, features, _ := s.client.Server(); err == nil && len(done.Output) > 0 && !features.Pause {
			err = resizeTerminal(string(done.Output), defaultCols, defaultRows)
		}
		if err != nil {
			s.cfg.Logger.Debug("cannot resize a window", "session", pane.Name, "error", err)
		}
	}
}

// resizeTerminal sets the size of the terminal at path. The kernel notifies the terminal's programs. It opens the terminal without
// making it a controlling terminal.
func resizeTerminal(path string, cols, rows uint16) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
}
