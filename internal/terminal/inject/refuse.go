package inject

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// refused returns the outcome of a prompt without a byte sent.
func refused(reason runtime.RefusalReason, format string, args ...any) *runtime.Outcome {
	return &runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// encode returns the bytes of a paste, or the refusal of a text that cannot
// arrive unchanged.
func encode(v screen.Snapshot, text string) ([]byte, *runtime.Outcome) {
	if !utf8.ValidString(text) {
		return nil, refused(runtime.RefusedContent, "%v", vt.ErrNotText)
	}
	if strings.IndexFunc(text, visible) < 0 {
		return nil, refused(runtime.RefusedContent, "nothing of it would show on a screen, so its arrival could not be verified")
	}
	if !v.Modes.BracketedPaste {
		if no := checkLine(v, text); no != nil {
			return nil, no
		}
	}
	p, err := vt.Paste(text, v.Modes)
	if err != nil {
		return nil, refused(runtime.RefusedContent, "%v", err)
	}
	return p, nil
}

// visible reports whether a character leaves a mark of its own on a screen. A text
// without any would stay in the input box unseen, and the next one be glued to it.
func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}

// checkLine refuses what a program without bracketed paste would take for
// several inputs, for keys, or not as a whole.
func checkLine(v screen.Snapshot, text string) *runtime.Outcome {
	if strings.ContainsAny(text, "\r\n") {
		return refused(runtime.RefusedContent, "the program takes a single line: it did not ask for bracketed paste")
	}
	if strings.Contains(text, "\t") && v.Line != screen.LineCooked {
		return refused(runtime.RefusedContent, "a tab would act as a key: the program did not ask for bracketed paste")
	}
	if len(text) > screen.MaxCookedLine && v.Line != screen.LineRaw {
		return refused(runtime.RefusedContent, "the line has %d bytes; the terminal carries at most %d", len(text), screen.MaxCookedLine)
	}
	return nil
}

// refuse returns why a prompt cannot be delivered onto this screen; nil if it can. answers:
// it is the answer that the program says it waits for.
func refuse(v screen.Snapshot, rules screen.Rules, answers bool, now time.Time) *runtime.Outcome {
	if isHumanActive(v, rules, now) {
		return refused(runtime.RefusedTyping, "a person typed %s ago", now.Sub(v.LastHuman).Round(time.Millisecond))
	}
	if d := v.Dialog(rules); d != nil {
		return refused(runtime.RefusedDialog, "%s: %s", d.Kind, d.Why)
	}
	if v.Program().State == "blocked" && !answers && !v.NeedsLogin(rules) {
		return refused(runtime.RefusedDialog, "the program says that it waits for an answer")
	}
	if v.Unready(rules) {
		return refused(runtime.RefusedUnready, "the input box is not on the screen")
	}
	s := rules.Screen
	c := v.InputBox(s.InputBox)
	switch busy := v.Busy(s, c); {
	case s.EnterWhileBusy == agentcli.BusyIgnores && busy != "":
		return refused(runtime.RefusedBusy, "the program accepts no input during a turn")
	case s.EnterWhileBusy == agentcli.BusyMerges && busy != "":
		return refused(runtime.RefusedBusy, "the program would make one prompt of all that it gets during a turn (%s)", busy)
	case s.EnterWhileBusy == agentcli.BusyMerges && v.TitleUnknown(s):
		return refused(runtime.RefusedBusy, "the title %q does not say whether a turn is in progress", v.Title)
	}
	if c.Above && len(s.InputBox.Marks) > 0 {
		return refused(runtime.RefusedDraft, "the cursor is not in the row of the prompt: what is between may be a draft")
	}
	if c.Found && !c.Above && strings.TrimSpace(c.Content) != "" {
		return refused(runtime.RefusedDraft, "the input box holds %d characters", utf8.RuneCountInString(c.Content))
	}
	return nil
}

const (
	// repaintTime is how old output must be for a screen to be whole.
	repaintTime = 20 * time.Millisecond
	// refusalStableFor is how long a reason to refuse must hold: a screen that is
	// being painted may lack its input box.
	refusalStableFor = 100 * time.Millisecond
	// maxRefusal bounds the wait for it on a screen that never rests.
	maxRefusal = time.Second
)

// refuseFirmly is refuse for a screen that may be in motion: the answer
// must hold for a moment.
func refuseFirmly(ctx context.Context, w *screen.Watcher, p Prompt, rules screen.Rules) (*runtime.Outcome, error) {
	for end := time.Now().Add(maxRefusal); ; {
		no := refuse(w.Snapshot, rules, p.Answer, time.Now())
		wait := repaintTime - time.Since(w.Snapshot.LastOutput)
		if no != nil {
			wait = refusalStableFor
		}
		changed, err := w.Next(ctx, min(wait, time.Until(end)))
		if err != nil || !changed {
			return no, err
		}
	}
}

// errHeld reports that the text is in the terminal but Enter must not follow.
var errHeld = errors.New("the text was sent, Enter was not")
