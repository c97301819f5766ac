package vt

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatus(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	tests := map[string]struct {
		report string
		want   Status
		ok     bool
	}{
		"idle":              {"state=idle", Status{State: "idle", Progress: -1}, true},
		"semicolons":        {"status=blocked;kind=question", Status{State: "blocked", Kind: "question", Progress: -1}, true},
		"message":           {"state=blocked:kind=permission:app=x:msg=" + b64("Deploy?"), Status{"blocked", "permission", "Deploy?", -1}, true},
		"progress":          {"state=working:progress=40", Status{State: "working", Progress: 40}, true},
		"progress, no such": {"state=working:progress=400", Status{State: "working", Progress: -1}, true},
		"kind without":      {"state=idle:kind=permission", Status{State: "idle", Progress: -1}, true},
		"clear":             {"state=clear", Status{Progress: -1}, true},
		"last one wins":     {"state=idle:state=working", Status{State: "working", Progress: -1}, true},
		"unknown state":     {"state=dreaming", Status{}, false},
		"no state":          {"kind=permission", Status{}, false},
		"a child":           {"id=a/b:state=working", Status{}, false},
		"bad message":       {"state=done:msg=%%%", Status{}, false},
		"control character": {"state=done:msg=" + b64("a\x1b[31m"), Status{}, false},
		"too long":          {"state=done:msg=" + strings.Repeat("A", 5000), Status{}, false},
		"nothing":           {"", Status{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseStatus(test.report)
			if ok != test.ok || ok && !cmp.Equal(got, test.want) {
				t.Errorf("ParseStatus(%.60q) = %+v, %v, want %+v, %v", test.report, got, ok, test.want, test.ok)
			}
		})
	}
}

func FuzzParseStatus(f *testing.F) {
	for _, seed := range []string{"state=idle", "status=blocked;kind=question", "state=done:msg=SGk=", "id=a:state=clear"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, report string) {
		s, ok := ParseStatus(report)
		if ok && strings.ContainsFunc(s.Message, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q gives the message %q", report, s.Message)
		}
	})
}

// TestStatusQuery: a program that asks whether its reports are read gets yes, and the
// question is no report.
func TestStatusQuery(t *testing.T) {
	var replies string
	var notices []Notice
	s := New(80, 24, &Options{
		Reply:  func(p []byte) { replies += string(p) },
		Notify: func(n Notice) { notices = append(notices, n) },
	})
	for _, end := range []string{"\x1b\\", "\a"} {
		replies = ""
		_, _ = s.Write([]byte("\x1b]7501;?" + end)) // never fails
		if replies != "\x1b]7501;?\x1b\\" || len(notices) > 0 {
			t.Errorf("answered %q with notices %v, want the question back", replies, notices)
		}
	}
}
