package agentcli

import (
	"regexp"
	"slices"
	"sync"

	"gascity/runtime"
)

// Groups returns what the named groups of the pattern match at its first match in s, except for
// empty ones; ok is false if the pattern does not match.
func (p Pattern) Groups(s string) (groups map[string]string, ok bool) {
	if p.re == nil {
		return nil, false
	}
	found := p.re.FindStringSubmatch(s)
	if found == nil {
		return nil, false
	}
	groups = map[string]string{}
	for i, name := range p.re.SubexpNames() {
		if name != "" && found[i] != "" {
			groups[name] = found[i]
		}
	}
	return groups, true
}

// errorRule says by which words a failure is of a kind of obstacle.
type errorRule struct {
	kind  string
	words *regexp.Regexp
}

// errorRules are the rules for the kind of a failure. The first rule that matches counts. The
// numbers in them are HTTP statuses.
var errorRules = sync.OnceValue(func() []errorRule {
	return []errorRule{
		{runtime.ObstacleLimit, regexp.MustCompile(`(?i)\b(usage|session|weekly|daily|[0-9]+-hour) limit|\bquota (was |is |has been )?(exceeded|exhausted|reached)|exceeded your (current )?quota|insufficient_quota|credit balance is too low|out of credits|billing_error`)},
		{runtime.ObstacleLogin, regexp.MustCompile(`(?i)authentication_(error|failed)|permission_error|oauth_org_not_allowed|\b(run|use) /login\b|not logged in|log in again|(^|status:? |error:? |code:? )(401|403)\b|unauthorized\b|\bforbidden\b|invalid (x-)?api[- ]key|token (has )?expired`)},
		{runtime.ObstacleNoNetwork, regexp.MustCompile(`\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|EPIPE)\b|(?i)connection (error|refused|reset|closed)|unable to connect|cannot connect to|fetch failed|network (error|is unreachable)|error sending request|socket connection was closed|no such host|failed to lookup address|you (are|appear to be) offline`)},
	}
})

// ErrorKind returns the kind of obstacle for the text of a failure: [runtime.ObstacleLimit],
// [runtime.ObstacleLogin], [runtime.ObstacleNoNetwork], or [runtime.ObstacleError] for any other
// text.
func ErrorKind(text string) string {
	rules := errorRules()
	i := slices.IndexFunc(rules, func(r errorRule) bool { return r.words.MatchString(text) })
	if i < 0 {
		return runtime.ObstacleError
	}
	return rules[i].kind
}

// RetryKind returns the kind of obstacle for an error after which the agent CLI tries again:
// [runtime.ObstacleNoNetwork] for a failure of the network, and [runtime.ObstacleRetrying] for any
// other.
func RetryKind(text string) string {
	if ErrorKind(text) == runtime.ObstacleNoNetwork {
		return runtime.ObstacleNoNetwork
	}
	return runtime.ObstacleRetrying
}
