package plan_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/test/tier"
)

// TestPrompt checks in which form the first prompt gets to the agent, for each prompt mode.
func TestPrompt(t *testing.T) {
	tier.Process(t)
	for name, c := range map[string]struct {
		text, suffix, flag, nudge string
	}{
		"unknown program receives nothing": {plainAgent, "", "", ""},
		"nudge alone":                      {plainAgent + "nudge='hello'\n", "", "", "hello"},
		"template, no CLI":                 {plainAgent + "prompt_template='p'\n", "", "", beacon + prime + "\n\nDo w."},
		"prompt, then nudge":               {plainAgent + "prompt_template='p'\nnudge='hello'\n", "", "", beacon + prime + "\n\nDo w.\n\nhello"},
		"argument":                         {robotAgent + "prompt_template='p'\n" + robot, beacon + prime + "\n\nDo w.", "", ""},
		"argument and nudge":               {robotAgent + "nudge='hello'\n" + robot, beacon + prime, "", "hello"},
		"hooks need no instruction":        {robotAgent + "install_agent_hooks=['claude']\n" + robot, beacon, "", ""},
		"flag":                             {robotAgent + "prompt_mode='flag'\nprompt_flag='-i'\n" + robot, beacon + prime, "-i", ""},
		"one shot by argument":             {robotAgent + "lifecycle='one_shot'\n" + robot, beacon + prime, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := resolve(t, c.text).Config
			got := [3]string{unquote(t, cfg.PromptSuffix), cfg.PromptFlag, cfg.Nudge}
			if diff := cmp.Diff([3]string{c.suffix, c.flag, c.nudge}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// unquote returns the word that a real shell reads from a quoted one.
func unquote(t *testing.T, word string) string {
	t.Helper()
	if word == "" {
		return ""
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+word).Output()
	if err != nil {
		t.Fatalf("a shell cannot read %s: %v", word, err)
	}
	return string(out)
}

// TestAnyPromptIsOneWordOfAShell checks that a prompt with any characters is one word for a shell,
// with the same characters.
func TestAnyPromptIsOneWordOfAShell(t *testing.T) {
	tier.Process(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("a'\"$`\\ \n\t\x01\x1b!;&|<>(){}[]*?~#é•\u0085")), 1, 40, -1).Draw(rt, "prompt")
		for strings.Contains(text, "{{") { // that would begin an action of the template
			text = strings.ReplaceAll(text, "{{", "{ {")
		}
		desired, _, err := resolveText(t, robotAgent+"prompt_template='p'\n"+robot, "x"+text+"x")
		if err != nil {
			rt.Fatal(err)
		}
		want := beacon + prime + "\n\nx" + text + "x"
		if got := unquote(t, desired.Sessions[0].Config.PromptSuffix); got != want {
			rt.Errorf("the shell reads %q, want %q", got, want)
		}
	})
}

// TestLongPromptStaysInTheSuffix checks that a long prompt is in the suffix of the command and not
// in the command itself.
func TestLongPromptStaysInTheSuffix(t *testing.T) {
	desired, _, err := resolveText(t, robotAgent+"prompt_template='p'\n"+robot, strings.Repeat("long ", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	cfg := desired.Sessions[0].Config
	if len(cfg.PromptSuffix) < 500_000 || strings.Contains(cfg.Command, "long") {
		t.Errorf("the suffix has %d bytes", len(cfg.PromptSuffix))
	}
}
