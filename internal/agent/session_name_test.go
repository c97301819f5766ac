package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity/runtime"
)

func TestDefaultNames(t *testing.T) {
	tests := []struct{ city, agent, want string }{
		{"city", "hello-world/worker", "gc-city-hello-world--worker"},
		{"bright-lights", "mayor", "gc-bright-lights-mayor"},
		{"my-city", "worker", "gc-my-city-worker"},
		{"city", "worker_1", "gc-city-worker_1"},
		{"city", "rig/code-reviewer", "gc-city-rig--code-reviewer"},
		{"a-b", "x", "gc-a-b-x"},
		{"a", "b-x", "gc-a__-b-x"},
		{"bright-lights", "rig/worker", "gc-bright-lights__-rig--worker"},
		{"c", "a/b", "gc-c-a--b"},
		{"c", "a--b", "gc-c__-a__2d-b"},
		{"c", "a.b", "gc-c-a__2eb"},
		{"c", "a__b", "gc-c-a__5f_b"},
		{"c", "Worker", "gc-c-__57orker"},
		{"c", "", "gc-c-__z"},
		{"", "", "gc-__z-__z"},
		{"c", "é", "gc-c-__c3__a9"},
		{"c", "a/-b", "gc-c-a---b"},
		{"c", "a-/b", "gc-c-a__2d--b"},
		{"c", "/a", "gc-c-__2fa"},
	}
	for _, tt := range tests {
		if got := SessionName(tt.city, tt.agent, "", nil); got != tt.want {
			t.Errorf("session of %q in %q is %q, want %q", tt.agent, tt.city, got, tt.want)
		}
		if agent, ok := ParseSessionName(tt.city, tt.want); !ok || agent != tt.agent {
			t.Errorf("ParseSessionName(%q, %q) = %q, %v, want %q", tt.city, tt.want, agent, ok, tt.agent)
		}
	}
}

// TestShortPairsAreDistinct tries every pair of short strings over the bytes
// that the scheme gives a meaning to.
func TestShortPairsAreDistinct(t *testing.T) {
	words := wordsUpTo("ab-_/.2", 3)
	seen := make(map[string][2]string, len(words)*len(words))
	for _, city := range words {
		for _, agent := range words {
			name := defaultName(city, agent)
			if other, taken := seen[name]; taken {
				t.Fatalf("%q has two owners: %q and %q", name, other, [2]string{city, agent})
			}
			seen[name] = [2]string{city, agent}
			if got, ok := ParseSessionName(city, name); !ok || got != agent {
				t.Fatalf("ParseSessionName(%q, %q) = %q, %v, want %q", city, name, got, ok, agent)
			}
		}
	}
}

// TestLongerAgentsAreDistinct goes deeper on the dashes alone.
func TestLongerAgentsAreDistinct(t *testing.T) {
	words := wordsUpTo("a-/", 5)
	seen := make(map[string][2]string, len(words)*len(words))
	for _, city := range words {
		for _, agent := range words {
			name := defaultName(city, agent)
			if other, taken := seen[name]; taken {
				t.Fatalf("%q has two owners: %q and %q", name, other, [2]string{city, agent})
			}
			seen[name] = [2]string{city, agent}
		}
	}
}

func wordsUpTo(alphabet string, length int) []string {
	words, last := []string{""}, []string{""}
	for range length {
		var next []string
		for _, w := range last {
			for _, c := range []byte(alphabet) {
				next = append(next, w+string(c))
			}
		}
		words, last = append(words, next...), next
	}
	return words
}

// hostile makes strings of bytes and sequences that the scheme itself writes.
var hostile = rapid.OneOf(
	rapid.StringOf(rapid.SampledFrom([]rune("ab-_/.Zz25fdh é\x00"))),
	rapid.Custom(func(t *rapid.T) string {
		pieces := []string{"a", "b", "-", "--", "_", "__", "__-", "__z", "__h", "__2d", "__5f", "/", ".", "gc-", strings.Repeat("x", 60)}
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
	}),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
)

func TestHostilePairsAreDistinct(t *testing.T) {
	seen := map[string][2]string{}
	rapid.Check(t, func(t *rapid.T) {
		city, agent := hostile.Draw(t, "city"), hostile.Draw(t, "agent")
		// The same bytes divided otherwise are the likeliest to collide.
		joined := city + rapid.SampledFrom([]string{"", "-", "--", "/", "__-"}).Draw(t, "glue") + agent
		at := rapid.IntRange(0, len(joined)).Draw(t, "at")
		for _, pair := range [][2]string{{city, agent}, {joined[:at], joined[at:]}, {agent, city}} {
			checkOwned(t, seen, pair)
		}
	})
}

