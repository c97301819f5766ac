package screen

import (
	"strings"
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// TestObstaclesOnScreens reads rows that real agent CLIs drew when their model failed.
func TestObstaclesOnScreens(t *testing.T) {
	at := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	rule := strings.Repeat("─", 60)
	claude := func(rows ...string) []string {
		return append(rows, "", rule, "❯ ", rule, "  ⏵⏵ bypass permissions on (shift+tab to cycle)")
	}
	edge := strings.Repeat("▀", 60)
	gemini := func(rows ...string) []string {
		return append(rows, "", "", strings.Repeat(" ", 60)+"? for shortcuts", rule, " YOLO Ctrl+Y", strings.Repeat("▄", 60), " *   Type your message or @path/to/file", edge, " workspace (/directory)   sandbox   /model", " /root/work   no sandbox   gemini-2.5-flash")
	}
	for name, c := range map[string]struct {
		profile, title string
		rows           []string
		want           runtime.Obstacle
	}{
		"claude retries": {
			"claude", "⠂ work", claude("❯ Prompt for 429", "✻ 429 mock rate_limit_error · retrying in 3s · attempt 4/10"),
			runtime.Obstacle{Kind: runtime.ObstacleRetrying, Detail: "429 mock rate_limit_error", Attempt: 4, Of: 10, NextTry: at.Add(3 * time.Second)},
		},
		"claude needs a login": {
			"claude", "✳ work", claude("❯ Prompt for 403", "● Please run /login · API Error: 403 mock forbidden"),
			runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: "Please run /login · API Error: 403 mock forbidden"},
		},
		"claude failed": {
			"claude", "✳ work", claude("❯ Prompt for 500", "● API Error: 500 mock failure"),
			runtime.Obstacle{Kind: runtime.ObstacleError, Detail: "API Error: 500 mock failure"},
		},
		"claude worked since": {
			"claude", "✳ work", claude("● API Error: 500 mock failure", "❯ Again", "● This is answer 2."), runtime.Obstacle{},
		},
		"codex retries": {
			"codex", "⠏ work",
			[]string{"› Prompt", "", "• Reconnecting... 2/5 (8s • esc to interrupt)", "", "› Ask Codex to do anything", "", "  mock · ~/work"},
			runtime.Obstacle{Kind: runtime.ObstacleRetrying, Attempt: 2, Of: 5},
		},
		"codex failed": {
			"codex", "work",
			[]string{"› Prompt", "", "■ exceeded retry limit, last status: 429 Too Many Requests", "", "› Ask Codex to do anything", "", "  mock · ~/work"},
			runtime.Obstacle{Kind: runtime.ObstacleError, Detail: "exceeded retry limit, last status: 429 Too Many Requests"},
		},
		"pi has no network": {
			"pi", "",
			[]string{"Prompt", " Error: Connection error.", "── ⠧ Retrying (1/3) in 1s... (escape to cancel) " + rule, "", rule, " ~/work"},
			runtime.Obstacle{Kind: runtime.ObstacleNoNetwork, Detail: "Connection error.", Attempt: 1, Of: 3, NextTry: at.Add(time.Second)},
		},
		"pi answered at a later attempt": {
			"pi", "", []string{"Prompt", "", " Error: 529: Overloaded", "", " This is answer 3.", "", rule, "", rule, " ~/work"}, runtime.Obstacle{},
		},
		"gemini failed": {
			"gemini", "◇  Ready (work)",
			gemini(" > Prompt for 403", edge, `✕ [API Error: {"error":{"code":403,"message":"mock forbidden","status":"PERMISSION_ERROR"},"type":"error"}]`, "", "",
				`ℹ This request failed. Press F12 for diagnostics, or run /settings and change "Error Verbosity" to full for full`, "  details."),
			runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: `[API Error: {"error":{"code":403,"message":"mock forbidden","status":"PERMISSION_ERROR"},"type":"error"}]`},
		},
		"gemini answered about a key": {
			"gemini", "◇  Ready (work)", gemini(" > Prompt", edge, "✕ [API Error: old]", "", "✦ Press Ctrl+Y to allow it; all is done."), runtime.Obstacle{},
		},
		"gemini worked since": {
			"gemini", "◇  Ready (work)", gemini(" > Prompt", edge, "✕ [API Error: 403]", rule, " > Again", edge, "✦ Press Ctrl+Y."), runtime.Obstacle{},
		},
		"opencode retries": {
			"opencode", "",
			[]string{"Ask anything", "", "⬝⬝■■■■■■ Provider is overloaded [retrying in 7s attempt #3]      esc interrupt"},
			runtime.Obstacle{Kind: runtime.ObstacleRetrying, Detail: "Provider is overloaded", Attempt: 3, NextTry: at.Add(7 * time.Second)},
		},
	} {
		p, err := agentcli.Builtin().Get(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		r := Sense(Frame{Rows: c.rows, Title: c.title, LastOutput: at}, Rules{Screen: p.Screen, Dialogs: p.Dialogs}, at.Add(time.Second))
		var got runtime.Evidence
		for _, e := range r.Evidence {
			if e.Source == runtime.SourceScreen {
				got = e
			}
		}
		if got.Obstacle != c.want {
			t.Errorf("%s: the screen says %+v (%s, %s), want %+v", name, got.Obstacle, got.Activity, got.Detail, c.want)
		}
	}
}
