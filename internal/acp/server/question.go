package server

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"gascity/client"
	"gascity/internal/acp"
)

// ask sends each open question to the editor, once. It returns the reason if a question ends the turn: one without options, which
// the user answers with the next prompt. Otherwise the reason is empty.
func (t *turn) ask(open []client.Pending) (reason string) {
	for _, q := range open {
		if t.asked[q.ID] {
			continue
		}
		t.asked[q.ID] = true
		switch {
		case len(q.Options) > 0: // a person answers it, even if a rule must not
			t.questions.Go(func() { t.requestPermission(t.ctx, q) })
		case q.Why != "":
			_ = t.sendText("\n" + t.id + " asks what can only be answered at its terminal (" + q.Why + "): " + q.Prompt + "\n") // if the connection has ended, the turn ends too
		default:
			_ = t.sendText("\n" + q.Prompt + "\n") // if the connection has ended, the turn ends too
			return acp.StopEndTurn
		}
	}
	return ""
}

// requestPermission shows the user of the editor a question and sends the choice to the city. If someone has answered the
// question already, the city refuses the choice.
func (t *turn) requestPermission(ctx context.Context, q client.Pending) {
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
		return // the editor has cancelled, or does not answer the question
	}
	if _, err := t.City.Respond(ctx, q.ID, client.RespondRequest{Option: answer.Outcome.OptionID, By: t.By}); err != nil {
		_ = t.sendText("\ngc: the answer was not accepted: " + err.Error() + "\n") // the connection's end ends the turn
	}
}

// kindOf guesses from the label of an option whether it allows or rejects, once or always. Editors use that only for display; the
// answer is the number of the option.
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

// isLetter reports whether b is a letter from a to z.
func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }
