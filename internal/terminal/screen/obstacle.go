package screen

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// obstacle returns what keeps the agent from making progress by the rows above the input
// box: in a turn, a request that is repeated; else the error that ended the last turn.
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

// retrying returns the request that is repeated, by the rows of the live part of the screen.
// Where such a row does not have the error, the one above it that says that something failed has.
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

// last returns the rows of the last paragraph above the input box, the lowest first. What is
// further up was overcome: an attempt of the same turn may have succeeded.
func (v Snapshot) last(s agentcli.Screen, c InputBox) (rows []string) {
	bottom := len(v.rows)
	if c.Found {
		bottom = c.top
	}
	for _, row := range slices.Backward(v.rows[:bottom]) {
		row = strings.TrimSpace(row)
		rule, _ := ruleRow(row)
		if (row == "" || rule) && len(rows) > 0 {
			break
		}
		if row == "" || rule {
			continue
		}
		rows = append(rows, row)
		if len(rows) >= failedRows || v.promptEcho(row, s.InputBox) {
			break
		}
	}
	return rows
}

// failedRows is how many rows above the input box may say how the last turn ended.
const failedRows = 6

func failedIn(row string, s agentcli.Screen) (detail string, ok bool) {
	for _, p := range s.Failed {
		if groups, ok := p.Groups(row); ok {
			return groups["detail"], true
		}
	}
	return "", false
}

// NeedsLogin reports whether the program says that it waits for a login, and shows its input
// box and no dialog: there is nothing to answer. The next prompt may succeed.
func (v Snapshot) NeedsLogin(rules Rules) bool {
	s := v.Program()
	return s.State == "blocked" && statusKind(s.Kind) == runtime.WaitLogin && v.Dialog(rules) == nil && v.InputBox(rules.Screen.InputBox).Found
}
