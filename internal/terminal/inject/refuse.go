package inject

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// refused returns the outcome of a prompt that was refused before anything was sent.
func refused(reason runtime.RefusalReason, format string, args ...any) *runtime.Outcome {
	return &runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// encode returns the bytes that paste the text, or a refusal if the text could not arrive unchanged.
func encode(v screen.Snapshot, text string) ([]byte, *runtime.Outcome) {
	if !utf8.ValidString(text) {
		return nil, refused(runtime.RefusedContent, "%v", vt.ErrNotText)
	}
	if strings.IndexFunc(text, visible) < 0 {
		return nil, refused(runtime.RefusedContent, "the text has no visible character, so gc could not verify its arrival")
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

// visible reports whether a character is visible on a screen. A text without visible characters could stay in the input box
// unnoticed and be joined with the next prompt.
func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}

// checkLine returns a refusal for a text that a program without bracketed paste would not get as one input: it has several
// lines, a tab that acts as a key, or too many bytes. It returns nil for other texts.
func checkLine(v screen.Snapshot, text string) *runtime.Outcome {
	if strings.ContainsAny(text, "\r\n") {
		return refused(runtime.RefusedContent, "the program accepts a single line only: it did not turn on bracketed paste")
	}
	if strings.Contains(text, "\t") && v.Line != screen.LineCooked {
		return refused(runtime.RefusedContent, "a tab would act as a key: the program did not turn on bracketed paste")
	}
	if len(text) > screen.MaxCookedLine && v.Line != screen.LineRaw {
		return refused(runtime.RefusedContent, "the line has %d bytes; the terminal accepts at most %d", len(text), screen.MaxCookedLine)
	}
	return nil
}

// refuse returns the refusal of a prompt that cannot be delivered while the program shows this screen; nil if it can.
// answers means that the prompt is the answer for which the program waits.
func refuse(v screen.Snapshot, rules screen.Rules, answers bool, now time.Time) *runtime.Outcome {
	if isHumanActive(v, rules, now) {
		return refused(runtime.RefusedTyping, "a person typed %s ago", max(0, now.Sub(v.LastHuman)).Round(time.Millisecond))
	}
	if d := v.Dialog(rules); d != nil {
		return refused(runtime.RefusedDialog, "%s: %s", d.Kind, d.Why)
	}
	if v.Program().State == "blocked" && !answers && !v.NeedsLogin(rules) {
		return refused(runtime.RefusedDialog, "the program reports that it waits for an answer")
	}
	reason, detail := v.InputRefusal(rules)
	if asks := v.LineQuestion(rules); asks != "" && !answers && len(rules.Screen.InputBox.Marks) > 0 && (reason == "" || reason == runtime.RefusedDraft) {
		return refused(runtime.RefusedDialog, "%s%s", screen.SeemsToAsk, asks)
	}
	if reason != "" {
		return refused(reason, "%s", detail)
	}
	return nil
}

const (
	// repaintTime is the time since the last output after which a screen counts as completely drawn.
	repaintTime = 20 * time.Millisecond
	// refusalStableFor is the time that a refusal must remain valid. While a program draws, its input box may be missing
	// for a moment.
	refusalStableFor = 100 * time.Millisecond
	// maxRefusal limits this wait for a screen that always changes.
	maxRefusal = time.Second
)

// refuseStable calls refuse until the screen has not changed for repaintTime, or for refusalStableFor if there is a refusal.
// It returns the last result.
func refuseStable(ctx context.Context, w *screen.Watcher, p Prompt, rules screen.Rules) (*runtime.Outcome, error) {
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

// errHeld reports that the text was sent and Enter must not be pressed.
var errHeld = errors.New("the text was typed, but Enter was not pressed")
