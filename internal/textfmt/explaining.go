package textfmt

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// errorPattern makes an output line more or less likely to explain why a program failed.
type errorPattern struct {
	weight  int
	pattern *regexp.Regexp
}

// errorPatterns returns the patterns. They are compiled at the first call, because most commands do not need them. An error label such
// as "error:" has more weight than a word of failure. A hint or a stack frame has a negative weight.
var errorPatterns = sync.OnceValue(func() []errorPattern {
	return []errorPattern{
		{8, regexp.MustCompile(`(?i)^\W*(?:[\w./-]+: )*(?:\w*(?:error|exception)|fatal|panic|failed|failure)\b(?: \[?\w+\]?)?:|^thread '.*' panicked`)},
		{5, regexp.MustCompile(`(?i)\b(?:failed to|unable to|cannot|can't|could not|couldn't|not found|no such|permission denied|access denied|not permitted|not allowed|cannot be used|invalid|unknown|unrecognized|unexpected|unauthorized|refused|timed out|timeout|missing|expired|not logged in|exceeded|out of memory|no space left|panicked)\b`)},
		{3, regexp.MustCompile(`\bE(?:NOTFOUND|CONN\w+|ACCES|PERM|NOENT|EXIST|ADDR\w+|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN|MFILE|NOSPC|PIPE|INVAL)\b`)},
		{-9, regexp.MustCompile(`(?i)^\W*(?:note|hint|tip|help|usage|warning|info|debug|see|try|run|for more|please|learn more|at\s+\S+\s+\(|at\s+(?:async\s+)?\S+:\d+|node\.js v|file ")`)},
	}
})

// errorLineWindow is the number of lines at the end of an output that are examined.
const errorLineWindow = 40

// ErrorLine returns the line of a program's output that most likely explains why it failed: the line with the highest score
// among the last lines, the later one if scores are equal. If no line has a positive score, it returns the last line with a
// letter or a digit. The result is safe for a table; it is empty if there is no such line.
func ErrorLine(output string) string {
	lines := strings.Split(strings.TrimRight(output, " \t\r\n"), "\n")
	lines = lines[max(0, len(lines)-errorLineWindow):]
	best, score, last := "", 0, ""
	for _, raw := range lines {
		line := OneLine(strings.TrimSpace(raw))
		if !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			continue
		}
		last = line
		if s := errorScore(line); s > 0 && s >= score {
			best, score = line, s
		}
	}
	if best == "" {
		return last
	}
	return best
}

// errorScore returns the score of a line as an explanation of a failure.
func errorScore(line string) int {
	score := 0
	for _, p := range errorPatterns() {
		if p.pattern.MatchString(line) {
			score += p.weight
		}
	}
	return score
}
