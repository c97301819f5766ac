package screen

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// A program in the middle of a turn and at rest, as each profile knows it.
var (
	wide  = strings.Repeat("─", 60)
	faces = map[string]struct{ busy, idle Frame }{
		"claude": {
			Frame{Rows: []string{"● Reading", "", "✽ Simmering… (4s · ↓ 6 tokens)", "", wide, "❯ ", wide, "  ⏵⏵ auto mode on · esc to interrupt"}, Title: "◐ Claude Code"},
			Frame{Rows: []string{"● done", "", wide, "❯ ", wide, "  ? for shortcuts"}, Title: "✳ Claude Code"},
		},
		"codex": {
			Frame{Rows: []string{"• Working (2s • esc to interrupt)", "", "› ", "", "  model default · ~/work"}, Title: "⠹ work"},
			Frame{Rows: []string{"• done", "", "› ", "", "  model default · ~/work"}, Title: "work"},
		},
		"gemini": {
			Frame{Rows: []string{"⠴ Thinking... (esc to cancel, 3s)", wide, " >   Type your message or @path/to/file", wide}, Title: "✦  Working… (dir)"},
			Frame{Rows: []string{"✦ done", wide, " >   Type your message or @path/to/file", wide}, Title: "◇  Ready (dir)"},
		},
		"pi": {
			Frame{Rows: []string{"──── ⠼ Working " + wide, "", wide, "~/work"}},
			Frame{Rows: []string{wide, "", wide, "~/work"}},
		},
		"opencode": {
			Frame{Rows: []string{"■⬝⬝⬝ esc interrupt", "ctrl+p commands"}},
			Frame{Rows: []string{"┃ Ask anything…", "ctrl+p commands"}},
		},
		"copilot": {
			Frame{Rows: []string{"◎ Working · 60 B esc esc interrupt", "", "❯ "}},
			Frame{Rows: []string{"● done", "", "❯ Type @ to mention files"}},
		},
		"qwen": {
			Frame{Rows: []string{"⠴ Thinking... (esc to cancel, 3s)", "", ">   Type your message"}},
			Frame{Rows: []string{"done", "", ">   Type your message"}},
		},
		"cursor": {
			Frame{Rows: []string{"⬡ Thinking  ctrl+c to stop", "", "→ Add a follow-up"}},
			Frame{Rows: []string{"done", "", "→ Add a follow-up"}},
		},
	}
)

// mutations are what a new version of a program changes in its looks.
var mutations = map[string]func(*Frame){
	"other spinner": rewrite("✽", "@", "Simmering", "Pondering", "⠹", "◜", "⠴", "◜", "⠼", "◜", "◎", "¤", "■⬝⬝⬝", "===", "⬡", "¤"),
	"other words":   rewrite("esc to interrupt", "stop: ctrl-x", "esc to cancel", "stop: ctrl-x", "esc interrupt", "stop", "esc esc interrupt", "stop", "Working", "Baking", "ctrl+c to stop", "^c ends"),
	"other box":     rewrite("─", "═"),
	"other mark":    rewrite("❯", "»", "› ", "» ", "→", "»"),
	"no footer":     func(f *Frame) { f.Rows[len(f.Rows)-1] = "" },
	"no title":      func(f *Frame) { f.Title = "" },
	"other title": func(f *Frame) {
		f.Title = strings.NewReplacer("◐", "◍", "⠹", "◜", "✦", "✧", "✳", "○", "◇", "◆").Replace(f.Title)
	},
	"shifted": func(f *Frame) { f.Rows = append([]string{"", ""}, f.Rows...) },
	"cut":     func(f *Frame) { f.Rows = f.Rows[:len(f.Rows)/2] },
	"blank":   func(f *Frame) { f.Rows = make([]string, len(f.Rows)) },
}

func rewrite(pairs ...string) func(*Frame) {
	r := strings.NewReplacer(pairs...)
	return func(f *Frame) {
		for i := range f.Rows {
			f.Rows[i] = r.Replace(f.Rows[i])
		}
	}
}

func mutated(f Frame, names ...string) Frame {
	f.Rows, f.Seq = slices.Clone(f.Rows), 1
	for _, name := range names {
		if len(f.Rows) > 1 || name != "no footer" && name != "cut" {
			mutations[name](&f)
		}
	}
	return f
}

// TestOtherLooksAreNoRest: a program whose looks have changed, in any one or two ways, is
// never taken for one at rest while it works, and never for anything but itself at rest.
// One whose rest shows in nothing is judged by its output: it moves while it works.
func TestOtherLooksAreNoRest(t *testing.T) {
	now := time.Now()
	names := slices.Sorted(maps.Keys(mutations))
	for profile, face := range faces {
		rules := profileRules(t, profile)
		screen := rules.Screen
		shows := len(screen.TitleIdle) > 0 || len(screen.Idle) > 0 || screen.InputBox.PlainEdges
		at := map[bool]time.Time{true: now.Add(-time.Second), false: now.Add(-50 * time.Millisecond)}[shows]
		judge := func(f Frame, at time.Time) runtime.Activity {
			f.LastOutput = at
			r := Sense(f, rules, now)
			return r.Evidence[len(r.Evidence)-1].Activity
		}
		if got := judge(mutated(face.busy), at); got != runtime.ActivityBusy {
			t.Errorf("%s: busy is %s", profile, got)
		}
		if got := judge(mutated(face.idle), now.Add(-time.Second)); got != runtime.ActivityIdle && got != runtime.ActivityReady {
			t.Errorf("%s: idle is %s", profile, got)
		}
		for _, one := range names {
			for _, two := range names {
				if got := judge(mutated(face.busy, one, two), at); got == runtime.ActivityIdle || got == runtime.ActivityReady {
					t.Errorf("%s, %s and %s: at work it is %s", profile, one, two, got)
				}
				switch got := judge(mutated(face.idle, one, two), now.Add(-time.Second)); got {
				case runtime.ActivityIdle, runtime.ActivityReady, runtime.ActivityUnknown:
				default:
					t.Errorf("%s, %s and %s: at rest it is %s", profile, one, two, got)
				}
			}
		}
	}
}

// TestStrangeScreensAreNoRest: what no profile has ever drawn is at rest for none that says
// how its rest looks.
func TestStrangeScreensAreNoRest(t *testing.T) {
	screens := map[string][]string{
		"blank": {"", ""}, "crash": {"panic: runtime error", "goroutine 1 [running]:"}, "pager": {"line 1", "line 2", "(END)"},
		"editor": {"~", "~", "~", "-- INSERT --"}, "prompt of a shell": {"$ "}, "other frame": {"╔════════════╗", "║            ║", "╚════════════╝"},
	}
	for _, name := range agentcli.Builtin().Names() {
		rules := profileRules(t, name)
		if rules.Screen.InputBox.Frame == agentcli.FrameLine || name == agentcli.Generic {
			continue
		}
		for what, rows := range screens {
			r := Sense(Frame{Seq: 1, Rows: rows, LastOutput: time.Now().Add(-time.Minute)}, rules, time.Now())
			if got := r.Evidence[0].Activity; got != runtime.ActivityUnknown || r.Pending != nil {
				t.Errorf("%s: a %s is %s, pending %+v", name, what, got, r.Pending)
			}
		}
	}
}
