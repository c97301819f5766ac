package inject

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/terminal"
)

// TestRealAgentTakesEveryText sends texts of awkward sizes and characters
// through a real terminal to a real process and compares hashes.
func TestRealAgentTakesEveryText(t *testing.T) {
	texts := []string{
		"x", ";", "a;", "-x", "!ls", "/clear", "trailing \\", "emoji 🚀👩‍👩‍👧 and 作業", "a\nb\n\n  c", "tab\there",
		"CR\rLF\r\nend", "'quoted' \"twice\" $HOME `x`",
	}
	for _, n := range []int{511, 512, 513, 4095, 4096, 4097, 16_300, 16_400, 64 << 10, 1 << 20} {
		texts = append(texts, strings.Repeat("0123456789 abcdefghijklmnopqrstuvwxyz\n", n/38+1)[:n-1]+"$")
	}
	for _, profile := range []string{"claude", "generic"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			rules := terminal.RealRules(t, profile)
			a := terminal.NewReal(t)
			a.Ready(t, rules)
			for i, text := range texts {
				got, err := Type(t.Context(), a, Prompt{Text: text, Confirm: 30 * time.Second, AllowChanges: true}, rules)
				if err != nil || got.State != runtime.OutcomeSubmitted {
					t.Fatalf("text %d of %d bytes: %+v, %v", i, len(text), got, err)
				}
				line, _ := rules.Screen.Prompt(text)
				taken := a.WaitPrompts(t, i+1)
				if len(taken) != i+1 || !taken[i].Is(line) {
					t.Fatalf("text %d of %d bytes: the agent took %d prompts, the last %d bytes", i, len(text), len(taken), taken[len(taken)-1].Bytes)
				}
			}
			if err := screen.Idle(t.Context(), a, rules, 30*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRealAgentFaces(t *testing.T) {
	tests := map[string]struct {
		flags  []string
		answer []string
	}{
		"ignores the first Enter": {[]string{"--ignore-first-enter"}, nil},
		"newline if fast":         {[]string{"--newline-within", "120ms"}, nil},
		"slow start":              {[]string{"--slow-start", "700ms", "--ignore-input-until-ready"}, nil},
		"alternate screen":        {[]string{"--alt-screen"}, nil},
		"trust, No first":         {[]string{"--dialog", "trust-no-first"}, []string{"Yes, I trust this folder"}},
		"trust, extra":            {[]string{"--dialog", "trust-extra"}, []string{"Yes, I trust this folder"}},
		"trust, numbered":         {[]string{"--dialog", "trust-numbered"}, []string{"Yes, I trust this folder"}},
		"trust, reversed":         {[]string{"--dialog", "trust-reversed"}, []string{"Yes, I trust this folder"}},
		"three dialogs": {
			[]string{"--dialog", "trust-no-first,bypass,apikey"},
			[]string{"Yes, I trust this folder", "Yes, I accept", "Yes"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := terminal.RealRules(t, "claude")
			a := terminal.NewReal(t, test.flags...)
			a.Ready(t, rules)
			got, err := Type(t.Context(), a, Prompt{Text: "hello", Confirm: 20 * time.Second}, rules)
			if err != nil || got.State != runtime.OutcomeSubmitted {
				t.Errorf("%+v, %v", got, err)
			}
			if taken := a.WaitPrompts(t, 1); len(taken) != 1 || strings.TrimRight(taken[0].Text, "\n") != "hello" {
				t.Errorf("agent took %+v", taken)
			}
			records, err := ledger.Read(a.File)
			if err != nil {
				t.Fatal(err)
			}
			var chosen []string
			for _, r := range records {
				if r.Kind == ledger.Dialog {
					chosen = append(chosen, r.Choice)
				}
			}
			if !slices.Equal(chosen, test.answer) {
				t.Errorf("chose %q, want %q", chosen, test.answer)
			}
		})
	}
}

func TestRealAgentHarmfulMenu(t *testing.T) {
	rules := terminal.RealRules(t, "claude")
	a := terminal.NewReal(t, "--dialog", "unknown")
	got, err := screen.Ready(t.Context(), a, rules, 2*time.Second)
	if err != nil || got.State != screen.ReadyBlocked || got.Unanswered == nil || len(got.Unanswered.Options) != 2 {
		t.Errorf("%+v, %v, want a report of the menu", got, err)
	}
	if out, err := Type(t.Context(), a, Prompt{Text: "hello"}, rules); err != nil || out.Reason != runtime.RefusedDialog {
		t.Errorf("%+v, %v, want a refusal", out, err)
	}
	if len(a.Sent) > 0 {
		t.Errorf("it got %q", a.Input())
	}
}

func TestRealAgentLateDialog(t *testing.T) {
	rules := terminal.RealRules(t, "claude")
	a := terminal.NewReal(t, "--dialog", "late-trust:300ms")
	a.Ready(t, rules)
	a.Wait(t, func(f screen.Frame) bool { return screen.NewSnapshot(f).Dialog(rules) != nil })
	if out, err := Type(t.Context(), a, Prompt{Text: "hello"}, rules); err != nil || out.Reason != runtime.RefusedDialog {
		t.Errorf("%+v, %v, want a refusal", out, err)
	}
	if got, err := screen.Dismiss(t.Context(), a, rules, 20*time.Second); err != nil || got.Answered != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestResolveRealAgent: the fake agent's own word decides.
func TestResolveRealAgent(t *testing.T) {
	const tall = "taller than its line"
	tests := map[string]struct {
		flags, text string
		entered     bool
		want        verdict
	}{
		"short":                {"", "left behind", false, withdrawn},
		"several lines":        {"", longText, false, withdrawn},
		"large":                {"", strings.Repeat("large ", 10_000) + "$", false, withdrawn},
		tall:                   {"", strings.Repeat("lorem ipsum dolor; ", 130) + "$", false, withdrawn},
		"taken":                {"", "taken", true, accepted},
		"large, taken":         {"", strings.Repeat("large ", 10_000) + "$", true, accepted},
		"Enter was ignored":    {"--ignore-first-enter", "left behind", true, withdrawn},
		"Enter was a new line": {"--newline-within=1m", "left behind", true, withdrawn},
	}
	for name, test := range tests {
		for _, profile := range []string{"claude", "generic"} {
			t.Run(name+", "+profile, func(t *testing.T) {
				t.Parallel()
				rules := terminal.RealRules(t, profile)
				a := terminal.NewReal(t, strings.Fields(test.flags)...)
				a.Ready(t, rules)
				keys := "\x1b[200~" + test.text + "\x1b[201~"
				if name == tall { // a paste in brackets would be shown by a placeholder
					keys = test.text
				}
				if err := a.Send(t.Context(), []byte(keys)); err != nil {
					t.Fatal(err)
				}
				if test.entered {
					if err := a.Send(t.Context(), []byte("\r")); err != nil {
						t.Fatal(err)
					}
				}
				entry := DeliveryEntry{Text: []byte(test.text), Entered: test.entered, Seen: true}
				got, err := target{Lease: unlogged{a}}.resolve(t.Context(), rules, entry)
				for tries := 0; err == nil && got.Wait != "" && tries < 5; tries++ { // the agent drew its screen just then
					got, err = target{Lease: unlogged{a}}.resolve(t.Context(), rules, entry)
				}
				if err != nil || got.Verdict != test.want || !got.Clean {
					t.Fatalf("%+v, %v, want %s", got, err, test.want)
				}
				var want []string
				if test.want == accepted {
					want = append(want, ledger.Sum(test.text))
				}
				if strings.HasPrefix(test.flags, "--newline") {
					return // it takes no prompts at all
				}
				if out, err := Type(t.Context(), a, Prompt{Text: "next"}, rules); err != nil || out.State != runtime.OutcomeSubmitted {
					t.Fatalf("%+v, %v", out, err)
				}
				want = append(want, ledger.Sum("next"))
				var taken []string
				for _, r := range a.WaitPrompts(t, len(want)) {
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
