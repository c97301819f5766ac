package exec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

// The tmux carrier drives an agent that a script runs in the tmux session "main" of
// its box, by command lines over the operation exec. Where the box is this very
// machine, a session "main" may be a person's own: it is touched only if its
// environment says that it is the session that is meant.

// Exit codes of a carrier's command line.
const (
	exitNoSession = 97 // there is no such tmux session
	exitNotSent   = 98 // not a byte has reached the agent
)

// tmuxCheckAge is how long it holds what was found about a session.
const tmuxCheckAge = time.Minute

// tmuxSessions remembers which sessions are driven so. The zero value is useful.
type tmuxSessions struct {
	mu    sync.Mutex
	found map[string]tmuxCheck
}

type tmuxCheck struct {
	yes bool
	at  time.Time
}

func (c *tmuxSessions) get(name string) (tmuxCheck, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.found[name]
	return f, ok && time.Since(f.at) < tmuxCheckAge
}

func (c *tmuxSessions) set(name string, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[string]tmuxCheck{}
	}
	c.found[name] = tmuxCheck{yes, time.Now()}
}

func (c *tmuxSessions) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.found, name)
}

// usesTmux reports whether the session is driven by tmux commands in its box.
func (p *Provider) usesTmux(ctx context.Context, name string) bool {
	if !p.caps.Has(script.CapExec) || p.caps.Has(script.CapSequence) || p.caps.Has(script.CapDeliver) {
		return false
	}
	if f, ok := p.tmuxSessions.get(name); ok {
		return f.yes
	}
	out, code, err := p.line(ctx, name, tmuxProbe, "look for tmux in")
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return false // not remembered: it may answer the next time
	}
	yes := err == nil && code == 0 && parseTmuxProbe(string(out), name)
	p.tmuxSessions.set(name, yes)
	return yes
}

const tmuxHas = "tmux has-session -t =main 2>/dev/null || exit 97\n"

// tmuxProbe prints where it runs and whose session it is.
const tmuxProbe = "command -v tmux >/dev/null 2>&1 || exit 97\n" + tmuxHas +
	`printf '%s:%s\n' "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)" "$(readlink /proc/self/ns/mnt 2>/dev/null)"` + "\n" +
	"tmux show-environment -t =main GC_SESSION_NAME 2>/dev/null\nexit 0\n"

// parseTmuxProbe judges what the probe printed.
func parseTmuxProbe(out, name string) bool {
	place, owner, _ := strings.Cut(strings.TrimRight(out, "\n"), "\n")
	if owner == "GC_SESSION_NAME="+name {
		return true
	}
	boot, namespace, ok := strings.Cut(place, ":")
	if !ok || boot == "" || namespace == "" || strings.HasPrefix(owner, "GC_SESSION_NAME=") {
		return false // it may be this machine, or it is another session
	}
	return place != probePlace()
}

// probePlace returns the place of this process as the probe prints it.
func probePlace() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unreadable is empty
	namespace, _ := os.Readlink("/proc/self/ns/mnt")          // unreadable is empty
	return strings.TrimSpace(string(boot)) + ":" + namespace
}

// line runs a command line in the session's box.
func (p *Provider) line(ctx context.Context, name, line, verb string) (out []byte, code int, err error) {
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

// runTmux runs a tmux command in the box; done is false if the session is not driven
// so and the plain operation is to be used.
func (p *Provider) runTmux(ctx context.Context, name, verb, command string) (out []byte, done bool, err error) {
	if !p.usesTmux(ctx, name) {
		return nil, false, nil
	}
	out, code, err := p.line(ctx, name, tmuxHas+command+"\n", verb)
	switch {
	case err != nil:
		return nil, true, err
	case code == exitNoSession:
		p.tmuxSessions.remove(name)
		return nil, false, nil
	case code != 0:
		return nil, true, &runtime.Error{Op: verb, Session: name, Err: fmt.Errorf("tmux in its box: exit code %d: %.200s", code, strings.TrimSpace(string(out)))}
	}
	return out, true, nil
}

const (
	tmuxInterrupt = "tmux send-keys -t =main: C-c"
	tmuxClear     = "tmux clear-history -t =main:"
)

func tmuxPeek(lines int) string {
	if lines <= 0 {
		return "tmux capture-pane -p -t =main: -S -"
	}
	return fmt.Sprintf("tmux capture-pane -p -t =main: -S -%d", lines)
}

// tmuxKeys presses keys; a single character is itself.
func tmuxKeys(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteString(" && ")
		}
		b.WriteString("tmux send-keys -t =main: ")
		if utf8.RuneCountInString(key) == 1 {
			if key == ";" {
				key = `\;` // tmux takes a bare one for the end of its command
			}
			b.WriteString("-l ")
		}
		b.WriteString("-- " + quote(key))
	}
	return b.String()
}

// chunk is how much text goes into one command line.
const chunk = 32 << 10

// typeIn pastes a prompt and presses Enter. done is false if the session is not driven
// so.
func (p *Provider) typeIn(ctx context.Context, name, text string) (out runtime.Outcome, done bool, err error) {
	if !p.usesTmux(ctx, name) {
		return out, false, nil
	}
	lines := tmuxType(text, strings.ToLower(rand.Text()[:12]))
	for i, line := range lines {
		_, code, err := p.line(ctx, name, tmuxHas+line, "nudge")
		last := i == len(lines)-1
		switch {
		case err != nil && !last:
			return refused(runtime.RefusedUnready, "not a byte was typed: "+err.Error()), true, nil
		case err != nil:
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, true, err
		case code == exitNoSession:
			p.tmuxSessions.remove(name)
			return out, false, nil
		case code == exitNotSent, code != 0 && !last:
			return refused(runtime.RefusedUnready, "tmux in its box did not accept the text"), true, nil
		case code != 0:
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: fmt.Sprintf("pasted; tmux in its box failed to press Enter: exit code %d", code)}, true, nil
		}
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "typed by tmux in its box, which shows nothing of the agent"}, true, nil
}

// tmuxType returns the command lines that type a text: only the last one touches the
// agent. The text is in no argument of any program: printf is a part of the shell.
func tmuxType(text, id string) []string {
	buffer := "gc-" + id
	finish := fmt.Sprintf("tmux paste-buffer -p -r -d -b %s -t =main: || exit 98\nsleep 0.5\ntmux send-keys -t =main: Enter\n", buffer)
	if len(text) <= chunk {
		return []string{fmt.Sprintf("printf %%s %s | tmux load-buffer -b %s - || exit 98\n", quote(text), buffer) + finish}
	}
	file := `"${TMPDIR:-/tmp}/` + buffer + `"`
	var lines []string
	for text != "" {
		n := min(chunk, len(text))
		for n < len(text) && n > chunk-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		lines = append(lines, fmt.Sprintf("umask 077\nprintf %%s %s >> %s || { rm -f %s; exit 98; }\n", quote(text[:n]), file, file))
		text = text[n:]
	}
	return append(lines, fmt.Sprintf("tmux load-buffer -b %s %s || { rm -f %s; exit 98; }\nrm -f %s\n", buffer, file, file, file)+finish)
}

// quote makes one word of sh from any text without NUL.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
