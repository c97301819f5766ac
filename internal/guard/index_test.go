package guard_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"gascity/internal/guard"
)

// some draws up to most of the texts.
func some(t *rapid.T, name string, most int, texts ...string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 0, most, rapid.ID).Draw(t, name)
}

func drawRule(t *rapid.T, id string) guard.Rule {
	r := guard.Rule{ID: id, Action: rapid.SampledFrom([]guard.Action{guard.Allow, guard.Ask, guard.Deny}).Draw(t, "action")}
	r.Tools = some(t, "tools", 1, "Bash", "Read", "B*")
	r.Agents = some(t, "agents", 1, "a", "b*")
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
	case 1:
		r.Paths = append(some(t, "paths", 3, places...), "**/.env")
		r.Access = rapid.SampledFrom([]guard.Access{"", guard.Read, guard.Write}).Draw(t, "access")
	default:
		r.Commands = append(some(t, "commands", 3, "git push", "git", "rm", "cat", "g*", "*", "git remote add", "docker volume rm"), "git stash drop")
		r.Any = some(t, "any", 2, "-f|--force", "+*", "main|x*", "*")
		r.All = some(t, "all", 1, "-r|--recursive", "a*")
		r.None = some(t, "none", 1, "--dry-run", "*")
		r.Paths = some(t, "places", 2, places...)
	}
	return r
}

var places = []string{"**/*.pem", "~/.ssh/**", "/etc/**", "a", "/", "~", "~/*", "**/secret?/x", `\a*`, "/home/u/repo/*", "**/b/**/c", "main", "x*y"}

// words of commands, and what stands between them.
var fragments = []string{
	"git", "push", "rm", "cat", "docker", "volume", "-f", "--force", "-rf", "-C", "main", "+main", "a", "a/b/c", "b/c", "~", "~/.ssh/id", "/etc/passwd", ".env", "x.pem", "*.pem", "$X", `"$X/.env"`, "secret1/x", "xzy",
	";", "|", "&&", "\n", "> a", "< .env", "sudo", "sh -c 'git push -f'", "xargs", "cd /etc;", "for i in a .env; do cat $i; done", "'a b'", "..", "/", "{a,b}", "$(cat a)", "stash", "drop", "remote", "add",
}

// TestTheIndexDecidesAsEachRuleInOrder decides random calls by random rules with the index, with
// remembered decisions, and by comparing every rule, and checks that the results agree.
func TestTheIndexDecidesAsEachRuleInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, role := guard.Set{Name: "drawn"}, guard.Set{Name: "role"}
		for i := range rapid.IntRange(1, 12).Draw(t, "rules") {
			set.Rules = append(set.Rules, drawRule(t, fmt.Sprint("r", i)))
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "more") {
			role.Rules = append(role.Rules, drawRule(t, fmt.Sprint("s", i)))
		}
		p, err := guard.Compile(guard.Source{Sets: []guard.Set{set}, Roles: []guard.RoleSource{{Role: "b*", Sets: []guard.Set{role}}}})
		if err != nil {
			t.Fatal(err)
		}
		one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		script := ""
		for range rapid.IntRange(1, 12).Draw(t, "calls") {
			req := guard.Request{
				Tool: one("tool", "Bash", "Read"), Agent: one("agent", "a", "b1"), Role: one("role", "", "b2"),
				Home: one("home", "/home/u", "/home/u", ""), Dir: one("dir", "/home/u/repo", "/etc"), Now: one("now", "", "", "/etc", "/home/u/.ssh"),
			}
			if script == "" || !rapid.Bool().Draw(t, "the same text") {
				script = strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 1, 8).Draw(t, "words"), " ")
			}
			key := rapid.SampledFrom([]string{"command", "file_path", "path"}).Draw(t, "key")
			if req.Input, err = json.Marshal(map[string]string{key: script}); err != nil {
				t.Fatal(err)
			}
			want := p.DecideInOrder(req)
			for _, how := range []string{"as it comes", "asked again", "remembered"} {
				if got := p.Decide(req); got != want {
					t.Fatalf("%s: %s\ngot  %+v\nwant %+v", req.Input, how, got, want)
				}
			}
		}
	})
}

// TestRememberedDecisionIsOfOneAgentAndDirectory checks that a decision that is remembered for one
// agent is not used for an agent with another directory, tool or rules.
func TestRememberedDecisionIsOfOneAgentAndDirectory(t *testing.T) {
	p, err := guard.Compile(guard.Source{
		Sets: []guard.Set{{Name: "s", Rules: []guard.Rule{
			{ID: "etc", Action: guard.Deny, Paths: []string{"/etc/**", "~/x"}},
			{ID: "tool", Action: guard.Deny, Tools: []string{"Other"}},
			{ID: "agent", Action: guard.Ask, Agents: []string{"guest"}, Commands: []string{"cat"}},
		}}},
		Roles: []guard.RoleSource{{Role: "reader", Sets: []guard.Set{{Name: "r", Rules: []guard.Rule{{ID: "no-cat", Action: guard.Deny, Commands: []string{"cat"}}}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, c := range []struct {
			req  guard.Request
			want guard.Action
		}{
			{guard.Request{Dir: "/src"}, guard.Allow},
			{guard.Request{Dir: "/etc"}, guard.Deny},
			{guard.Request{Dir: "/src", Now: "/etc"}, guard.Deny},
			{guard.Request{Dir: "/home/u", Home: "/home/u"}, guard.Deny},
			{guard.Request{Dir: "/home/u", Home: "/home/v"}, guard.Allow},
			{guard.Request{Dir: "/src", Role: "reader"}, guard.Deny},
			{guard.Request{Dir: "/src", Tool: "Other"}, guard.Deny},
			{guard.Request{Dir: "/src", Agent: "guest"}, guard.Ask},
		} {
			c.req.Tool, c.req.Input = cmp.Or(c.req.Tool, "Bash"), json.RawMessage(`{"command":"cat x"}`)
			if got := p.Decide(c.req); got.Action != c.want {
				t.Errorf("%+v: got %s, want %s", c.req, got.Action, c.want)
			}
		}
	}
	if fields := reflect.TypeFor[guard.Request]().NumField(); fields != 7 {
		t.Errorf("a request has %d fields: what is remembered must distinguish them all", fields)
	}
}

// TestManyDecideAtOnce decides the same calls in many goroutines, and more calls than are
// remembered.
func TestManyDecideAtOnce(t *testing.T) {
	p := policy(t, "dangerous-command", "secrets-reading")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 600 {
				for script, want := range map[string]guard.Action{
					fmt.Sprintf("for f in a b; do git push --force origin x%d; done", g*600+i): guard.Deny,
					fmt.Sprint("cat README.md ", (i*7+g)%50):                                   guard.Allow, "cat .env": guard.Deny,
				} {
					if got := p.Decide(shellCall(script)); got.Action != want {
						t.Errorf("%s: got %s, want %s", script, got.Action, want)
						return
					}
				}
			}
		})
	}
	all.Wait()
}
