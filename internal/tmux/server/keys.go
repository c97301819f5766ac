package server

import (
	"strings"

	"gascity/internal/tmux/control"
)

// KeyTable is the key table of people who are attached. In it each key that goes to a
// program waits for as long as the pane's [OptionHold] names a lock, and then goes, before
// all that was typed after it: a client's keys are taken one after the other. The prefix
// key and what follows it are tmux's own and wait for nothing.
//
// A key waits for [HoldSeconds], and for as long as who holds the lock says so by [HeartbeatVariable] at
// least as often. So a process that dies delays typing for no more than twice that: the
// first key has the server look, and open the lock.
const KeyTable = "gc"

// The options of a pane for which keys are kept back.
const (
	OptionHold = "gc_hold" // the lock (wait-for -L) that keys wait for; unset if there is none
	OptionHeld = "gc_held" // the last lock that a key has waited for
)

// HeartbeatVariable is the hidden variable of a session that names the lock whose holder lived when it was
// set; who looks unsets it. Setting an option would have the screens of all clients drawn again.
const HeartbeatVariable = "gc_beat"

// HoldSeconds is how long a key waits, and how often the server looks from then on whether
// the holder lives.
const HoldSeconds = "2"

// keys returns the lines of the configuration that make the key table. Before 3.3 a key cannot
// be sent on as it is: there are none.
func (s *Server) keys() []string {
	binary, err := control.FindProgram(s.cfg.Binary, Value(s.cfg.Environ, "PATH"))
	if err != nil {
		return nil // who would open the lock
	}
	look := shellQuote(binary) + ` -S ` + shellQuote(s.socket) + ` if-shell -F -t '#{pane_id}' '##{==:##{` + HeartbeatVariable + `},#{@` + OptionHold + `}}'` +
		` 'set-environment -u -t #{session_id} ` + HeartbeatVariable + ` ; display-message -p on'` +
		` 'wait-for -U #{@` + OptionHold + `} ; set-option -p -q -u -t #{pane_id} @` + OptionHold + `' 2>/dev/null`
	expire := `while [ "$(` + look + `)" = on ]; do sleep ` + HoldSeconds + `; done`
	wait := `if-shell -F '#{@` + OptionHold + `}' { set-option -p -F @` + OptionHeld + ` '#{@` + OptionHold + `}' ; run-shell -b -d ` + HoldSeconds + ` ` + quote(expire) +
		` ; run-shell -C 'wait-for -L #{@` + OptionHold + `} ; wait-for -U #{@` + OptionHold + `}' } ; `
	bind := "bind-key -T " + KeyTable + " "
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
		"set -g key-table " + KeyTable,
		"%endif",
	}
}

// shellQuote makes a word of a shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// quote makes a word of the configuration of text in which formats are expanded later.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(text) + `"`
}
