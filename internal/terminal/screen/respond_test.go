package screen_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/fakeagent/ledgertest"
	"gascity/test/terminal"
)

// ask makes the agent ask and returns the name of its question.
func ask(t *testing.T, a *terminal.Real, rules screen.Rules, prompt string) *runtime.PendingInteraction {
	t.Helper()
	a.Ready(t, rules)
	for _, keys := range []string{"\x1b[200~[[busy:200ms]] " + prompt + "\x1b[201~", "\r"} {
		if err := a.Send(t.Context(), []byte(keys)); err != nil {
			t.Fatal(err)
		}
	}
	return pending(t, a, rules)
}

func pending(t *testing.T, a *terminal.Real, rules screen.Rules) *runtime.PendingInteraction {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		f, err := screen.Whole(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		if p := screen.Sense(f, rules, time.Now()).Pending; p != nil {
			return p
		}
	}
	t.Fatal("nothing is pending")
	return nil
}

// choices returns what was recorded as chosen, waiting for n of them.
func choices(t *testing.T, a *terminal.Real, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	records, err := ledgertest.Wait(ctx, a.File, ledgertest.Has(ledger.Choice, n))
	if err != nil {
		t.Fatal(err)
	}
	var chosen []string
	for _, r := range ledger.Of(records, ledger.Choice) {
		chosen = append(chosen, r.Choice)
	}
	return chosen
}

func TestRespondChooses(t *testing.T) {
	const permit = "[[permit:Bash|rm -rf build]]"
	tests := map[string]struct {
		prompt string
		answer screen.Response
		want   string
	}{
		"by label":           {"[[ask:Which?|Alpha|Beta|Gamma]]", screen.Response{Action: "choose", Text: "Gamma"}, "Gamma"},
		"the first":          {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "choose", Text: "Alpha"}, "Alpha"},
		"by number":          {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "choose", Text: "2"}, "Beta"},
		"a number as label":  {"[[ask:How many?|2|1]]", screen.Response{Action: "choose", Text: "1"}, "1"},
		"other letter case":  {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "choose", Text: "beta"}, "Beta"},
		"approve":            {permit, screen.Response{Action: "approve"}, "Yes"},
		"deny":               {permit, screen.Response{Action: "deny"}, "No"},
		"approve, reordered": {"[[permit:Bash|x|Yes, and always allow x in this project|No|Yes]]", screen.Response{Action: "approve"}, "Yes"},
		"approve, unknown":   {"[[ask:Sure?|No|Yes]]", screen.Response{Action: "approve"}, "Yes"},
		"deny, unknown":      {"[[ask:Sure?|Yes|No]]", screen.Response{Action: "deny"}, "No"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := terminal.RealRules(t, "claude")
			a := terminal.NewReal(t)
			test.answer.Request = ask(t, a, rules, test.prompt).RequestID
			err := screen.Respond(t.Context(), a, rules, test.answer)
			for errors.Is(err, runtime.ErrInteractionGone) { // it was still being drawn: another one, by its options
				test.answer.Request = pending(t, a, rules).RequestID
				err = screen.Respond(t.Context(), a, rules, test.answer)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := choices(t, a, 1); len(got) != 1 || got[0] != test.want {
				t.Errorf("chose %q, want %q", got, test.want)
			}
			if err := screen.Respond(t.Context(), a, rules, test.answer); !errors.Is(err, runtime.ErrInteractionGone) {
				t.Errorf("a second answer is %v, want ErrInteractionGone", err)
			}
		})
	}
}

