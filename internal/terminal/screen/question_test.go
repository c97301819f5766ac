package screen

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// TestPendingOfTheCorpus: every recorded dialog is a pending question with its words and
// options.
func TestPendingOfTheCorpus(t *testing.T) {
	long := "  file-$i-with-a-rather-long-name-that" + "-goes-on" + strings.Repeat("-and-on", 20) + "-and-o\n  n-and-on"
	tests := map[string]runtime.PendingInteraction{
		"claude/permission.txt": {
			Kind: runtime.WaitPermission, Prompt: "Bash command\n\n  rm -rf build\n  Remove the build folder\n\nDo you want to proceed?",
			Options:  []string{"Yes", "Yes, and always allow rm -rf build in this project", "Yes, and switch to auto mode", "No"},
			Metadata: map[string]string{"source": "screen", "text": "no", "tool": "Bash", "input": "rm -rf build\nRemove the build folder", "why": "a person has to answer it", "rule": "permission"},
		},
		"codex/permission.txt": {
			Kind: runtime.WaitPermission, Prompt: "Would you like to run the following command?\n\n$ touch RAN",
			Options: []string{
				"Yes, proceed (y)", "Yes, and don't ask again for commands that start with `touch` (p)",
				"No, and tell Codex what to do differently (esc)",
			},
			Metadata: map[string]string{"source": "screen", "text": "no", "input": "touch RAN", "why": "a person has to answer it", "rule": "permission"},
		},
		"gemini/permission.txt": {
			Kind: runtime.WaitPermission, Prompt: "? Shell touch RAN\n\nAllow execution of: 'touch'?",
			Options:  []string{"Allow once", "Allow for this session", "No, suggest changes (esc)"},
			Metadata: map[string]string{"source": "screen", "text": "no", "tool": "Shell", "input": "touch RAN", "why": "a person has to answer it", "rule": "permission"},
		},
		"gemini/permission.0-61-on-session.txt": {
			Kind: runtime.WaitPermission, Prompt: "? Shell  touch no1\n\n  touch no1\n\nAllow execution of [Shell]?",
			Options:  []string{"Allow once", "Allow for this session", "No, suggest changes (esc)"},
			Metadata: map[string]string{"source": "screen", "text": "no", "tool": "Shell", "input": "touch no1", "why": "a person has to answer it", "rule": "permission"},
		},
		"gemini/permission.0-61-long.txt": {
			Kind: runtime.WaitPermission, Prompt: "? Shell  Makes three files\n\n  for i in 1 2 3; do\n    touch\n" + long + "\n\n    echo done\n  done\n\nAllow execution of [Shell]?",
			Options:  []string{"Allow once", "Allow for this session", "No, suggest changes (esc)"},
			Metadata: map[string]string{"source": "screen", "text": "no", "tool": "Shell", "input": "for i in 1 2 3; do\n  touch\n" + strings.ReplaceAll(long, "  ", "") + "\n\n  echo done\ndone", "why": "a person has to answer it", "rule": "permission"},
		},
		"gemini/edit.0-61.txt": {
			Kind: runtime.WaitPermission, Prompt: "? Edit  old.txt: two => zwei\n\n  1   one\n  2 - two\n  2 + zwei\n  3   three\n\nApply this change?",
			Options:  []string{"Allow once", "Allow for this session", "Modify with external editor", "No, suggest changes (esc)"},
			Metadata: map[string]string{"source": "screen", "text": "no", "tool": "Edit", "input": "old.txt: two => zwei", "why": "a person has to answer it", "rule": "edit"},
		},
		"claude/limit-hit.txt": {
			Kind: runtime.WaitLimit, Prompt: "You've hit your limit · resets 3pm\n\nWhat do you want to do?",
			Options:  []string{"Stop and wait for limit to reset", "Request more"},
			Metadata: map[string]string{"source": "screen", "text": "no", "rule": "limit-hit", "suggest": "Stop and wait for limit to reset"},
		},
	}
	for path, want := range tests {
		t.Run(path, func(t *testing.T) {
			_, rows := readFrame(t, filepath.Join(corpus, path))
			got := Sense(Frame{Seq: 1, Rows: rows}, profileRules(t, filepath.Dir(path)), time.Now()).Pending
			if got == nil {
				t.Fatal("nothing is pending")
			}
			if got.RequestID == "" {
				t.Error("it has no name")
			}
			got.RequestID = ""
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
	paths, err := filepath.Glob(filepath.Join(corpus, "*", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		_, rows := readFrame(t, path)
		r := Sense(Frame{Seq: 1, Rows: rows}, profileRules(t, filepath.Base(filepath.Dir(path))), time.Now())
		e := r.Evidence[len(r.Evidence)-1]
		if r.Pending == nil || e.Activity != runtime.ActivityWaiting && e.Activity != runtime.ActivityLimited || strings.TrimSpace(r.Pending.Prompt) == "" {
			t.Errorf("%s: %+v with %+v, want a question", path, e, r.Pending)
		}
	}
}

// TestNameOfAQuestion: moving the highlighted row does not make it another question, other
// words or options do.
// TestALogoIsNoPartOfAQuestion: rows of a moving picture above a question are neither shown nor
// part of its name; a picture below its first words stays, for it may hide nothing.
func TestALogoIsNoPartOfAQuestion(t *testing.T) {
	rows := func(logo ...string) []string {
		return append(logo, "", "Do you trust the contents of this directory?", "", "› 1. Yes, continue", "  2. No, quit", "", "  Press enter to continue")
	}
	var names []string
	for _, logo := range [][]string{{" ⣿⣿⡇  ⢸⣿", "  ⠙⠻⠿⠟⠋"}, {" ⣿⣿⡇", "  ⠙⠿⠟⠋ ▝▘"}} {
		lines := belowArt(rows(logo...)[:4])
		if got := strings.Join(lines, "\n"); got != "Do you trust the contents of this directory?" {
			t.Errorf("the question is %q", got)
		}
		r := Sense(Frame{Rows: rows(logo...)}, RulesFor(runtime.Config{ProviderName: "codex", ProviderOverlayName: "codex"}, agentcli.Builtin()), time.Now())
		if r.Pending == nil || strings.Contains(r.Pending.Prompt, "⣿") || !strings.Contains(r.Pending.Prompt, "Do you trust") {
			t.Fatalf("the question is %+v", r.Pending)
		}
		names = append(names, r.Pending.RequestID)
	}
	if names[0] != names[1] {
		t.Errorf("another frame of the logo makes another question: %v", names)
	}
	if kept := belowArt([]string{"Run this?", "⣿⣿⣿⣿⣿⣿", "rm -rf /"}); len(kept) != 3 {
		t.Errorf("a picture inside a question cuts it: %q", kept)
	}
}

func TestNameOfAQuestion(t *testing.T) {
	rules := profileRules(t, "claude")
	name := func(rows ...string) string {
		r := Sense(Frame{Seq: 1, Rows: rows}, rules, time.Now())
		if r.Pending == nil {
			t.Fatalf("nothing is pending on %q", rows)
		}
		return r.Pending.RequestID
	}
	rule := strings.Repeat("─", 60)
	first := name(rule, " Go on?", "", " ❯ 1. Yes", "   2. No")
	if got := name("● talk", rule, " Go on?", "", "   1. Yes", " ❯ 2. No"); got != first {
		t.Error("moving the cursor or the conversation gives it another name")
	}
	names := []string{
		first, name(rule, " Go on now?", "", " ❯ 1. Yes", "   2. No"), name(rule, " Go on?", "", " ❯ 1. Yes", "   2. Never"),
		name(rule, " Go on?", "", " ❯ 1. Yes", "   2. No", "   3. Later"),
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 4 {
		t.Errorf("different questions share a name: %q", names)
	}
}

// A clock does not make it another question, a number in a command does.
func TestNameOfATickingQuestion(t *testing.T) {
	rules := profileRules(t, "claude")
	rule := strings.Repeat("─", 60)
	name := func(rows ...string) string {
		r := Sense(Frame{Seq: 1, Rows: rows}, rules, time.Now())
		if r.Pending == nil {
			t.Fatalf("nothing is pending on %q", rows)
		}
		return r.Pending.RequestID
	}
	clocks := []string{"9s", "12s", "59.5s", "1m 0s", "0:31", "1:02:03", "2 minutes"}
	faces := map[string]func(clock string) []string{
		"waiting": func(clock string) []string {
			return []string{rule, " Bash command", "", "   rm -rf build", "   Remove it", "", " Do you want to proceed? (" + clock + ")", " ❯ 1. Yes", "   2. No", "", " Esc to cancel"}
		},
		"in words": func(clock string) []string {
			return []string{rule, " Go on? It is denied in " + clock + ".", "", " ❯ 1. Yes", "   2. No (esc to cancel, " + clock + " of 10m)"}
		},
		"left": func(clock string) []string {
			return []string{rule, " Go on? " + clock + " left", "", " ❯ 1. Yes", "   2. No"}
		},
		"working": func(clock string) []string {
			return []string{"● Working", "✽ Simmering… (" + clock + " · ↑ 1.2k tokens · esc to interrupt)", "", "Do you want to proceed?", "❯ 1. Yes", "  2. No", "", "Esc to cancel"}
		},
	}
	for what, face := range faces {
		for _, clock := range clocks[1:] {
			if name(face(clocks[0])...) != name(face(clock)...) {
				t.Errorf("%s: with %q instead of %q it is another question", what, clock, clocks[0])
			}
		}
	}
	command := func(command string) string {
		return name(rule, " Bash command", "", "   "+command, "   Do it", "", " Do you want to proceed? (3s)", " ❯ 1. Yes", "   2. No", "", " Esc to cancel")
	}
	for _, pair := range [][2]string{{"sleep 5s", "sleep 50s"}, {"at in 5m", "at in 6m"}, {"echo (5s)", "echo (6s)"}, {"rm 1", "rm 2"}} {
		if command(pair[0]) == command(pair[1]) {
			t.Errorf("%q and %q are the same question", pair[0], pair[1])
		}
	}
}

func TestPendingByStatus(t *testing.T) {
	rules, now := profileRules(t, "claude"), time.Now()
	rule := strings.Repeat("─", 60)
	rows := []string{"● Which branch?", "", rule, "❯ ", rule, "  ? for shortcuts"}
	frame := func(status string, age time.Duration) Frame {
		return Frame{Seq: 1, Rows: rows, Signs: vt.Signs{Status: vt.Sign{Text: status, Since: now.Add(-age)}}, LastOutput: now.Add(-age)}
	}
	if r := Sense(frame("state=blocked:kind=question", 50*time.Millisecond), rules, now); r.Pending != nil || !r.Again.Equal(now.Add(250*time.Millisecond)) {
		t.Errorf("%+v, want to look again for its words", r)
	}
	for status, kind := range map[string]string{
		"state=blocked:kind=question": runtime.WaitQuestion, "state=blocked:kind=permission": runtime.WaitPermission,
		"state=blocked": runtime.WaitQuestion, "status=blocked;kind=dialog": runtime.WaitMenu,
	} {
		r := Sense(frame(status, time.Second), rules, now)
		if r.Pending == nil || r.Pending.Kind != kind || r.Pending.Prompt != "● Which branch?" || r.Pending.Metadata[runtime.MetaSource] != "osc7501" {
			t.Errorf("%s: %+v, want a %s", status, r.Pending, kind)
		}
	}
	// A login that is needed beside an input box is no question: there is nothing to answer.
	login := Sense(frame("state=blocked:kind=auth:msg=V2hpY2g/", time.Second), rules, now)
	if e := login.Evidence[0]; login.Pending != nil || e.Activity != runtime.ActivityIdle || e.Obstacle.Kind != runtime.ObstacleLogin || e.Obstacle.Detail != "Which?" {
		t.Errorf("a login beside an input box is %+v with %+v, want an obstacle of an agent that takes prompts", login.Pending, login.Evidence[0])
	}
	noBox := frame("state=blocked:kind=auth", time.Second)
	noBox.Rows = []string{"Open this address in a browser", "", "Paste the code here"}
	if r := Sense(noBox, rules, now); r.Pending == nil || r.Pending.Kind != runtime.WaitLogin {
		t.Errorf("a login that fills the screen is %+v, want a question", r.Pending)
	}
	said := Sense(frame("state=blocked:kind=question:msg=V2hpY2g/", time.Second), rules, now).Pending
	if said == nil || said.Prompt != "Which?" {
		t.Errorf("%+v, want the program's own words", said)
	}
	again := frame("state=blocked:kind=question:msg=V2hpY2g/", 2*time.Second)
	if got := Sense(again, rules, now).Pending; got.RequestID == said.RequestID {
		t.Error("the next report of a question has the name of the one before")
	}
	drawn := frame("state=blocked:kind=question", 10*time.Millisecond)
	drawn.Rows = []string{rule, " Which?", "", " ❯ 1. A", "   2. B"}
	if got := Sense(drawn, rules, now).Pending; got == nil || got.Kind != runtime.WaitQuestion || got.Prompt != "Which?" {
		t.Errorf("%+v, want what is drawn, at once, with the kind that is reported", got)
	}
	if got := Sense(frame("state=working", time.Second), rules, now).Pending; got != nil {
		t.Errorf("%+v, want nothing", got)
	}
}

// TestSourcesSpeakForThemselves: each source is one piece of evidence with its own age.
func TestSourcesSpeakForThemselves(t *testing.T) {
	rule := strings.Repeat("─", 60)
	now := time.Now()
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	f := Frame{
		Seq: 1, Rows: []string{rule, "❯ ", rule, "  ? for shortcuts"}, LastOutput: ago(4),
		Signs: vt.Signs{
			Status:   vt.Sign{Text: "state=working:progress=40", Since: ago(1)},
			Progress: vt.Sign{Text: "3;0", Since: ago(2)}, Mark: vt.Sign{Text: "A", Since: ago(3)},
		},
	}
	got := Sense(f, profileRules(t, "claude"), now).Evidence
	want := []runtime.Evidence{
		{Source: runtime.SourceStatus, Activity: runtime.ActivityBusy, Since: ago(1), Detail: "status working 40%"},
		{Source: runtime.SourceProgress, Activity: runtime.ActivityBusy, Since: ago(2), Detail: "progress 3;0"},
		{Source: runtime.SourceMark, Activity: runtime.ActivityReady, Since: ago(3), Detail: "mark A"},
		{Source: runtime.SourceScreen, Activity: runtime.ActivityIdle, Since: ago(4), Detail: "input box, idle mark"},
	}
	for i := range want {
		want[i].At = now
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	f.Status, f.Progress, f.Mark = vt.Sign{Text: "id=x:state=working"}, vt.Sign{Text: "2;10"}, vt.Sign{Text: "C"}
	got = Sense(f, profileRules(t, "claude"), now).Evidence
	if len(got) != 2 || got[0].Source != runtime.SourceMark || got[0].Activity != runtime.ActivityBusy {
		t.Errorf("%+v, want the mark and the screen alone", got)
	}
}
