package screen

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// limitRows is the number of rows above the input box in which a limit counts. A limit further up is over.
const limitRows = 4

// limited returns the row that reports a usage limit, and the part of its text about the end of the limit.
func (v Snapshot) limited(s agentcli.Screen) (row, until string, ok bool) {
	bottom, seen := len(v.rows), 0
	if c := v.InputBox(s.InputBox); c.Found {
		bottom = c.top
	}
	for y, row := range slices.Backward(v.rows[:bottom]) {
		row = strings.TrimSpace(row)
		if rule, _ := ruleRow(row); row == "" || rule {
			continue
		}
		if until, ok := limitIn(row, s); ok && !v.inPrompt(y, s.InputBox) {
			return row, until, true
		}
		if seen++; seen >= limitRows || hasMark(row, s.InputBox.Marks) {
			break
		}
	}
	return "", "", false
}

// inPrompt reports whether row y is a part of a submitted prompt: it has the mark of the input box, or is an indented row
// below such a row. The program's own text begins in the first column or with "⎿".
func (v Snapshot) inPrompt(y int, c agentcli.InputBox) bool {
	for i, row := range slices.Backward(v.rows[:y+1]) {
		text := strings.TrimLeft(row, " ")
		switch {
		case hasMark(row, c.Marks):
			return true
		case text == "" && i < y:
		case text == row, i == y && strings.HasPrefix(text, "⎿"):
			return false
		}
	}
	return false
}

// limitIn reports whether one row reports a limit, and returns its text about the end. A row of a program that retries by
// itself is no limit.
func limitIn(row string, s agentcli.Screen) (until string, ok bool) {
	if agentcli.MatchAny(s.Busy, row) {
		return "", false
	}
	for _, p := range s.Limit {
		if text, ok := p.Find(row); ok {
			if text == row { // the pattern has no group, or the group matched everything
				text = ""
			}
			return text, true
		}
	}
	return "", false
}

// LimitIn reports whether the last lines of a program's output report a usage limit of the model provider. It returns the
// end of the limit, zero if not known, and the line. at is the time of the output. It is a pure function.
func LimitIn(text string, rules Rules, at time.Time) (until time.Time, line string, ok bool) {
	seen := 0
	for _, row := range slices.Backward(strings.Split(text, "\n")) {
		row = strings.TrimSpace(clean(row))
		if row == "" {
			continue
		}
		if end, ok := limitIn(row, rules.Screen); ok {
			return parseUntil(end, at), row, true
		}
		if seen++; seen >= lastRows {
			break
		}
	}
	return time.Time{}, "", false
}

// Last returns the evidence of a usage limit in the last lines of a program that has exited; nil if there is none. at is the
// time of the exit.
func Last(text string, rules Rules, at time.Time) *runtime.Evidence {
	until, line, ok := LimitIn(text, rules, at)
	if !ok {
		return nil
	}
	e := evidenceFromScreen(runtime.ActivityLimited, "%s", line)
	e.Until, e.Since, e.At = until, at, at
	return &e
}

// lastRows is the number of last rows in which LimitIn searches.
const lastRows = 12

var (
	isoTime  = sync.OnceValue(pattern(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?`))
	duration = sync.OnceValue(pattern(`(?i)\b(\d+)\s*(d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)\b`))
	clock    = sync.OnceValue(pattern(`(?i)\b(\d{1,2})(?::(\d\d))?\s*(am|pm)?\b`))
	monthDay = sync.OnceValue(pattern(`(?i)\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})\b(?:,?\s+(\d{4}))?`))
	zone     = sync.OnceValue(pattern(`\(([A-Za-z]+(?:/[A-Za-z_]+)*)\)|\b(UTC|GMT)\b`))
)

// parseUntil parses the end of a limit: a timestamp, a duration, or a time of day with or without a date. A duration counts
// from at. A time of day is the next one after at. It returns the zero time if it cannot parse the text.
func parseUntil(text string, at time.Time) time.Time {
	if at.IsZero() || strings.TrimSpace(text) == "" {
		return time.Time{}
	}
	place := at.Location()
	if m := zone().FindStringSubmatch(text); m != nil {
		if found, err := time.LoadLocation(m[1] + m[2]); err == nil {
			place, text = found, strings.Replace(text, m[0], "", 1)
		}
	}
	if m := isoTime().FindString(text); m != "" {
		return parseTimestamp(m, place)
	}
	if d := parseWait(text); d > 0 {
		return at.Add(d)
	}
	return parseClock(text, at.In(place))
}

// parseTimestamp parses an ISO 8601 timestamp. place is its time zone if it has none.
func parseTimestamp(text string, place *time.Location) time.Time {
	text = strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, place); err == nil {
			return t
		}
	}
	return time.Time{}
}

// parseWait returns the sum of all durations in the text, such as "1h 30m"; zero if there are none.
func parseWait(text string) (sum time.Duration) {
	for _, m := range duration().FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 10_000 {
			return 0
		}
		unit := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}[strings.ToLower(m[2])[0]]
		sum += time.Duration(n) * unit
	}
	return sum
}

// parseClock parses a time of day, with or without a date, and returns its next occurrence after at.
func parseClock(text string, at time.Time) time.Time {
	year, month, day := at.Date()
	dated := monthDay().FindStringSubmatch(text)
	if dated != nil {
		text = strings.Replace(text, dated[0], "", 1)
		named, err := time.Parse("Jan", strings.ToUpper(dated[1][:1])+strings.ToLower(dated[1][1:3]))
		if err != nil {
			return time.Time{}
		}
		month = named.Month()
		day, _ = strconv.Atoi(dated[2]) // digits
		if dated[3] != "" {
			year, _ = strconv.Atoi(dated[3]) // digits
		}
	}
	hour, minute, ok := timeOfDay(text)
	if !ok && dated == nil {
		return time.Time{}
	}
	t := time.Date(year, month, day, hour, minute, 0, 0, at.Location())
	switch {
	case t.After(at):
	case dated != nil && dated[3] == "":
		t = t.AddDate(1, 0, 0)
	case dated == nil:
		t = t.AddDate(0, 0, 1)
	}
	return t
}

// timeOfDay parses "3pm", "3:30 pm" or "15:04". ok is false for a number alone.
func timeOfDay(text string) (hour, minute int, ok bool) {
	m := clock().FindStringSubmatch(text)
	if m == nil || m[2] == "" && m[3] == "" {
		return 0, 0, false
	}
	hour, _ = strconv.Atoi(m[1])   // digits
	minute, _ = strconv.Atoi(m[2]) // digits, or none for 0
	switch strings.ToLower(m[3]) {
	case "am", "pm":
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		hour %= 12
		if strings.EqualFold(m[3], "pm") {
			hour += 12
		}
	}
	return hour, minute, hour < 24 && minute < 60
}
