package agentcli

import (
	"errors"
	"fmt"
	"strings"

	"gascity/internal/textfmt"
)

// Validate returns all mistakes in the profile as one error; nil if there are none.
func (p Profile) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.Name == "" || p.Family == "" {
		wrong("name and family must be set")
	}
	switch p.PromptMode {
	case "", PromptArg, PromptNone, PromptWorker:
	case PromptFlag:
		if p.PromptFlag == "" {
			wrong("prompt_mode flag needs prompt_flag")
		}
	default:
		wrong("prompt_mode %q is not one of arg, flag, none, worker", p.PromptMode)
	}
	switch p.ResumeStyle {
	case "":
	case ResumeByFlag, ResumeBySubcommand:
		if p.ResumeFlag == "" {
			wrong("resume_style %s needs resume_flag", p.ResumeStyle)
		}
	default:
		wrong("resume_style %q is not one of flag, subcommand", p.ResumeStyle)
	}
	if p.ReadyDelayMs < 0 {
		wrong("ready_delay_ms must not be negative")
	}
	if _, ok := p.PermissionModes[p.PermissionMode]; !ok && p.PermissionMode != "" {
		wrong("permission_mode %q is not among permission_modes%s", p.PermissionMode, hint(p.PermissionMode, sortedKeys(p.PermissionModes)))
	}
	if _, ok := p.PermissionModes[p.AskingMode]; !ok && p.AskingMode != "" {
		wrong("asking_mode %q is not among permission_modes%s", p.AskingMode, hint(p.AskingMode, sortedKeys(p.PermissionModes)))
	}
	for key := range p.UpstreamEnv {
		if known := []string{UpstreamBaseURL, UpstreamAPIKey, UpstreamAuthToken}; textfmt.Nearest(key, known) != key {
			wrong("upstream_env has the unknown key %q%s", key, hint(key, known))
		}
	}
	errs = append(errs, p.Screen.validate(), p.validateDialogs())
	return errors.Join(errs...)
}

// validate returns the first mistake in the description of the screen; nil if there is none.
func (s Screen) validate() error {
	switch s.InputBox.Frame {
	case "", FrameRules, FrameBox, FrameLine:
	case FrameOpen:
		if len(s.InputBox.Marks) == 0 {
			return errors.New("screen.composer: frame = \"open\" needs marks")
		}
	default:
		return fmt.Errorf("screen.composer.frame %q is not one of rules, box, open, line", s.InputBox.Frame)
	}
	switch s.EnterWhileBusy {
	case "", BusyQueues, BusyMerges, BusySteers, BusyIgnores:
	default:
		return fmt.Errorf("screen.enter_while_busy %q is not one of queue, merge, steer, ignored", s.EnterWhileBusy)
	}
	for i, rule := range s.Settle {
		if rule.DelayMs < 0 || rule.QuietMs < 0 || i > 0 && rule.MinBytes <= s.Settle[i-1].MinBytes {
			return errors.New("screen.settle: entries must have rising min_bytes and no negative time")
		}
	}
	return s.Input.validate()
}

// validateDialogs returns all mistakes in the rules for dialogs as one error; nil if there are
// none.
func (p Profile) validateDialogs() error {
	var errs []error
	seen := map[string]bool{}
	for _, d := range p.Dialogs {
		switch {
		case d.ID == "" || seen[d.ID]:
			errs = append(errs, fmt.Errorf("dialog id %q is empty or used twice", d.ID))
		case d.Kind == "" || len(d.Match) == 0:
			errs = append(errs, fmt.Errorf("dialog %s: kind and match must be set", d.ID))
		case len(d.Want) > 0 && len(d.Glyphs) == 0 && !d.IsForm():
			errs = append(errs, fmt.Errorf("dialog %s: the key \"want\" needs the key \"glyphs\": without it gc cannot recognize the highlighted row", d.ID))
		}
		for _, text := range d.Match {
			if strings.TrimSpace(text) == "" {
				errs = append(errs, fmt.Errorf("dialog %s: match contains an empty text, which is on every screen", d.ID))
			}
		}
		seen[d.ID] = true
	}
	return errors.Join(errs...)
}
