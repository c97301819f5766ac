package textfmt

import (
	"regexp"
	"strings"
	"sync"
)

// errorPatterns are the patterns that make an output line more or less likely to explain why a program failed.
type errorPatterns struct {
	label, words, code, aside *regexp.Regexp
	anyWord                   *regexp.Regexp // whether a line has a letter or a digit
}

// compiledErrorPatterns returns the patterns. They are compiled at the first call, because most commands do not need them.
var compiledErrorPatterns = sync.OnceValue(func() errorPatterns {
	return errorPatterns{
		label:   regexp.MustCompile(`(?i)^\W*(?:[\w./-]+: )*(?:\w*(?:error|exception)|fatal|panic|failed|failure)\b(?: \[?\w+\]?)?:|^thread '.*' panicked`),
		words:   regexp.MustCompile(`(?i)\b(?:failed to|unable to|cannot|can't|could not|couldn't|not found|no such|permission denied|access denied|not permitted|not allowed|cannot be used|invalid|unknown|unrecognized|unexpected|unauthorized|refused|timed out|timeout|missing|expired|not logged in|exceeded|out of memory|no space left|panicked)\b`),
		code:    regexp.MustCompile(`\bE(?:NOTFOUND|CONN\w+|ACCES|PERM|NOENT|EXIST|ADDR\w+|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN|MFILE|NOSPC|PIPE|INVAL)\b`),
		aside:   regexp.MustCompile(`(?i)^\W*(?:note|hint|tip|help|usage|warning|info|debug|see|try|run|for more|please|learn more|at\s+\S+\s+\(|at\s+(?:async\s+)?\S+:\d+|node\.js v|file ")`),
		anyWord: regexp.MustCompile(`[\pL\pN]`),
	}
})

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
	patterns := compiledErrorPatterns()
	best, score, last := "", 0, ""
	for _, raw := range lines {
		line := OneLine(strings.TrimSpace(raw))
		if !patterns.anyWord.MatchString(line) {
			continue
		}
		last = line
		if s := patterns.score(line); s > 0 && s >= score {
			best, score = line, s
		}
	}
	if best == "" {
		return last
	}
	return best
}

// score returns the score of a line as an explanation of a failure.
func (p errorPatterns) score(line string) int {
	score := 0
	if p.label.MatchString(line) {
		score += labelWeight
	}
	if p.words.MatchString(line) {
		score += wordsWeight
	}
	if p.code.MatchString(line) {
		score += codeWeight
	}
	if p.aside.MatchString(line) {
		score += asideWeight
	}
	return score
}
