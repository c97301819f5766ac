package exec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/driver/script"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// gc can control an agent that a script runs in the tmux session "main" of its sandbox (a container
// or another machine). It sends tmux command lines with the operation exec. If the sandbox is this
// machine, a session "main" may belong to a person. gc uses it only if its tmux environment has the
// name of the session.

// Exit codes of gc's tmux command lines.
const (
	exitNoSession = 97 // the tmux session does not exist
	exitNotSent   = 98 // no byte has reached the agent
)

// tmuxCheckAge is how long the result of a check for tmux is used.
const tmuxCheckAge = time.Minute

// tmuxCheck is the result of a check for tmux.
type tmuxCheck struct {
	yes bool
	at  time.Time
}

// usesTmux reports whether gc controls the session with tmux commands in its sandbox.
func (p *Provider) usesTmux(ctx context.Context, name string) bool {
	if !p.caps.Has(script.CapExec) || p.caps.Has(script.CapSequence) || p.caps.Has(script.CapDeliver) {
		return false
	}
	if f, ok := p.tmuxSessions.get(name); ok && time.Since(f.at) < tmuxCheckAge {
		return f.yes
	}
	out, code, err := p.runLine(ctx, name, tmuxProbe, "look for tmux in")
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return false // not stored: the next call may succeed
	}
	yes := err == nil && code == 0 && parseTmuxProbe(string(out), name)
	p.tmuxSessions.set(name, tmuxCheck{yes, time.Now()})
	return yes
}

const tmuxHas = "tmux has-session -t =main 2>/dev/null || exit 97\n"

// tmuxProbe prints where it runs and which session the tmux session main belongs to.
const tmuxProbe = "command -v tmux >/dev/null 2>&1 || exit 97\n" + tmuxHas +
	`printf '%s:%s\n' "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)" "$(readlink /proc/self/ns/mnt 2>/dev/null)"` + "\n" +
	"tmux show-environment -t =main GC_SESSION_NAME 2>/dev/null\nexit 0\n"

// parseTmuxProbe reports whether the output of tmuxProbe shows a session main that gc may use for
// the session.
func parseTmuxProbe(out, name string) bool {
	place, owner, _ := strings.Cut(strings.TrimRight(out, "\n"), "\n")
	if owner == "GC_SESSION_NAME="+name {
		return true
	}
	boot, namespace, ok := strings.Cut(place, ":")
	if !ok || boot == "" || namespace == "" || strings.HasPrefix(owner, "GC_SESSION_NAME=") {
		return false // this may be gc's own machine, or another session
	}
	return place != probePlace()
}

// probePlace returns the location of this process in the format of tmuxProbe.
func probePlace() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unreadable is empty
	namespace, _ := os.Readlink("/proc/self/ns/mnt")          // unreadable is empty
	return strings.TrimSpace(string(boot)) + ":" + namespace
}

