package server

import (
	"context"
	"fmt"

	"gascity/internal/terminal/tty"
	"gascity/internal/tmux/control"
)

// Kill removes the window from the server, and the session with what a person has added.
func (s State) Kill() control.Command {
	window := control.Cmd("kill-window", "-t", s.Window)
	if s.Session == "" {
		return window
	}
	return control.Sequence(window, control.Cmd("kill-session", "-t", s.Session))
}

// Sweep ends what a person has killed: their session is gone, only the hub keeps the window.
func (s *Server) Sweep(ctx context.Context, strays []State) {
	for _, pane := range strays {
		condition := "#{&&:#{==:#{@" + OptionInstance + "}," + pane.Hash + "},#{==:#{session_name}," + Hub + "}}"
		if _, err := s.Query(ctx, control.If(pane.Pane, condition, control.Cmd("kill-window", "-t", pane.Window), control.Command{})); err != nil {
			s.cfg.Logger.Debug("cannot end a window", "session", pane.Name, "error", err)
		}
	}
}

// RestoreSizes gives windows without a viewer their own size again. A tmux before 3.2 reports a second
// size to a program only after a quarter of a second without requests, which may never come:
// there gc reports it to the program.
func (s *Server) RestoreSizes(ctx context.Context, list []State) {
	for _, pane := range list {
		if pane.Attached > 0 || pane.Width == Cols && pane.Height == Rows {
			continue
		}
		condition := "#{&&:#{==:#{@" + OptionInstance + "}," + pane.Hash + "},#{==:#{session_attached},0}}"
		resize := control.Sequence(
			control.Cmd("resize-window", "-t", pane.Window, "-x", fmt.Sprint(Cols), "-y", fmt.Sprint(Rows)),
			control.Cmd("display-message", "-p", "-t", pane.Pane, "#{pane_tty}"),
		)
		done, err := s.Query(ctx, control.If(pane.Session+":"+pane.Window+"."+pane.Pane, condition, resize, control.Command{}))
		if _, features, _ := s.ctl.Server(); err == nil && len(done.Output) > 0 && !features.Pause {
			err = tty.Resize(string(done.Output), Cols, Rows)
		}
		if err != nil {
			s.cfg.Logger.Debug("cannot resize a window", "session", pane.Name, "error", err)
		}
	}
}
