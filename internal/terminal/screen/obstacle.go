package screen

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// obstacle returns the problem that keeps the agent from making progress, by the rows above the input box. During a turn it
// is a request that is retried, otherwise the error that ended the last turn.
func (v Snapshot) obstacle(s agentcli.Screen, c InputBox, busy bool) runtime.Obstacle {
	if busy {
		return v.retrying(s, c)
	}
	for _, row := range v.last(s, c) {
		if detail, ok := failedIn(row, s); ok {
			return runtime.Obstacle{Kind: agentcli.ErrorKind(detail), Detail: detail}
		}
	}
	return runtime.Obstacle{}
}

// retrying returns the obstacle for a request that is retried, by the rows of the live part of the screen. If the row of the
// retry does not contain the error, a row above it that reports a failure does.
func (v Snapshot) retrying(s agentcli.Screen, c InputBox) (o runtime.Obstacle) {
	for _, row := range slices.Backward(v.rows[max(0, v.liveTop(c)):]) {
		row = strings.TrimSpace(row)
		if o.Kind != "" {
			if detail, ok := failedIn(row, s); ok {
				o.Detail = detail
				break
			}
			continue
		}
		for _, p := range s.Retrying {
			groups, ok := p.Groups(row)
			if !ok {
				continue
			}
			o = runtime.Obstacle{Kind: runtime.ObstacleRetrying, Detail: groups["detail"]}
			o.Attempt, _ = strconv.Atoi(groups["attempt"]) // digits, or none for 0
			o.Of, _ = strconv.Atoi(groups["of"])           // the same
			if wait := parseWait(groups["wait"]); wait > 0 && !v.LastOutput.IsZero() {
				o.NextTry = v.LastOutput.Add(wait).Truncate(time.Second)
			}
			break
		}
		if o.Detail != "" {
			break
		}
	}
	if o.Kind != "" {
		o.Kind = agentcli.RetryKind(o.Detail)
	}
	return o
}

// last returns the rows of the last paragraph of the conversation, the lowest first. Errors further up do not count, because
// a later attempt may have succeeded. A paragraph with a hint is not part of the conversation.
func (v Snapshot) last(s agentcli.Screen, c InputBox) (rows []string) {
	bottom := len(v.rows)
	if c.Found {
		bottom = c.top
	}
	for _, row := range slices.Backward(v.rows[:bottom]) {
		row = strings.TrimSpace(row)
		rule, _ := ruleRow(row)
		if row == "" || rule {
			if len(rows) > 0 && !hasHint(rows, s) {
				break
			}
			rows = nil
			continue
		}
		rows = append(rows, row)
		if len(rows) >= failedRows || hasMark(row, s.InputBox.Marks) {
			break
		}
	}
	return rows
}

// hasHint reports whether one of the rows is a hint of the program.
func hasHint(rows []string, s agentcli.Screen) bool {
	return slices.ContainsFunc(rows, func(row string) bool { return agentcli.MatchAny(s.Hints, row) })
}

// failedRows is the number of rows above the input box in which an error of the last turn counts.
const failedRows = 6

// failedIn reports whether a row reports a failure, and returns its detail.
func failedIn(row string, s agentcli.Screen) (detail string, ok bool) {
	for _, p := range s.Failed {
		if groups, ok := p.Groups(row); ok {
			return groups["detail"], true
		}
	}
	return "", false
}

// NeedsLogin reports whether the program reports that it waits for a login, but shows its input box and no dialog. There is
// nothing to answer then, and the next prompt may succeed.
func (v Snapshot) NeedsLogin(rules Rules) bool {
	s := v.Program()
	return s.State == "blocked" && statusKind(s.Kind) == runtime.WaitLogin && v.Dialog(rules) == nil && v.InputBox(rules.Screen.InputBox).Found
}
