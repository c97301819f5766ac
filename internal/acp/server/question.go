package server

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"gascity/client"
	"gascity/internal/acp"
)

// ask shows the editor what the agent asks, each question once. What it has no options
// for ends the turn: the next prompt is the answer.
func (t *turn) ask(open []client.Pending) (reason string) {
	for _, q := range open {
		if t.asked[q.ID] {
			continue
		}
		t.asked[q.ID] = true
		switch {
		case len(q.Options) > 0: // also what no rule may answer: a person does
			t.questions.Go(func() { t.put(t.ctx, q) })
		case q.Why != "":
			_ = t.sendText("\n" + t.id + " asks what can only be answered at its terminal (" + q.Why + "): " + q.Prompt + "\n") // the connection's end ends the turn
		default:
			_ = t.sendText("\n" + q.Prompt + "\n") // as above
			return acp.StopEndTurn
		}
	}
	return ""
}

// put asks the editor for a permission and gives the city what it chose. A question that
// was answered elsewhere meanwhile is refused there, and nothing is lost.
func (t *turn) put(ctx context.Context, q client.Pending) {
	options := make([]acp.Option, len(q.Options))
	for i, label := range q.Options {
		options[i] = acp.Option{ID: strconv.Itoa(i + 1), Name: label, Kind: kindOf(label)}
	}
	call := map[string]any{"toolCallId": q.ID, "title": cmp.Or(q.Prompt, q.Tool, q.Kind), "status": "pending"}
	if q.Input != "" {
		call["rawInput"] = q.Input
	}
	var answer acp.PermissionResult
	err := t.conn.Call(ctx, acp.MethodPermission, map[string]any{"sessionId": t.id, "toolCall": call, "options": options}, &answer)
	if err != nil || answer.Outcome.OptionID == "" {
		return // the editor cancels the turn, or leaves the question to others
	}
	if _, err := t.City.Respond(ctx, q.ID, client.RespondRequest{Option: answer.Outcome.OptionID, By: t.By}); err != nil {
		_ = t.sendText("\ngc: the answer was not taken: " + err.Error() + "\n") // the connection's end ends the turn
	}
}

// kindOf guesses the kind of an option, which editors draw by; it is answered by its
// number, whatever its kind.
func kindOf(label string) string {
	words := strings.ToLower(label)
	ever := strings.Contains(words, "always") || strings.Contains(words, "don't ask again") || strings.Contains(words, "never")
	no := false
	for _, word := range []string{"no", "reject", "deny", "cancel", "never", "don't allow"} {
		rest, found := strings.CutPrefix(words, word)
		no = no || found && (rest == "" || !isLetter(rest[0]))
	}
	switch {
	case no && ever:
		return acp.RejectAlways
	case no:
		return acp.RejectOnce
	case ever:
		return acp.AllowAlways
	}
	return acp.AllowOnce
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }
