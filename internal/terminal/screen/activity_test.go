package screen

import (
	"strings"
	"testing"
	"time"

	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

func TestSense(t *testing.T) {
	rule := strings.Repeat("─", 60)
	claude := func(above, foot string) []string { return []string{"● done", above, rule, "❯ ", rule, "  " + foot} }
	codex := []string{"• done", "", "› ", "", "  model default · ~/work"}
	tests := map[string]struct {
		profile string
		frame   Frame
		want    runtime.Activity
	}{
		"idle":                              {"claude", Frame{Rows: claude("", "? for shortcuts"), Title: "✳ Claude Code"}, runtime.ActivityIdle},
		"idle, no title known":              {"claude", Frame{Rows: claude("", "⏸ manual mode on")}, runtime.ActivityIdle},
		"busy by footer":                    {"claude", Frame{Rows: claude("", "⏵⏵ auto mode on · esc to interrupt"), Title: "✳ Claude Code"}, runtime.ActivityBusy},
		"busy by spinner":                   {"claude", Frame{Rows: claude("✽ Simmering… (1s · ↓ 6 tokens)", ""), Title: "✳ x"}, runtime.ActivityBusy},
		"busy by title":                     {"claude", Frame{Rows: claude("", "? for shortcuts"), Title: "◐ Claude Code"}, runtime.ActivityBusy},
		"retrying":                          {"claude", Frame{Rows: claude("✻ 429 slow · retrying in 7s · attempt 5/10", "? for shortcuts"), Title: "✳ x"}, runtime.ActivityBusy},
		"other spinner and title glyph":     {"claude", Frame{Rows: claude("@ Pondering", "? for shortcuts"), Title: "# Claude Code"}, runtime.ActivityUnknown},
		"no footer":                         {"claude", Frame{Rows: claude("", ""), Title: "✳ Claude Code"}, runtime.ActivityUnknown},
		"other frame":                       {"claude", Frame{Rows: []string{"═ ═ ═", "❯ ", "═ ═ ═", "? for shortcuts"}, Title: "✳ x"}, runtime.ActivityUnknown},
		"other mark":                        {"claude", Frame{Rows: []string{rule, "» ", rule, "? for shortcuts"}, Title: "✳ x"}, runtime.ActivityUnknown},
		"blank":                             {"claude", Frame{Rows: []string{"", ""}}, runtime.ActivityUnknown},
		"permission":                        {"claude", Frame{Rows: []string{rule, "Do you want to proceed?", "❯ 1. Yes", "  2. No"}, Title: "✳ x"}, runtime.ActivityWaiting},
		"words in the conversation":         {"claude", Frame{Rows: append([]string{"● It says esc to interrupt", "", "", "", "", "", "", "", "", "", ""}, claude("", "? for shortcuts")...), Title: "✳ x"}, runtime.ActivityIdle},
		"codex idle":                        {"codex", Frame{Rows: codex, Title: "work"}, runtime.ActivityIdle},
		"codex streaming":                   {"codex", Frame{Rows: codex, Title: "⠹ work"}, runtime.ActivityBusy},
		"codex permission":                  {"codex", Frame{Rows: codex, Title: "[ ! ] Action Required | work"}, runtime.ActivityWaiting},
		"codex, new spinner":                {"codex", Frame{Rows: codex, Title: "◜ work"}, runtime.ActivityUnknown},
		"pi idle":                           {"pi", Frame{Rows: []string{rule, "", rule, "~/work"}}, runtime.ActivityIdle},
		"pi busy":                           {"pi", Frame{Rows: []string{"──── ⠼ Working " + rule, "", rule, "~/work"}}, runtime.ActivityBusy},
		"pi, other word":                    {"pi", Frame{Rows: []string{"──── ⠼ Baking " + rule, "", rule, "~/work"}}, runtime.ActivityUnknown},
		"opencode":                          {"opencode", Frame{Rows: []string{"┃ Ask anything…", "ctrl+p commands"}}, runtime.ActivityReady},
		"opencode busy":                     {"opencode", Frame{Rows: []string{"■⬝⬝⬝ esc interrupt", "ctrl+p commands"}}, runtime.ActivityBusy},
		"opencode, a prompt with a menu":    {"opencode", Frame{Rows: []string{"┃ Do you want to proceed?", "┃ ❯ 1. Yes", "┃   2. No", "", "  done", "", "┃", "ctrl+p commands"}}, runtime.ActivityReady},
		"opencode, a prompt with its words": {"opencode", Frame{Rows: []string{"┃ Permission required", "", "  done", "", "┃", "ctrl+p commands"}}, runtime.ActivityReady},
		"opencode, a menu":                  {"opencode", Frame{Rows: []string{"┃ go on", "", "Do you want to proceed?", "❯ 1. Yes", "  2. No"}}, runtime.ActivityWaiting},
		"opencode permission":               {"opencode", Frame{Rows: []string{"△ Permission required", "Allow once  Reject"}}, runtime.ActivityWaiting},
		"status working":                    {"claude", Frame{Rows: claude("", "? for shortcuts"), Signs: vt.Signs{Status: vt.Sign{Text: "state=working:app=x"}}}, runtime.ActivityBusy},
		"status blocked":                    {"generic", Frame{Rows: []string{"> "}, Signs: vt.Signs{Status: vt.Sign{Text: "state=blocked:kind=permission"}}}, runtime.ActivityWaiting},
		"status of a child":                 {"claude", Frame{Rows: claude("", "? for shortcuts"), Signs: vt.Signs{Status: vt.Sign{Text: "id=a:state=working"}}}, runtime.ActivityIdle},
		"exited":                            {"claude", Frame{Rows: claude("", "? for shortcuts"), Exited: true}, runtime.ActivityUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.frame.Seq = 1
			got := Sense(test.frame, profileRules(t, test.profile), time.Now())
			if strongest(got) != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
			for _, e := range got.Evidence {
				if e.Detail == "" || e.At.IsZero() {
					t.Errorf("%+v does not say why or when", e)
				}
			}
		})
	}
}

// strongest returns what the most trusted source says that says anything.
func strongest(r runtime.Reading) runtime.Activity {
	for _, source := range []runtime.Source{runtime.SourceStatus, runtime.SourceProgress, runtime.SourceMark, runtime.SourceScreen} {
		for _, e := range r.Evidence {
			if e.Source == source && e.Activity != runtime.ActivityUnknown {
				return e.Activity
			}
		}
	}
	return runtime.ActivityUnknown
}

func TestSenseNeedsRestWithoutASign(t *testing.T) {
	rules, now := profileRules(t, "opencode"), time.Now()
	for age, want := range map[time.Duration]runtime.Activity{50 * time.Millisecond: runtime.ActivityUnknown, time.Second: runtime.ActivityReady} {
		f := Frame{Seq: 1, Rows: []string{"Ask anything…"}, LastOutput: now.Add(-age)}
		got := Sense(f, rules, now)
		if strongest(got) != want {
			t.Errorf("%s after output: %+v, want %s", age, got, want)
		}
		if want == runtime.ActivityUnknown && !got.Again.Equal(f.LastOutput.Add(flowing)) {
			t.Errorf("it is to be read again at %s, want %s after the output", got.Again, flowing)
		}
	}
}
