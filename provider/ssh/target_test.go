package ssh_test

import (
	"strings"
	"testing"

	"gascity/provider/ssh"
)

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]ssh.Target{
		"box":                {Host: "box"},
		"me@box":             {User: "me", Host: "box"},
		"box:2222":           {Host: "box", Port: 2222},
		"me@box.example:22":  {User: "me", Host: "box.example", Port: 22},
		"::1":                {Host: "::1"},
		"me@fe80::1%eth0":    {User: "me", Host: "fe80::1%eth0"},
		"[::1]":              {Host: "::1"},
		"me@[2001:db8::1]:7": {User: "me", Host: "2001:db8::1", Port: 7},
	} {
		if got, err := ssh.ParseTarget(text); err != nil || got != want {
			t.Errorf("ParseTarget(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "@box", "me@", "box:", "box:0", "box:65536", "box:x", "box:+5", "[::1", "[::1]x", "[box]:22", "::1:22:x", "a b", "a/b", "a\nb", "-oProxyCommand=x",
		"me@-oX", "-l@box", "me me@box", "a@b@c", "[127.0.0.1]:22",
	} {
		if got, err := ssh.ParseTarget(text); err == nil {
			t.Errorf("ParseTarget(%q) = %+v, want an error", text, got)
		} else if !strings.Contains(err.Error(), "target") {
			t.Errorf("ParseTarget(%q): %v does not say what it is about", text, err)
		}
	}
}

// A parsed target is formatted so that it parses to the same value, and never begins like an option of ssh.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{"box", "me@box:22", "[::1]:22", "::1", "-oX", "a@b@c", "fe80::1%-x", "[fe80::1%a b]:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := ssh.ParseTarget(text)
		if err != nil {
			return
		}
		if again, err := ssh.ParseTarget(target.String()); err != nil || again != target {
			t.Errorf("%q is %+v, which is written %q and read as %+v, %v", text, target, target, again, err)
		}
		for _, part := range []string{target.User, target.Host} {
			if strings.HasPrefix(part, "-") || strings.ContainsAny(part, " \t\r\n\x00/") {
				t.Errorf("%q gave %+v", text, target)
			}
		}
		if target.Port < 0 || target.Port > 65535 || target.Host == "" {
			t.Errorf("%q gave %+v", text, target)
		}
	})
}
