package exec

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gascity/internal/retry"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

const (
	dialogLimit = 8 * time.Second // limit for waiting for dialogs if no ready prompt is configured
	screenRows  = 50              // rows of a screen that is read with peek
	maxKeys     = 64              // maximum number of keys in one start
)

// waitForPrompt reads the screen until a line begins with the prompt and no dialog is open. It
// answers known dialogs with one key for each state of the screen that does not change, and never
// twice in the same state. It returns nil if the prompt does not appear in time or the script
// cannot show the screen, as long as the agent runs.
func (p *Provider) waitForPrompt(ctx context.Context, name string, rules screen.Rules, limit time.Duration) error {
	until := time.Now().Add(limit)
	last, pressed, keys := "", "", 0
	for delay := retry.New(minPollInterval, maxPollInterval); time.Now().Before(until); {
		text, err := p.peek(ctx, name, readyLines)
		d := dialogIn(text, rules)
		switch {
		case isMissing(err):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
		case d == nil && promptIn(text, rules.ReadyPrefix):
			return nil
		case d != nil && rules.AnswerDialogs && text == last && text != pressed && keys < maxKeys:
			pressed = text
			delay.Reset()
			keys++
			if err := p.answer(name, d); err != nil {
				return err
			}
		}
		last = text
		wait := delay.Next()
		if wait > maxPollInterval/2 {
			if err := p.checkAlive(ctx, name); err != nil {
				return err
			}
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

// answer sends the next key of a dialog. It sends no key if the layout of the dialog is not the
// known one, because a person must answer it then.
func (p *Provider) answer(name string, d *screen.Dialog) error {
	key, _, err := d.NextKey()
	if err != nil {
		p.cfg.Logger.Warn("a person must answer an open dialog", "session", name, "dialog", d.Kind, "why", err)
		return nil
	}
	if err := p.SendKeys(name, key); err != nil {
		return fmt.Errorf("cannot answer the dialog %s: %w", d.Kind, err)
	}
	return nil
}

// dialogIn returns the dialog in text, the last lines of a screen, or nil.
func dialogIn(text string, rules screen.Rules) *screen.Dialog {
	if text == "" {
		return nil
	}
	return screen.NewSnapshot(frameOfText(text)).Dialog(rules)
}

// frameOfText returns a screen whose last lines are text. Its cursor is in the last line.
func frameOfText(text string) screen.Frame {
	rows := strings.Split(text, "\n")
	rows = rows[max(0, len(rows)-screenRows):]
	return screen.Frame{Seq: 1, Rows: rows, Cursor: vt.Cursor{Y: len(rows) - 1}}
}

// The metadata keys from which the rules for a session's agent CLI are found.
const (
	metaProgram = "GC_PROVIDER"
	metaOverlay = "GC_PROVIDER_OVERLAY"
	metaReady   = "GC_READY_PREFIX"
)

// rememberProgram saves which agent CLI a session runs, for later prompts.
func (p *Provider) rememberProgram(ctx context.Context, name string, cfg runtime.Config) error {
	p.programs.set(name, runtime.Config{
		ProviderName: cfg.ProviderName, ProviderOverlayName: cfg.ProviderOverlayName, ReadyPromptPrefix: cfg.ReadyPromptPrefix,
	})
	for key, value := range map[string]string{
		metaProgram: cfg.ProviderName, metaOverlay: cfg.ProviderOverlayName, metaReady: cfg.ReadyPromptPrefix,
	} {
		if value == "" {
			continue
		}
		if err := p.setMeta(ctx, name, key, value); err != nil {
			return err
		}
	}
	return nil
}

// program returns the saved configuration of a session's agent CLI.
func (p *Provider) program(ctx context.Context, name string) (runtime.Config, error) {
	cfg, ok := p.programs.get(name)
	if ok {
		return cfg, nil
	}
	for key, value := range map[string]*string{
		metaProgram: &cfg.ProviderName, metaOverlay: &cfg.ProviderOverlayName, metaReady: &cfg.ReadyPromptPrefix,
	} {
		var err error
		if *value, err = p.getMeta(ctx, name, key); err != nil {
			return cfg, err
		}
	}
	p.programs.set(name, cfg)
	return cfg, nil
}

// promptUnder reports whether the input box is below a menu. Then the text is a list in the
// conversation and not a menu.
func promptUnder(rows []string, d *screen.Dialog, prefix string) bool {
	if prefix == "" || len(d.Options) == 0 {
		return false
	}
	return promptIn(strings.Join(rows[d.Options[len(d.Options)-1].Row+1:], "\n"), prefix)
}