func checkOwned(t *rapid.T, seen map[string][2]string, pair [2]string) {
	name := defaultName(pair[0], pair[1])
	if err := runtime.ValidateName(name); err != nil {
		t.Fatalf("session of %q: %v", pair, err)
	}
	if strings.ToLower(name) != name {
		t.Fatalf("session of %q is %q, which relies on case", pair, name)
	}
	if other, taken := seen[name]; taken && other != pair {
		t.Fatalf("%q has two owners: %q and %q", name, other, pair)
	}
	seen[name] = pair
	agent, ok := ParseSessionName(pair[0], name)
	if cut := strings.Contains(name, hashMark); ok == cut || ok && agent != pair[1] {
		t.Fatalf("ParseSessionName(%q, %q) = %q, %v, want %q, %v", pair[0], name, agent, ok, pair[1], !cut)
	}
}

func TestLongNamesAreCutAndDistinct(t *testing.T) {
	long := strings.Repeat("a", 300)
	pairs := [][2]string{{"c", long}, {"c", long + "b"}, {long, "c"}, {long, long}, {long + "-" + long, "c"}, {long, long + "-c"}, {"c", strings.Repeat("é", 300)}}
	seen := map[string]bool{}
	for _, pair := range pairs {
		name := SessionName(pair[0], pair[1], "", nil)
		if err := runtime.ValidateName(name); err != nil {
			t.Error(err)
		}
		if len(name) != runtime.MaxNameLen || seen[name] || name != SessionName(pair[0], pair[1], "", nil) {
			t.Errorf("name %q is not a full-length, distinct and stable one", name)
		}
		seen[name] = true
		if agent, ok := ParseSessionName(pair[0], name); ok {
			t.Errorf("ParseSessionName(%q) = %q, but a cut name cannot be reversed", name, agent)
		}
	}
}

func TestParseRefusesWhatTheSchemeDoesNotMake(t *testing.T) {
	for _, session := range []string{
		"", "gc-", "gc-a", "x-a-b", "gc-ab-x", "gc-a-B", "gc-a-b__-c", "gc-a__-b", "gc-a-b__2", "gc-a-b__zz", "gc-a-__61", "gc-a-b-x", "GC-a-b",
	} {
		if agent, ok := ParseSessionName("a", session); ok {
			t.Errorf("ParseSessionName(a, %q) = %q, want no answer", session, agent)
		}
	}
}

func TestTemplates(t *testing.T) {
	tests := []struct{ template, want string }{
		{"gc-{{.City}}-{{.Agent}}", "gc-my-city-rig--worker"},
		{"{{.Name}}", "worker"},
		{"{{if .Dir}}{{.Dir}}_{{end}}{{.Name}}", "rig_worker"},
	}
	for _, tt := range tests {
		var warning bytes.Buffer
		if got := SessionName("my-city", "rig/worker", tt.template, &warning); got != tt.want || warning.Len() > 0 {
			t.Errorf("template %q gives %q with warning %q, want %q and none", tt.template, got, warning.String(), tt.want)
		}
	}
	if got := SessionName("c", "worker", "x{{.Dir}}", nil); got != "x" {
		t.Errorf("the Dir of an agent without folder is %q, want empty", strings.TrimPrefix(got, "x"))
	}
}

func TestBadTemplatesFallBackWithAWarning(t *testing.T) {
	for _, template := range []string{
		"{{.City", "{{.Nothing}}", "{{index .City 99}}", "a b", "-{{.Agent}}", "{{.City}}.{{.Agent}}", " ", strings.Repeat("x", 129), "{{/* empty */}}",
	} {
		var warning bytes.Buffer
		if got, want := SessionName("c", "worker", template, &warning), "gc-c-worker"; got != want {
			t.Errorf("template %q gives %q, want the default %q", template, got, want)
		}
		if text := warning.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "worker") || !strings.Contains(text, "gc-c-worker") {
			t.Errorf("template %q warns %q, want one line that names the agent and the session", template, text)
		}
	}
}

func TestDistinct(t *testing.T) {
	if err := Distinct(map[string]string{"a": "x", "b": "y"}); err != nil {
		t.Error(err)
	}
	err := Distinct(map[string]string{"a": "x", "b": "y", "rig/a": "X"})
	if err == nil {
		t.Fatal("names that differ in case only pass")
	}
	if got, want := fmt.Sprint(err), `session names are not distinct: ["a" "rig/a"] are all x; use {{.Agent}} in session_template`; got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
}

func FuzzParseSessionName(f *testing.F) {
	for _, seed := range []string{"gc-a-b", "gc-a__-b-c", "gc-a-__z", "gc-a-b__2d", "gc-a-b--c"} {
		f.Add("a", seed)
	}
	f.Fuzz(func(t *testing.T, city, session string) {
		if agent, ok := ParseSessionName(city, session); ok && SessionName(city, agent, "", nil) != session {
			t.Errorf("%q parses as agent %q of %q, whose session is %q", session, agent, city, SessionName(city, agent, "", nil))
		}
	})
}
