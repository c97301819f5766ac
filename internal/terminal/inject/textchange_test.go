package inject_test

import (
	"slices"
	"strings"
	"testing"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/inject"
)

// TestChangesAreThoseThatWereMeasured compares the prediction with what arrived at the model in
// "make probe" for each agent CLI: exact, changed so that no reader sees it, or changed.
func TestChangesAreThoseThatWereMeasured(t *testing.T) {
	const (
		exact    = "exact"
		harmless = "harmless"
		harmful  = "harmful"
	)
	tests := []struct {
		text                            string
		claude, codex, gemini, opencode string
	}{
		{"plain words", exact, exact, exact, exact},
		{"two\nlines", exact, exact, exact, exact},
		{"e\u0301", harmful, exact, exact, exact},
		{"\u00e9", exact, exact, exact, exact},
		{"\u212b", harmful, exact, exact, exact},
		{"soft\u00adhyphen", harmful, exact, exact, exact},
		{"a\u200bb", harmful, exact, harmful, exact},
		{"می\u200cخواهم", exact, exact, exact, exact},
		{"a\u200cb", harmful, exact, exact, exact},
		{"👩\u200d💻", exact, exact, exact, exact},
		{"\u202eRTL\u202c", harmful, exact, harmful, exact},
		{"a\u2060b", harmful, exact, exact, exact},
		{"❤\ufe0f", exact, exact, exact, exact},
		{"🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", exact, exact, exact, exact},
		{"a\U000E0041b", harmful, exact, exact, exact},
		{"🏴\U000E0075\U000E0073\U000E0063\U000E0061\U000E007F", harmful, exact, exact, exact},
		{"🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067", harmful, exact, exact, exact},
		{"葛\U000E0100", harmful, exact, exact, exact},
		{"a\ufe0f", harmful, exact, exact, exact},
		{"1\ufe0f\u20e3 ©\ufe0f", exact, exact, exact, exact},
		{"1\ufe0f", harmful, exact, exact, exact},
		{"≨\ufe00", harmful, exact, exact, exact},
		{"क्\u200dष", exact, exact, exact, exact},
		{"漢\u200c字", harmful, exact, exact, exact},
		{"é\u200dè", harmful, exact, exact, exact},
		{"👍🏽\u200d❤", exact, exact, exact, exact},
		{"🏳\ufe0f\u200d🌈", exact, exact, exact, exact},
		{"👩\u200d", harmful, exact, exact, exact},
		{"a\ufff0b", harmful, exact, exact, exact},
		{"/", harmful, harmful, harmful, harmful},
		{"//", exact, exact, exact, harmful},
		{"// x", exact, exact, exact, exact},
		{"\ufeffa", harmful, exact, harmful, harmful},
		{"exit", harmful, exact, exact, harmful},
		{" :q\n", harmful, harmless, harmless, harmful},
		{":wq!", harmful, exact, exact, exact},
		{"exit now", exact, exact, exact, exact},
		{"a\u2028b", harmful, exact, exact, exact},
		{"a\r\nb", harmless, harmless, harmless, harmless},
		{"a\tb", harmless, exact, exact, exact},
		{"  a", exact, harmless, harmless, exact},
		{"\na", exact, harmless, harmless, exact},
		{"a  ", harmless, harmless, harmless, exact},
		{"a\n", harmless, harmless, harmless, exact},
		{`a\`, harmful, exact, harmful, exact},
		{"a\\\nb", exact, exact, exact, exact},
		{"look at @", exact, harmful, harmful, harmful},
		{"look at @note", exact, harmful, harmful, harmful},
		{"see @/etc/hosts please", exact, exact, harmful, exact},
		{"see @note please", exact, exact, exact, exact},
		{"mail a@b", exact, exact, exact, exact},
		{strings.Repeat("word ", 200) + "end", exact, exact, exact, harmless},
	}
	for _, test := range tests {
		for name, want := range map[string]string{"claude": test.claude, "codex": test.codex, "gemini": test.gemini, "opencode": test.opencode} {
			p, _ := agentcli.Builtin().Lookup(name)
			changes := inject.TextChanges(p.Screen.Input, test.text)
			got := exact
			if len(changes) > 0 {
				got = harmless
			}
			if len(inject.HarmfulChanges(changes)) > 0 {
				got = harmful
			}
			if got != want {
				t.Errorf("%s, %+.40q: %s (%v), want %s", name, test.text, got, inject.ChangeTexts(changes), want)
			}
		}
	}
}

// TestATextThatIsNeverTypedStaysSo: characters that do not arrive, and blanks of any kind at the
// edges, do not hide a text that is never typed.
func TestATextThatIsNeverTypedStaysSo(t *testing.T) {
	for name, texts := range map[string][]string{
		"claude":   {"exit", "exit\u200b", "\u200eex\u00adit", "\ufeff/", "/\u2060", "\\\u200b", "quit\u00a0", "\u3000:q"},
		"codex":    {"/", "\u00a0/"},
		"gemini":   {"/", "\u200b/\ufeff", "\\\u200b", "ends with \\", "ends with @", "@\u200b"},
		"opencode": {"exit", "\ufeffexit", "\ufeff/", "quit\u00a0"},
	} {
		p, _ := agentcli.Builtin().Lookup(name)
		for _, text := range texts {
			refuses := func(c inject.TextChange) bool { return c.Refused }
			if got := inject.TextChanges(p.Screen.Input, text); !slices.ContainsFunc(got, refuses) {
				t.Errorf("%s, %+q: %+v, want a refusal", name, text, got)
			}
		}
	}
}

// TestChangesAreNamed: a person reads which characters are removed.
func TestChangesAreNamed(t *testing.T) {
	p, _ := agentcli.Builtin().Lookup("claude")
	got := inject.ChangeTexts(inject.TextChanges(p.Screen.Input, "a\u200bb\u200ec\u200b\r\n"))
	want := "characters are removed: U+200B U+200E; CR and CR LF become line feeds; blanks and line feeds at the end are removed"
	if strings.Join(got, "; ") != want {
		t.Errorf("the changes are %q, want %q", got, want)
	}
}

// TestUnknownAgentCLIChangesNothing: without measurements a text is taken for unchanged.
func TestUnknownAgentCLIChangesNothing(t *testing.T) {
	if got := inject.TextChanges(agentcli.Input{}, "e\u0301\r\n \\"); got != nil {
		t.Errorf("the changes are %v, want none", got)
	}
}

func FuzzTextChanges(f *testing.F) {
	f.Add("a\u200b\r\n@")
	f.Add("\xff\U000E0041")
	var all []agentcli.Input
	for _, name := range agentcli.Builtin().Names() {
		p, _ := agentcli.Builtin().Lookup(name)
		all = append(all, p.Screen.Input)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, rules := range all {
			for _, c := range inject.TextChanges(rules, text) {
				if c.What == "" {
					t.Errorf("a change of %q has no words", text)
				}
			}
		}
	})
}