// TestRespondRefuses: what cannot be answered so gets not a key.
func TestRespondRefuses(t *testing.T) {
	tests := map[string]struct {
		prompt string
		answer screen.Response
		want   error
	}{
		"another question":   {"[[ask:Which?|Alpha|Beta]]", screen.Response{Request: "other", Action: "choose", Text: "Alpha"}, runtime.ErrInteractionGone},
		"no such option":     {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "choose", Text: "Delta"}, errors.ErrUnsupported},
		"a number too high":  {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "choose", Text: "3"}, errors.ErrUnsupported},
		"twice the label":    {"[[ask:Which?|Alpha|Alpha]]", screen.Response{Action: "choose", Text: "Alpha"}, errors.ErrUnsupported},
		"grants for ever":    {"[[permit:Bash|x|Yes, and always allow x in this project|No]]", screen.Response{Action: "approve"}, errors.ErrUnsupported},
		"approve what":       {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "approve"}, errors.ErrUnsupported},
		"no cancel is known": {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "cancel"}, errors.ErrUnsupported},
		"unknown action":     {"[[ask:Which?|Alpha|Beta]]", screen.Response{Action: "shrug"}, errors.ErrUnsupported},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := terminal.RealRules(t, "claude")
			a := terminal.NewReal(t)
			asked := ask(t, a, rules, test.prompt).RequestID
			if test.answer.Request == "" {
				test.answer.Request = asked
			}
			before := len(a.Input())
			if err := screen.Respond(t.Context(), a, rules, test.answer); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if sent := a.Input()[before:]; sent != "" {
				t.Errorf("it got %q", sent)
			}
			if got := pending(t, a, rules).RequestID; got != asked {
				t.Errorf("now %q is pending, want %q", got, asked)
			}
		})
	}
}

func TestRespondCancels(t *testing.T) {
	rules := terminal.RealRules(t, "claude")
	a := terminal.NewReal(t)
	asked := ask(t, a, rules, "[[permit:Bash|x]]").RequestID
	if err := screen.Respond(t.Context(), a, rules, screen.Response{Request: asked, Action: runtime.ActionCancel}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := ledgertest.Wait(ctx, a.File, ledgertest.Has(ledger.Interrupted, 1)); err != nil {
		t.Error(err)
	}
}

// TestRespondToWhatGoesAway: a question that ends by itself gets no confirming key that
// could hit what comes after it.
func TestRespondToWhatGoesAway(t *testing.T) {
	rules := terminal.RealRules(t, "claude")
	a := terminal.NewReal(t)
	asked := ask(t, a, rules, "[[askfor:3s|Which?|Alpha|Beta]][[busy:100ms]]").RequestID
	choices(t, a, 1)
	err := screen.Respond(t.Context(), a, rules, screen.Response{Request: asked, Action: "choose", Text: "Beta"})
	if !errors.Is(err, runtime.ErrInteractionGone) {
		t.Errorf("%v, want ErrInteractionGone", err)
	}
}

// TestRespondToWhatIsHalfDrawn: a program that draws its screen part after part has not taken
// its question back, neither before a key nor behind one.
func TestRespondToWhatIsHalfDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDialogs([]string{bypassWords}, []string{"Yes, I accept", "Maybe", "No, exit"})
		rules := terminal.Rules(t, "claude")
		f, err := p.t.Frame(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		asked := screen.Sense(f, rules, time.Now()).Pending
		half := func() { p.t.Print("\x1b[H\x1b[2J" + bypassWords + "\r\n") }
		p.t.Program = func(in []byte) {
			time.AfterFunc(20*time.Millisecond, half)
			p.handleKeys(in) // it is whole 20 ms later
		}
		half()
		time.AfterFunc(100*time.Millisecond, p.draw)
		if err := screen.Respond(t.Context(), p.t, rules, screen.Response{Request: asked.RequestID, Action: runtime.ActionChoose, Text: "No, exit"}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"No, exit"}; !slices.Equal(p.chosen, want) {
			t.Errorf("chose %q, want %q", p.chosen, want)
		}
	})
}

// TestRespondToADialogThatIsDrawnTwice answers as soon as a dialog is drawn: the program draws
// it again a moment later, with its first option highlighted, and reads keys late. The option
// that was meant is confirmed all the same.
func TestRespondToADialogThatIsDrawnTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDialogs([]string{trustWords}, []string{"No, exit", "Yes, I trust this folder"})
		rules := terminal.Rules(t, "claude")
		f, err := p.t.Frame(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		asked := screen.Sense(f, rules, time.Now()).Pending
		p.t.Program = func(in []byte) {
			time.AfterFunc(30*time.Millisecond, func() { p.handleKeys(in) })
		}
		time.AfterFunc(185*time.Millisecond, func() {
			p.at = 0
			p.draw()
		})
		err = screen.Respond(t.Context(), p.t, rules, screen.Response{Request: asked.RequestID, Action: runtime.ActionChoose, Text: "Yes, I trust this folder"})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"Yes, I trust this folder"}; !slices.Equal(p.chosen, want) {
			t.Errorf("chose %q, want %q", p.chosen, want)
		}
	})
}
