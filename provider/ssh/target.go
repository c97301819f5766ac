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

// Target is where an ssh command leads: [user@]host[:port]. An IPv6 address stands in
// brackets if a port follows.
type Target struct {
	User string // empty: as the user's ssh configuration says
	Host string
	Port int // 0: the same
}

// ParseTarget reads a target. Whatever ssh could take for an option is refused.
func ParseTarget(text string) (Target, error) {
	var t Target
	host := text
	if user, rest, ok := strings.Cut(text, "@"); ok {
		t.User, host = user, rest
		if user == "" || strings.ContainsFunc(user, unfit) || strings.Contains(user, ":") {
			return t, fmt.Errorf("ssh target %q: %q is not a user", text, user)
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

// cutPort splits host and port, and checks both.
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
	if host == "" || strings.ContainsFunc(host, unfit) {
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

// unfit is true for what no user and no host has.
func unfit(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("/@[]", r) || r == utf8.RuneError
}

// String writes the target as it is read.
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

// args returns the target's arguments for ssh.
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
