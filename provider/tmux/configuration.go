package tmux

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gascity/internal/proc"
)

// configuration returns the text of the server's configuration file. The flag -q makes an older tmux ignore options
// that it does not know.
//
// The option window-size is set to manual for each window and not here: tmux 3.3 crashes if it creates a session while
// manual is the default.
func (s *tmuxServer) configuration() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by gc. Changes are lost.\n")
	for _, line := range []string{
		"set -s exit-empty off",
		"set -s escape-time 0",
		"set -s default-terminal " + terminal256(s.env),
		"set -g default-shell /bin/sh",
		"set -g default-command ''",
		"set -g default-size 200x50",
		fmt.Sprintf("set -g history-limit %d", scrollback),
		"set -g update-environment ''",
		"set -g remain-on-exit on",
		"set -gq remain-on-exit-format ''",
		"set -g automatic-rename off",
		"set -g allow-rename off",
		"set -gq allow-passthrough off",
		"set -g destroy-unattached off",
		"set -g detach-on-destroy on",
		"set -g mouse off",
		"set -g monitor-activity off",
		"set -g bell-action none",
		"set -g visual-activity off",
		"set -g visual-bell off",
		"set -g set-titles on",
		"set -g set-titles-string '#{?pane_title,#{pane_title},#{session_name}}'",
		"set -g status on",
		"set -g status-interval 0",
		"set -g status-left-length 80",
		"set -g status-left ' #{session_name} '",
		"set -g status-right '#{?pane_dead,exited ,}#{?client_readonly,read only ,}C-\\ detaches '",
		"set -g status-style 'bg=colour236,fg=colour252'",
		"set -g status-left-style 'bg=colour24,fg=colour255,bold'",
		"set -g window-status-format ''",
		"set -g window-status-current-format ''",
		`bind-key -n 'C-\' detach-client`,
		`%if "#{>=:#{version},3.1}"`,
		"set-hook -g client-attached " + follow("latest"),
		"set-hook -g client-session-changed " + follow("latest"),
		"%else", // tmux before 3.1 does not know "latest"
		"set-hook -g client-attached " + follow("largest"),
		"set-hook -g client-session-changed " + follow("largest"),
		"%endif",
	} {
		fmt.Fprintln(&b, line)
	}
	for _, line := range s.keyTableLines() {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// follow returns the hook command that makes a window of gc follow the size of its attached clients. rule is the value
// of the option window-size, by which tmux chooses among several clients. When the last client has detached,
// [tmuxServer.RestoreSizes] restores the size.
func follow(rule string) string {
	isInstance, isTerminal := "#{@"+optionInstance+"}", "#{==:#{client_control_mode},0}" // a pane of gc; a client with a screen
	return `"if-shell -F '#{&&:` + isInstance + `,` + isTerminal + `}' 'set-option -w window-size ` + rule + `'"`
}

// terminal256 returns the TERM value for panes: "tmux-256color" if the system has this terminal description, and
// "screen-256color" otherwise.
func terminal256(env []string) string {
	dirs := []string{proc.Getenv(env, "TERMINFO"), filepath.Join(proc.Getenv(env, "HOME"), ".terminfo"), "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo", "/usr/share/lib/terminfo", "/opt/homebrew/share/terminfo", "/usr/local/share/terminfo"}
	dirs = append(dirs, filepath.SplitList(proc.Getenv(env, "TERMINFO_DIRS"))...)
	for _, dir := range dirs {
		for _, letter := range []string{"t", "74"} {
			if _, err := os.Stat(filepath.Join(dir, letter, "tmux-256color")); err == nil {
				return "tmux-256color"
			}
		}
	}
	return "screen-256color"
}
