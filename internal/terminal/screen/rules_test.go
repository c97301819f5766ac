package screen

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

func TestRulesFor(t *testing.T) {
	set := agentcli.Builtin()
	claude := RulesFor(runtime.Config{ProviderName: "claude", ProviderOverlayName: "mine", EmitsPermissionWarning: true}, set)
	if len(claude.Dialogs) == 0 || claude.Screen.InputBox.Frame != agentcli.FrameRules || !claude.AnswerDialogs {
		t.Errorf("an unknown concrete name does not fall back to its family: %+v", claude)
	}
	plain := RulesFor(runtime.Config{ReadyPromptPrefix: "$ "}, set)
	if len(plain.Dialogs) > 0 || plain.AnswerDialogs || len(plain.Screen.InputBox.Marks) != 1 || plain.Screen.InputBox.Marks[0] != "$ " {
		t.Errorf("a plain program: %+v", plain)
	}
}

func TestReadyLimit(t *testing.T) {
	tests := map[struct {
		prefix string
		delay  time.Duration
	}]time.Duration{
		{"", 0}:                  0,
		{"", 3 * time.Second}:    3 * time.Second,
		{"> ", 0}:                15 * time.Second,
		{"> ", time.Millisecond}: 5001 * time.Millisecond,
		{"> ", 10 * time.Second}: 15 * time.Second,
		{"> ", time.Hour}:        time.Minute,
	}
	for hint, want := range tests {
		if got := (Rules{ReadyPrefix: hint.prefix, ReadyDelay: hint.delay}).ReadyLimit(); got != want {
			t.Errorf("%+v: %s, want %s", hint, got, want)
		}
	}
}

// The rules of each profile are the same after they were sent to the process that types prompts.
func TestRulesAsJSON(t *testing.T) {
	set := agentcli.Builtin()
	for _, name := range set.Names() {
		rules := RulesFor(runtime.Config{ProviderName: name, ReadyPromptPrefix: "> "}, set)
		rules.HumanQuiet = time.Second
		sent, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		var got Rules
		if err := json.Unmarshal(sent, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		texts := cmp.Comparer(func(a, b agentcli.Pattern) bool { return a.String() == b.String() })
		if diff := cmp.Diff(rules, got, texts, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		t.Logf("%s: %d bytes", name, len(sent))
	}
}
