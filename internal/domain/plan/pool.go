package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Pool is a group of sessions of one agent. gc starts and stops members to match the wanted
// number.
type Pool struct {
	Agent    string   // the qualified name in the configuration
	Members  []string // the qualified names of its sessions' agents: Members[0] is number 1
	Min, Max int
	// Check is the shell command that prints how many members are wanted, see [ParseCount]. Empty:
	// the minimum is wanted.
	Check string
	Dir   string // where the check runs, absolute
	Env   map[string]string
	// DrainTimeout is how long a member that is no longer wanted may take to finish its work.
	DrainTimeout time.Duration
}

// isMember reports whether the name of an agent is that of a current or previous member of the pool.
// The pool's own name counts, because a single agent may have become a pool.
func (p *Pool) isMember(agent string) bool {
	if agent == p.Agent {
		return true
	}
	digits, ok := strings.CutPrefix(agent, p.Agent+"-")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n > 0 && strconv.Itoa(n) == digits
}

// ParseCount returns the number of wanted members from the output of a pool's check. It is a whole
// number in the last line that is not blank. Earlier lines are ignored.
func ParseCount(output []byte) (int, error) {
	text := strings.TrimSpace(string(output))
	last := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if last == "" {
		return 0, fmt.Errorf("the check printed nothing; its last line must be the number of members")
	}
	n, err := strconv.Atoi(last)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("the last line of the check is %s; it must be the number of members, such as 3", excerpt(last))
	}
	return n, nil
}

// excerpt returns the first 60 characters of a text in quotes.
func excerpt(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}
