package ssh

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Target is the destination of an ssh command: [user@]host[:port]. An IPv6 address with a port is
// in brackets.
type Target struct {
	User string // empty means the user of the ssh configuration
	Host string
	Port int // 0 means the port of the ssh configuration
}

// ParseTarget parses a target. It refuses text that ssh could read as an option.
func ParseTarget(text string) (Target, error) {
	var t Target
	host := text
	if user, rest, ok := strings.Cut(text, "@"); ok {
		t.User, host = user, rest
		if user == "" || strings.ContainsFunc(user, isUnusable) || strings.Contains(user, ":") {
			return t, fmt.Errorf("ssh target %q: %q is not a user name", text, user)
		}
	}
	host, port, err := cutPort(host)
	if err != nil {
		return t, fmt.Errorf("ssh target %q: %w; write [user@]host[:port]", text, err)
	}
	t.Host, t.Port = host, port
	if strings.HasPrefix(text, "-") || strings.HasPrefix(host, "-") {
		return t, fmt.Errorf("ssh target %q: a name cannot begin with a dash", text)
	}
	return t, nil
}

// cutPort returns host and port of text, and checks both. The port is 0 if text has none.
func cutPort(text string) (host string, port int, err error) {
	inside, after, bracketed := strings.Cut(strings.TrimPrefix(text, "["), "]")
	switch {
	case strings.HasPrefix(text, "[") && !bracketed:
		return "", 0, errors.New("the bracket is not closed")
	case strings.HasPrefix(text, "["):
		if addr, err := netip.ParseAddr(inside); err != nil || !addr.Is6() {
			return "", 0, fmt.Errorf("%q is not an IPv6 address", inside)
		}
		host, text = inside, after
	case strings.Count(text, ":") > 1:
		if _, err := netip.ParseAddr(text); err != nil {
			return "", 0, errors.New("an IPv6 address with a port needs brackets")
		}
		host, text = text, ""
	default:
		host, _, _ = strings.Cut(text, ":")
		text = text[len(host):]
	}
	if host == "" || strings.ContainsFunc(host, isUnusable) {
		return "", 0, fmt.Errorf("%q is not a host", host)
	}
	if text == "" {
		return host, 0, nil
	}
	digits, ok := strings.CutPrefix(text, ":")
	port, err = strconv.Atoi(digits)
	if !ok || err != nil || port < 1 || port > 65535 || digits[0] == '+' {
		return "", 0, fmt.Errorf("%q is not a port between 1 and 65535", digits)
	}
	return host, port, nil
}

// isUnusable reports whether r cannot be in a user name or a host name.
func isUnusable(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("/@[]", r) || r == utf8.RuneError
}

// String returns the target as text. [ParseTarget] reads it.
func (t Target) String() string {
	s := t.Host
	if t.Port != 0 {
		if strings.Contains(s, ":") {
			s = "[" + s + "]"
		}
		s += ":" + strconv.Itoa(t.Port)
	}
	if t.User != "" {
		s = t.User + "@" + s
	}
	return s
}

// args returns the arguments of ssh for the target.
func (t Target) args() []string {
	var args []string
	if t.Port != 0 {
		args = append(args, "-p", strconv.Itoa(t.Port))
	}
	if t.User != "" {
		args = append(args, "-l", t.User)
	}
	return append(args, "--", t.Host)
}
