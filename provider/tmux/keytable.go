package tmux

import (
	"strings"

	"gascity/internal/proc"
	"gascity/internal/textfmt"
)

// keyTable is the tmux key table of attached clients. In this table a key that goes to a program waits while the
// pane's option [optionHold] names a lock. tmux processes the keys of a client in order, so keys that are typed later
// arrive later. The prefix key and the key after it belong to tmux and do not wait.
//
// The first waiting key starts a check in the server. The check runs every [holdSeconds] and releases the lock if its
// holder has not set [heartbeatVariable] since the last check. So a holder that dies delays typing for at most twice
// that time.
const keyTable = "gc"

// The options of a pane whose keys are held.
const (
	optionHold = "gc_hold" // the lock (wait-for -L) that keys wait for; unset if keys do not wait
	optionHeld = "gc_held" // the last lock that a key has waited for
)

// heartbeatVariable is the hidden variable of a session that the holder of a lock sets to the lock's name while it
// runs. The check in the server unsets the variable. It is not an option, because setting an option redraws the
// screens of all clients.
const heartbeatVariable = "gc_beat"

// holdSeconds is the interval, in seconds, at which the server checks whether the holder of a lock still runs.
const holdSeconds = "2"

// keyTableLines returns the lines of the configuration that define the key table. They apply to tmux 3.3 or newer: older
// versions cannot send a key unchanged.
func (s *tmuxServer) keyTableLines() []string {
	binary, err := findProgram(s.cfg.Binary, proc.Getenv(s.cfg.Environ, "PATH"))
	if err != nil {
		return nil // without the program the check could not release the lock
	}
	check := textfmt.ShellWord(binary) + ` -S ` + textfmt.ShellWord(s.socket) + ` if-shell -F -t '#{pane_id}' '##{==:##{` + heartbeatVariable + `},#{@` + optionHold + `}}'` +
		` 'set-environment -u -t #{session_id} ` + heartbeatVariable + ` ; display-message -p on'` +
		` 'wait-for -U #{@` + optionHold + `} ; set-option -p -q -u -t #{pane_id} @` + optionHold + `' 2>/dev/null`
	expire := `while [ "$(` + check + `)" = on ]; do sleep ` + holdSeconds + `; done`
	wait := `if-shell -F '#{@` + optionHold + `}' { set-option -p -F @` + optionHeld + ` '#{@` + optionHold + `}' ; run-shell -b -d ` + holdSeconds + ` ` + quote(expire) +
		` ; run-shell -C 'wait-for -L #{@` + optionHold + `} ; wait-for -U #{@` + optionHold + `}' } ; `
	bind := "bind-key -T " + keyTable + " "
	mouse := "'#{||:#{pane_in_mode},#{mouse_any_flag}}' { send-keys -M } "
	return []string{
		`%if "#{>=:#{version},3.3}"`,
		bind + `Any { ` + wait + `if-shell -F '#{!=:#{mouse_x},}' { send-keys -M } { send-keys } }`,
		bind + `'C-\' { detach-client }`,
		bind + `MouseDown1Pane { select-pane -t = ; send-keys -M }`,
		bind + `MouseDrag1Pane { if-shell -F ` + mouse + `{ copy-mode -M } }`,
		bind + `WheelUpPane { if-shell -F ` + mouse + `{ copy-mode -e } }`,
		"bind-key -T prefix C-b { " + wait + "send-prefix }",
		"bind-key -T prefix ] { " + wait + "paste-buffer -p }",
		"set -g key-table " + keyTable,
		"%endif",
	}
}

// quote returns the text in double quotes for the configuration. It does not escape formats, which tmux expands later.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(text) + `"`
}
