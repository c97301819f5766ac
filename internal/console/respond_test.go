package console

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
)

// ask makes the agent ask and returns the name of its question.
func ask(t *testing.T, a *realAgent, rules Rules, prompt string) *runtime.PendingInteraction {
	t.Helper()
	realReady(t, a, rules)
	got, err := Deliver(t.Context(), a, Prompt{Text: "[[busy:200ms]] " + prompt}, rules)
	if err != nil || got.State != runtime.OutcomeSubmitted {
		t.Fatalf("%+v, %v", got, err)
	}
	return pending(t, a, rules)
}

func pending(t *testing.T, a *realAgent, rules Rules) *runtime.PendingInteraction {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		f, err := Whole(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		if p := Sense(f, rules, time.Now()).Pending; p != nil {
			return p
		}
	}
	t.Fatal("nothing is pending")
	return nil
}

// choices returns what was recorded as chosen, waiting for n of them.
func (a *realAgent) choices(t *testing.T, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	records, err := ledger.Wait(ctx, a.file, ledger.Has(ledger.Choice, n))
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
		answer Response
		want   string
	}{
		"by label":           {"[[ask:Which?|Alpha|Beta|Gamma]]", Response{Action: "choose", Text: "Gamma"}, "Gamma"},
		"the first":          {"[[ask:Which?|Alpha|Beta]]", Response{Action: "choose", Text: "Alpha"}, "Alpha"},
		"by number":          {"[[ask:Which?|Alpha|Beta]]", Response{Action: "choose", Text: "2"}, "Beta"},
		"a number as label":  {"[[ask:How many?|2|1]]", Response{Action: "choose", Text: "1"}, "1"},
		"other letter case":  {"[[ask:Which?|Alpha|Beta]]", Response{Action: "choose", Text: "beta"}, "Beta"},
		"approve":            {permit, Response{Action: "approve"}, "Yes"},
		"deny":               {permit, Response{Action: "deny"}, "No"},
		"approve, reordered": {"[[permit:Bash|x|Yes, and always allow x in this project|No|Yes]]", Response{Action: "approve"}, "Yes"},
		"approve, unknown":   {"[[ask:Sure?|No|Yes]]", Response{Action: "approve"}, "Yes"},
		"deny, unknown":      {"[[ask:Sure?|Yes|No]]", Response{Action: "deny"}, "No"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := realRules(t, "claude")
			a := newReal(t)
			test.answer.Request = ask(t, a, rules, test.prompt).RequestID
			if err := Respond(t.Context(), a, rules, test.answer); err != nil {
				t.Fatal(err)
			}
			if got := a.choices(t, 1); len(got) != 1 || got[0] != test.want {
				t.Errorf("chose %q, want %q", got, test.want)
			}
			if err := Respond(t.Context(), a, rules, test.answer); !errors.Is(err, runtime.ErrInteractionGone) {
				t.Errorf("a second answer is %v, want ErrInteractionGone", err)
			}
		})
	}
}

// TestRespondRefuses: what cannot be answered so gets not a key.
func TestRespondRefuses(t *testing.T) {
	tests := map[string]struct {
		prompt string
		answer Response
		want   error
	}{
		"another question":   {"[[ask:Which?|Alpha|Beta]]", Response{Request: "other", Action: "choose", Text: "Alpha"}, runtime.ErrInteractionGone},
		"no such option":     {"[[ask:Which?|Alpha|Beta]]", Response{Action: "choose", Text: "Delta"}, errors.ErrUnsupported},
		"a number too high":  {"[[ask:Which?|Alpha|Beta]]", Response{Action: "choose", Text: "3"}, errors.ErrUnsupported},
		"twice the label":    {"[[ask:Which?|Alpha|Alpha]]", Response{Action: "choose", Text: "Alpha"}, errors.ErrUnsupported},
		"grants for ever":    {"[[permit:Bash|x|Yes, and always allow x in this project|No]]", Response{Action: "approve"}, errors.ErrUnsupported},
		"approve what":       {"[[ask:Which?|Alpha|Beta]]", Response{Action: "approve"}, errors.ErrUnsupported},
		"no cancel is known": {"[[ask:Which?|Alpha|Beta]]", Response{Action: "cancel"}, errors.ErrUnsupported},
		"unknown action":     {"[[ask:Which?|Alpha|Beta]]", Response{Action: "shrug"}, errors.ErrUnsupported},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := realRules(t, "claude")
			a := newReal(t)
			asked := ask(t, a, rules, test.prompt).RequestID
			if test.answer.Request == "" {
				test.answer.Request = asked
			}
			before := len(a.input())
			if err := Respond(t.Context(), a, rules, test.answer); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if sent := a.input()[before:]; sent != "" {
				t.Errorf("it got %q", sent)
			}
			if got := pending(t, a, rules).RequestID; got != asked {
				t.Errorf("now %q is pending, want %q", got, asked)
			}
		})
	}
}

