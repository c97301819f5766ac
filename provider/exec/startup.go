package exec

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

const (
	dialogLimit = 8 * time.Second // for dialogs, where no prompt is known
	screenRows  = 50              // of a screen that is only known by its last lines
	maxKeys     = 64              // of one start
)

// waitForPrompt looks at the screen until a line begins with the prompt and no dialog is up, and
// answers the known dialogs: one key for each state that stands still, and never the
// same one again. That the prompt does not come, or that the script cannot show the
// screen, is no failure if the agent lives.
func (p *Provider) waitForPrompt(ctx context.Context, name string, rules screen.Rules, limit time.Duration) error {
	until := time.Now().Add(limit)
	last, pressed, keys := "", "", 0
	for wait := minPollInterval; time.Now().Before(until); wait = min(2*wait, maxPollInterval) {
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
			pressed, wait = text, minPollInterval
			keys++
			if err := p.answer(name, d); err != nil {
				return err
			}
		}
		last = text
		if wait >= maxPollInterval {
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

// answer presses the next key of a dialog. One whose layout is not as it is known gets
// none: a person has to look.
func (p *Provider) answer(name string, d *screen.Dialog) error {
	key, _, err := d.NextKey()
	if err != nil {
		p.cfg.Logger.Warn("a dialog is up that a person has to answer", "session", name, "dialog", d.Kind, "why", err)
		return nil
	}
	if err := p.SendKeys(name, key); err != nil {
		return fmt.Errorf("a dialog is up (%s) and cannot be answered: %w", d.Kind, err)
	}
	return nil
}

// dialogIn returns the dialog on the screen whose last lines text is.
func dialogIn(text string, rules screen.Rules) *screen.Dialog {
	if text == "" {
		return nil
	}
	rows := screenOf(text)
	f := screen.Frame{Seq: 1, Rows: rows}
	f.Cursor.Y = len(rows) - 1
	return screen.NewSnapshot(f).Dialog(rules)
}

// screenOf returns the rows of the screen whose last lines text is.
func screenOf(text string) []string {
	rows := strings.Split(text, "\n")
	return rows[max(0, len(rows)-screenRows):]
}

// The notes by which the rules of a session's program are found again.
const (
	metaProgram = "GC_PROVIDER"
	metaOverlay = "GC_PROVIDER_OVERLAY"
	metaReady   = "GC_READY_PREFIX"
)

// programs remembers what runs in the sessions. The zero value is useful.
type programs struct {
	mu    sync.Mutex
	known map[string]runtime.Config
}

func (m *programs) get(name string) (runtime.Config, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cfg, ok := m.known[name]
	return cfg, ok
}

func (m *programs) set(name string, cfg runtime.Config) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]runtime.Config{}
	}
	m.known[name] = runtime.Config{
		ProviderName: cfg.ProviderName, ProviderOverlayName: cfg.ProviderOverlayName, ReadyPromptPrefix: cfg.ReadyPromptPrefix,
	}
}

func (m *programs) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, name)
}

// rememberProgram keeps what program a session runs, for prompts that come later.
func (p *Provider) rememberProgram(ctx context.Context, name string, cfg runtime.Config) error {
	p.programs.set(name, cfg)
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

// program returns what is known of the program in a session.
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

// promptUnder reports whether the input box stands under what looks like a menu: then
// that is a list in the conversation.
func promptUnder(rows []string, d *screen.Dialog, prefix string) bool {
	if prefix == "" || len(d.Options) == 0 {
		return false
	}
	return promptIn(strings.Join(rows[d.Options[len(d.Options)-1].Row+1:], "\n"), prefix)
}
