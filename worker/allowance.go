package worker

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Allowance lists what a worker may decide itself while its city does not answer: for a limited
// time, tools that only read. Everything else is then denied. It is signed for one run.
type Allowance struct {
	RunID string    `json:"run_id"`
	Until time.Time `json:"until"` // in UTC, without fractions of a second
	// Tools are the exact names of the allowed tools.
	Tools []string `json:"tools"`
	// Except are lower-case texts. If the input of a call or its directory contains one of them, no
	// tool is allowed.
	Except []string `json:"except,omitempty"`
	// MAC is the base64url HMAC-SHA256 of the other members, by a key that is the
	// HMAC-SHA256 of "allowance" by the run's token.
	MAC string `json:"mac"`
}

// AllowanceLife is the longest time that an allowance is valid, whatever its Until is.
const AllowanceLife = 10 * time.Minute

// ErrAllowance reports an allowance that is not valid.
var ErrAllowance = errors.New("the allowance is not valid")

// Sign returns the allowance signed with a run's token.
func (s Allowance) Sign(token string) Allowance {
	s.MAC = base64.RawURLEncoding.EncodeToString(s.sum(token))
	return s
}

// sum returns the signature of the allowance: an HMAC over all its fields, with a key that is derived from the run's
// token. Lengths are included, so that two different allowances never have the same signed text.
func (s Allowance) sum(token string) []byte {
	key := hmac.New(sha256.New, []byte(token))
	key.Write([]byte("allowance"))
	mac := hmac.New(sha256.New, key.Sum(nil))
	for _, list := range [][]string{{s.RunID, s.Until.UTC().Format(time.RFC3339)}, s.Tools, s.Except} {
		fmt.Fprintf(mac, "%d\n", len(list))
		for _, text := range list {
			fmt.Fprintf(mac, "%d %s\n", len(text), text)
		}
	}
	return mac.Sum(nil)
}

// Check returns nil if the allowance was signed with the token, is for the run and is valid at the
// time now. Otherwise it returns an error that matches [ErrAllowance].
func (s Allowance) Check(token, run string, now time.Time) error {
	mac, err := base64.RawURLEncoding.DecodeString(s.MAC)
	switch {
	case err != nil || token == "" || !hmac.Equal(mac, s.sum(token)):
		return fmt.Errorf("%w: it is not signed with the run's token", ErrAllowance)
	case s.RunID != run:
		return fmt.Errorf("%w: it is for another run", ErrAllowance)
	case !now.Before(s.Until) || s.Until.Sub(now) > AllowanceLife:
		return fmt.Errorf("%w: it is valid until %s, and now is %s", ErrAllowance, s.Until, now)
	}
	return nil
}

// Allows reports whether the allowance permits a call. It does not check whether the allowance is
// valid.
func (s Allowance) Allows(c Call) bool {
	if !slices.Contains(s.Tools, c.Tool) {
		return false
	}
	if len(s.Except) == 0 {
		return true
	}
	var input any
	if len(c.Input) > 0 && json.Unmarshal(c.Input, &input) != nil {
		return false
	}
	for _, text := range c.Context {
		if s.excepts(text) {
			return false
		}
	}
	return !s.exceptsIn(input, 0)
}

// maxDepth is how many levels of an input are searched. A deeper input is not allowed.
const maxDepth = 32

// exceptsIn reports whether a text anywhere in a JSON value, also a name of a member, may name a file that the
// allowance excludes. A value that is nested too deeply counts as one that does.
func (s Allowance) exceptsIn(value any, depth int) bool {
	if depth > maxDepth {
		return true
	}
	switch v := value.(type) {
	case string:
		return s.excepts(v)
	case []any:
		for _, item := range v {
			if s.exceptsIn(item, depth+1) {
				return true
			}
		}
	case map[string]any:
		for name, item := range v {
			if s.excepts(name) || s.exceptsIn(item, depth+1) {
				return true
			}
		}
	}
	return false
}

// excepts reports whether a text contains an exception, or could match one because it is a pattern.
func (s Allowance) excepts(text string) bool {
	if strings.ContainsAny(text, "*?[{\x00") {
		return true
	}
	text = strings.ToLower(text)
	for _, part := range s.Except {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