// runLine runs a command line in the session's sandbox and returns its output and exit code.
func (p *Provider) runLine(ctx context.Context, name, line, verb string) (out []byte, code int, err error) {
	q := request{op: script.OpExec, name: name, stdin: []byte(line), verb: verb, plain: true}
	r, err := p.call(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	if r.code != 0 {
		if se := p.exitError(q.op, r.processResult); se.Code != script.ExitMissing && se.Err != nil {
			return nil, 0, p.failure(q, se)
		}
	}
	return r.out, r.code, nil
}

// runTmux runs a tmux command in the sandbox. done is false if gc does not control the session with
// tmux; then the caller must use the operation of the script.
func (p *Provider) runTmux(ctx context.Context, name, verb, command string) (out []byte, done bool, err error) {
	if !p.usesTmux(ctx, name) {
		return nil, false, nil
	}
	out, code, err := p.runLine(ctx, name, tmuxHas+command+"\n", verb)
	switch {
	case err != nil:
		return nil, true, err
	case code == exitNoSession:
		p.tmuxSessions.remove(name)
		return nil, false, nil
	case code != 0:
		return nil, true, &runtime.Error{Op: verb, Session: name, Err: fmt.Errorf("tmux in the sandbox: exit code %d: %.200s", code, strings.TrimSpace(string(out)))}
	}
	return out, true, nil
}

const (
	tmuxInterrupt = "tmux send-keys -t =main: C-c"
	tmuxClear     = "tmux clear-history -t =main:"
)

// tmuxPeek returns the command that prints the last lines with their attributes: without -e, line drawing is letters. [plainText]
// removes the attributes.
func tmuxPeek(lines int) string {
	if lines <= 0 {
		return "tmux capture-pane -p -e -t =main: -S -"
	}
	return fmt.Sprintf("tmux capture-pane -p -e -t =main: -S -%d", lines)
}

// plainText returns the text of the output of [tmuxPeek], with line drawing as Unicode characters.
func plainText(captured string) string {
	lines := strings.Split(captured, "\n")
	var rows vt.RowReader
	for i, line := range lines {
		lines[i] = rows.Text(line)
	}
	return strings.Join(lines, "\n")
}

// tmuxKeys returns the command that sends keys. A single character is sent literally.
func tmuxKeys(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteString(" && ")
		}
		b.WriteString("tmux send-keys -t =main: ")
		if utf8.RuneCountInString(key) == 1 {
			if key == ";" {
				key = `\;` // tmux reads a single ; as the end of its command
			}
			b.WriteString("-l ")
		}
		b.WriteString("-- " + textfmt.ShellWord(key))
	}
	return b.String()
}

// chunk is the maximum number of bytes of text in one command line.
const chunk = 32 << 10

// typeIn pastes a prompt and presses Enter. done is false if gc does not control the session with
// tmux.
func (p *Provider) typeIn(ctx context.Context, name, text string) (out runtime.Outcome, done bool, err error) {
	if !p.usesTmux(ctx, name) {
		return out, false, nil
	}
	lines := tmuxType(text, strings.ToLower(rand.Text()[:12]))
	for i, line := range lines {
		_, code, err := p.runLine(ctx, name, tmuxHas+line, "nudge")
		last := i == len(lines)-1
		switch {
		case err != nil && !last:
			return refused(runtime.RefusedUnready, "no byte was sent: "+err.Error()), true, nil
		case err != nil:
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, true, err
		case code == exitNoSession:
			p.tmuxSessions.remove(name)
			return out, false, nil
		case code == exitNotSent, code != 0 && !last:
			return refused(runtime.RefusedUnready, "tmux in the sandbox did not accept the text"), true, nil
		case code != 0:
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: fmt.Sprintf("pasted; tmux in the sandbox failed to press Enter: exit code %d", code)}, true, nil
		}
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "typed by tmux in the sandbox, which does not show whether the agent accepted it"}, true, nil
}

// tmuxType returns the command lines that type a text. Only the last one sends something to the
// agent. The text is not in an argument of any program, because printf is built into the shell.
func tmuxType(text, id string) []string {
	buffer := "gc-" + id
	finish := fmt.Sprintf("tmux paste-buffer -p -r -d -b %s -t =main: || exit 98\nsleep 0.5\ntmux send-keys -t =main: Enter\n", buffer)
	if len(text) <= chunk {
		return []string{fmt.Sprintf("printf %%s %s | tmux load-buffer -b %s - || exit 98\n", textfmt.ShellWord(text), buffer) + finish}
	}
	file := `"${TMPDIR:-/tmp}/` + buffer + `"`
	var lines []string
	for text != "" {
		n := min(chunk, len(text))
		for n < len(text) && n > chunk-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		lines = append(lines, fmt.Sprintf("umask 077\nprintf %%s %s >> %s || { rm -f %s; exit 98; }\n", textfmt.ShellWord(text[:n]), file, file))
		text = text[n:]
	}
	return append(lines, fmt.Sprintf("tmux load-buffer -b %s %s || { rm -f %s; exit 98; }\nrm -f %s\n", buffer, file, file, file)+finish)
}
