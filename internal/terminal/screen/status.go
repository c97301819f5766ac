package screen

import (
	"strconv"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// Program returns the program's own report; its State is empty if there is none.
func (f Frame) Program() vt.Status {
	s, _ := vt.ParseStatus(f.Status.Text)
	return s
}

// statusKind maps a kind of the program status protocol.
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

// dialogKind maps a kind of dialog.
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

// reported returns what the program says itself. A turn that ended badly has ended too.
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

// report is [Frame.reported] in view of the screen: a program that waits for a login, and shows
// no dialog for it, takes prompts.
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

// progress returns what OSC 9;4 says: something goes on. That it ended badly, or is over, says
// nothing of what comes next.
func (f Frame) progress() (runtime.Evidence, bool) {
	text := f.Progress.Text
	if text == "" || text[0] == '0' || text[0] == '2' {
		return runtime.Evidence{}, false
	}
	return runtime.Evidence{
		Source: runtime.SourceProgress, Activity: runtime.ActivityBusy, Since: f.Progress.Since, Detail: "progress " + text,
	}, true
}

// marked is what the marks of shell integration say.
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