func TestRespondCancels(t *testing.T) {
	rules := realRules(t, "claude")
	a := newReal(t)
	asked := ask(t, a, rules, "[[permit:Bash|x]]").RequestID
	if err := Respond(t.Context(), a, rules, Response{Request: asked, Action: runtime.ActionCancel}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := ledger.Wait(ctx, a.file, ledger.Has(ledger.Interrupted, 1)); err != nil {
		t.Error(err)
	}
}

// TestRespondToWhatGoesAway: a question that ends by itself gets no confirming key that
// could hit what comes after it.
func TestRespondToWhatGoesAway(t *testing.T) {
	rules := realRules(t, "claude")
	a := newReal(t)
	asked := ask(t, a, rules, "[[askfor:3s|Which?|Alpha|Beta]][[busy:100ms]]").RequestID
	a.choices(t, 1)
	err := Respond(t.Context(), a, rules, Response{Request: asked, Action: "choose", Text: "Beta"})
	if !errors.Is(err, runtime.ErrInteractionGone) {
		t.Errorf("%v, want ErrInteractionGone", err)
	}
}

// TestResolveRealAgent: the fake agent's own word decides.
func TestResolveRealAgent(t *testing.T) {
	tests := map[string]struct {
		flags, text string
		entered     bool
		want        Verdict
	}{
		"short":                {"", "left behind", false, Withdrawn},
		"several lines":        {"", longText, false, Withdrawn},
		"large":                {"", strings.Repeat("large ", 10_000) + "$", false, Withdrawn},
		"taken":                {"", "taken", true, Taken},
		"large, taken":         {"", strings.Repeat("large ", 10_000) + "$", true, Taken},
		"Enter was ignored":    {"--ignore-first-enter", "left behind", true, Withdrawn},
		"Enter was a new line": {"--newline-within=1m", "left behind", true, Withdrawn},
	}
	for name, test := range tests {
		for _, profile := range []string{"claude", "generic"} {
			t.Run(name+", "+profile, func(t *testing.T) {
				t.Parallel()
				rules := realRules(t, profile)
				a := newReal(t, strings.Fields(test.flags)...)
				realReady(t, a, rules)
				if err := a.Send(t.Context(), []byte("\x1b[200~"+test.text+"\x1b[201~")); err != nil {
					t.Fatal(err)
				}
				if test.entered {
					if err := a.Send(t.Context(), []byte("\r")); err != nil {
						t.Fatal(err)
					}
				}
				got, err := Resolve(t.Context(), a, rules, Left{Text: test.text, Entered: test.entered, Seen: true})
				if err != nil || got.Verdict != test.want || !got.Clean {
					t.Fatalf("%+v, %v, want %s", got, err, test.want)
				}
				var want []string
				if test.want == Taken {
					want = append(want, ledger.Sum(test.text))
				}
				if strings.HasPrefix(test.flags, "--newline") {
					return // it takes no prompts at all
				}
				if out, err := Deliver(t.Context(), a, Prompt{Text: "next"}, rules); err != nil || out.State != runtime.OutcomeSubmitted {
					t.Fatalf("%+v, %v", out, err)
				}
				want = append(want, ledger.Sum("next"))
				var taken []string
				for _, r := range a.taken(t, len(want)) {
					taken = append(taken, r.SHA256)
				}
				if !slices.Equal(taken, want) {
					t.Errorf("the agent took %v, want %v", taken, want)
				}
			})
		}
	}
}

const longText = "one line of a text\nthat has\nseveral of them\nand is shown\nas a whole by no agent\n$"
