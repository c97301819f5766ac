package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/internal/driver/script"
	"gascity/internal/retry"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

const (
	readyLines       = 120              // lines of the screen that are searched for the prompt
	readyLimit       = 60 * time.Second // limit for the prompt to appear
	minPollInterval  = 50 * time.Millisecond
	maxPollInterval  = 500 * time.Millisecond
	deathLines       = 80 // lines of output in the error of a start
	maxQueryAttempts = 3  // attempts to observe a session during the start
)

// awaitReady waits until the agent shows its prompt, or for the configured delay, and checks that
// the agent runs. It answers known dialogs while it waits, if the configuration allows that.
func (p *Provider) awaitReady(ctx context.Context, name string, cfg runtime.Config) error {
	if err := p.checkAlive(ctx, name); err != nil {
		return err
	}
	rules := screen.RulesFor(cfg, p.cfg.Profiles)
	dialogs := rules.AnswerDialogs && len(rules.Dialogs) > 0
	delay := time.Duration(cfg.ReadyDelayMs) * time.Millisecond
	var err error
	switch {
	case cfg.ReadyPromptPrefix != "":
		err = p.waitForPrompt(ctx, name, rules, readyLimit+delay)
	case dialogs:
		err = p.waitForPrompt(ctx, name, rules, max(delay, dialogLimit))
	case delay > 0:
		err = pause(ctx, min(delay, readyLimit))
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return p.checkAlive(ctx, name)
}

// promptIn reports whether a line of text begins with the prefix. A no-break space counts as a
// space. A line may also be the prefix without its trailing spaces.
func promptIn(text, prefix string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }
	prefix = plain(prefix)
	for line := range strings.SplitSeq(plain(text), "\n") {
		if strings.HasPrefix(line, prefix) || strings.TrimSpace(line) == strings.TrimSpace(prefix) {
			return true
		}
	}
	return false
}

// checkAlive returns a [*runtime.StartupDeath] if the session does not run. It returns another
// error if that stays unknown.
func (p *Provider) checkAlive(ctx context.Context, name string) error {
	var obs runtime.Observation
	var err error
	for range maxQueryAttempts {
		obs, err = p.query(ctx, name)
		if err == nil || isMissing(err) || ctx.Err() != nil {
			break
		}
		if err := pause(ctx, maxPollInterval); err != nil {
			return err
		}
	}
	switch {
	case isMissing(err):
		p.cfg.Logger.Warn("the script does not have the operation is-running, so gc cannot check that the agent has started", "script", p.cfg.Script, "session", name)
		return nil
	case err != nil:
		return fmt.Errorf("cannot check that the agent runs: %w", err)
	case running(obs) != runtime.Dead:
		return nil
	}
	death := &runtime.StartupDeath{Exit: runtime.Exit{Code: -1, At: time.Now(), Reason: "the script says that the session does not run"}}
	if obs.Exit != nil {
		death.Exit = *obs.Exit
	}
	if text, err := p.peek(ctx, name, deathLines); err == nil {
		death.Output = text
	}
	return death
}

// pause waits for d. It returns an error if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if !retry.Sleep(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

// Peek implements runtime.Output.
func (p *Provider) Peek(name string, lines int) (string, error) {
	ctx, cancel := p.bounded()
	defer cancel()
	if runtime.ValidateName(name) != nil {
		return "", &runtime.Error{Op: "peek at", Session: name, Err: runtime.ErrSessionNotFound}
	}
	text, err := p.peek(ctx, name, lines)
	if err != nil || text != "" {
		return text, err
	}
	return "", p.checkExists(ctx, "peek at", name)
}

// peek reads the last lines of the screen. It allows one call at a time for each session, because
// the backend may have only one connection. 0 lines means all.
func (p *Provider) peek(ctx context.Context, name string, lines int) (string, error) {
	release, err := p.screenLocks.acquire(ctx, name)
	if err != nil {
		return "", &runtime.Error{Op: "peek at", Session: name, Err: err}
	}
	defer release()
	lines = max(lines, 0)
	text, err := p.lines(ctx, name, lines)
	if err == nil && text == "" && lines == 0 {
		text, err = p.lines(ctx, name, allLines) // the script may read 0 as no lines
	}
	return text, err
}

// allLines is more than any scrollback has.
const allLines = 1 << 20

// lines returns the last lines of a session's output as plain text, from the tmux session in the sandbox if there is
// one, else from the operation peek.
func (p *Provider) lines(ctx context.Context, name string, lines int) (string, error) {
	out, done, err := p.runTmux(ctx, name, "peek at", tmuxPeek(lines))
	if !done {
		var r reply
		r, err = p.call(ctx, request{op: script.OpPeek, name: name, args: []string{fmt.Sprint(lines)}, verb: "peek at"})
		out = r.out
	}
	if err != nil {
		return "", err
	}
	text := string(out)
	if done {
		text = plainText(text)
	}
	return lastLines(text, lines), nil
}

// lastLines returns the last n lines without trailing spaces and without blank lines at the end. It
// returns all lines if n is 0.
func lastLines(text string, n int) string {
	all := strings.Split(strings.ToValidUTF8(text, "\ufffd"), "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " \t\r")
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if n > 0 && len(all) > n {
		all = all[len(all)-n:]
	}
	return strings.Join(all, "\n")
}

// ClearScrollback implements runtime.Output.
func (p *Provider) ClearScrollback(name string) error {
	if runtime.ValidateName(name) != nil {
		return nil
	}
	ctx, cancel := p.bounded()
	defer cancel()
	return p.control(ctx, request{op: script.OpClearScrollback, name: name, verb: "clear"}, tmuxClear)
}

// SendKeys implements runtime.Input. The script decides which names of keys exist.
func (p *Provider) SendKeys(name string, keys ...string) error {
	if len(keys) == 0 || runtime.ValidateName(name) != nil {
		return nil
	}
	ctx, cancel := p.bounded()
	defer cancel()
	err := p.control(ctx, request{op: script.OpSendKeys, name: name, args: keys, verb: "send keys to"}, tmuxKeys(keys))
	if isMissing(err) && errors.Is(p.checkExists(ctx, "send keys to", name), runtime.ErrSessionNotFound) {
		return nil
	}
	return err
}
