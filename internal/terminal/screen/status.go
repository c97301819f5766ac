package screen

import (
	"strconv"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// Program returns the status that the program has reported. Its State is empty if there is none.
func (f Frame) Program() vt.Status {
	s, _ := vt.ParseStatus(f.Status.Text)
	return s
}

// statusKind converts a kind of the program status protocol to a runtime kind of wait.
func statusKind(kind string) string {
	switch kind {
	case "permission":
		return runtime.WaitPermission
	case "auth":
		return runtime.WaitLogin
	case "", "question":
		return runtime.WaitQuestion
	default:
		return runtime.WaitMenu
	}
}

// dialogKind converts a kind of dialog to a runtime kind of wait.
func dialogKind(kind agentcli.DialogKind) string {
	switch kind {
	case agentcli.DialogTool, agentcli.DialogTrust, agentcli.DialogBypass, agentcli.DialogMCP, agentcli.DialogHooks, agentcli.DialogImports:
		return runtime.WaitPermission
	case agentcli.DialogLogin, agentcli.DialogAuth, agentcli.DialogAPIKey:
		return runtime.WaitLogin
	case agentcli.DialogLimit:
		return runtime.WaitLimit
	default:
		return runtime.WaitMenu
	}
}

// reported returns the evidence of the program's own status. A turn that ended with an error counts as idle, with an
// obstacle.
func (f Frame) reported() (runtime.Evidence, bool) {
	s := f.Program()
	e := runtime.Evidence{Source: runtime.SourceStatus, Since: f.Status.Since, Detail: "status " + s.State}
	switch s.State {
	case "working":
		e.Activity = runtime.ActivityBusy
		if s.Progress >= 0 {
			e.Detail += " " + strconv.Itoa(s.Progress) + "%"
		}
	case "idle", "done":
		e.Activity = runtime.ActivityIdle
	case "error":
		e.Activity, e.Obstacle = runtime.ActivityIdle, runtime.Obstacle{Kind: agentcli.ErrorKind(s.Message), Detail: s.Message}
	case "blocked":
		e.Activity, e.Kind = runtime.ActivityWaiting, statusKind(s.Kind)
	default:
		return e, false
	}
	if s.Message != "" {
		e.Detail += ": " + s.Message
	}
	return e, true
}

// report returns the evidence of [Frame.reported], corrected by the screen. A program that waits for a login and shows no
// dialog counts as idle, because it accepts prompts.
func (v Snapshot) report(rules Rules) (runtime.Evidence, bool) {
	e, ok := v.reported()
	if ok && v.NeedsLogin(rules) {
		e.Activity, e.Kind = runtime.ActivityIdle, ""
		e.Obstacle = runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: v.Program().Message}
		if shown := v.obstacle(rules.Screen, v.InputBox(rules.Screen.InputBox), false); e.Obstacle.Detail == "" {
			e.Obstacle.Detail = shown.Detail
		}
	}
	return e, ok
}

// progress returns the evidence of OSC 9;4: the program is busy. A report that progress has ended or failed is no evidence.
func (f Frame) progress() (runtime.Evidence, bool) {
	text := f.Progress.Text
	if text == "" || text[0] == '0' || text[0] == '2' {
		return runtime.Evidence{}, false
	}
	return runtime.Evidence{
		Source: runtime.SourceProgress, Activity: runtime.ActivityBusy, Since: f.Progress.Since, Detail: "progress " + text,
	}, true
}

// shellMark returns the evidence of the shell integration marks (OSC 133).
func (f Frame) shellMark() (runtime.Evidence, bool) {
	e := runtime.Evidence{Source: runtime.SourceMark, Since: f.Mark.Since, Detail: "mark " + f.Mark.Text}
	switch f.Mark.Text {
	case "A", "B", "D":
		e.Activity = runtime.ActivityReady
	case "C":
		e.Activity = runtime.ActivityBusy
	default:
		return e, false
	}
	return e, true
}
