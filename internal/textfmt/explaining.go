package textfmt

import (
	"regexp"
	"strings"
)

// Patterns that make an output line more or less likely to explain why a program failed.
var (
	errorLabel = regexp.MustCompile(`(?i)^\W*(?:[\w./-]+: )*(?:\w*(?:error|exception)|fatal|panic|failed|failure)\b(?: \[?\w+\]?)?:|^thread '.*' panicked`)
	errorWords = regexp.MustCompile(`(?i)\b(?:failed to|unable to|cannot|can't|could not|couldn't|not found|no such|permission denied|access denied|not permitted|not allowed|cannot be used|invalid|unknown|unrecognized|unexpected|unauthorized|refused|timed out|timeout|missing|expired|not logged in|exceeded|out of memory|no space left|panicked)\b`)
	errorCode  = regexp.MustCompile(`\bE(?:NOTFOUND|CONN\w+|ACCES|PERM|NOENT|EXIST|ADDR\w+|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN|MFILE|NOSPC|PIPE|INVAL)\b`)
	asideWords = regexp.MustCompile(`(?i)^\W*(?:note|hint|tip|help|usage|warning|info|debug|see|try|run|for more|please|learn more|at\s+\S+\s+\(|at\s+(?:async\s+)?\S+:\d+|node\.js v|file ")`)
	anyWord    = regexp.MustCompile(`[\pL\pN]`)
)

// The weights of the patterns. An error label such as "error:" has more weight than a word of failure. A hint or a stack frame
// has a negative weight.
const (
	labelWeight = 8
	wordsWeight = 5
	codeWeight  = 3
	asideWeight = -9
)

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
		if !anyWord.MatchString(line) {
			continue
		}
		last = line
		if s := scoreErrorLine(line); s > 0 && s >= score {
			best, score = line, s
		}
	}
	if best == "" {
		return last
	}
	return best
}

// scoreErrorLine returns the score of a line as an explanation of a failure.
func scoreErrorLine(line string) int {
	score := 0
	if errorLabel.MatchString(line) {
		score += labelWeight
	}
	if errorWords.MatchString(line) {
		score += wordsWeight
	}
	if errorCode.MatchString(line) {
		score += codeWeight
	}
	if asideWords.MatchString(line) {
		score += asideWeight
	}
	return score
}
