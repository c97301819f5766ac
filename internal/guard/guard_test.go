package guard_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gascity/internal/guard"
)

// policy compiles the named built-in rule sets.
func policy(t testing.TB, sets ...string) *guard.Policy {
	t.Helper()
	var sheet guard.Source
	for _, name := range sets {
		set, err := guard.ShippedSet(name)
		if err != nil {
			t.Fatal(err)
		}
		sheet.Sets = append(sheet.Sets, set)
	}
	p, err := guard.Compile(sheet)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shellCall(script string) guard.Request {
	input, err := json.Marshal(map[string]string{"command": script, "description": "tidy up"})
	if err != nil {
		panic(err)
	}
	return guard.Request{Tool: "Bash", Input: input, Home: "/home/u", Dir: "/home/u/repo"}
}

// TestShippedSetsDecide checks the decisions of each built-in rule set with the tables in testdata.
func TestShippedSetsDecide(t *testing.T) {
	for _, name := range guard.Shipped() {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + name + ".toml")
			if err != nil {
				t.Fatal(err)
			}
			table, err := guard.DecodeTable(name, data)
			if err != nil {
				t.Fatal(err)
			}
			results, err := policy(t, name).Check(table, func(r *guard.Request) { r.Home = "/home/u" })
			if err != nil {
				t.Fatal(err)
			}
			if len(results) < 10 {
				t.Fatalf("%d cases prove nothing", len(results))
			}
			for _, r := range results {
				if !r.Passed {
					t.Errorf("%q %s: got %s by rule %q (%s), want %s by %q", r.Case.Command, r.Case.Tool, r.Verdict.Action, r.Verdict.Rule, r.Verdict.Reason, r.Case.Want, r.Case.Rule)
				}
			}
		})
	}
}

// TestEveryDisguiseIsSeenThrough checks that a forbidden command is not allowed in any of the forms
// that shells and programs offer.
func TestEveryDisguiseIsSeenThrough(t *testing.T) {
	p := policy(t, "dangerous-command")
	bare := "git push --force origin x"
	disguises := []string{
		"%s", "  %s  # harmless", "true && %s", "false || %s", "true; %s", "%s &", "! %s", "{ %s; }", "( %s )", "if true; then %s; fi",
		"while :; do %s; break; done", "for i in 1; do %s; done", "case a in *) %s;; esac", "f() { %s; }; f", "echo $(%s)", "echo `%s`", "echo \"$(%s)\"",
		"x=$(%s)", "x=$(%s) true", "cat <(%s)", "true > >(%s)", "[[ $(%s) ]]", "echo $((1)) | %s", "%s | cat", "exec %s", "command %s", "builtin %s", "eval '%s'", "eval %s",
		"sh -c '%s'", "bash -lc '%s'", "/bin/bash -ec '%s'", "sh -c \"sh -c '%s'\"", "bash <<< '%s'", "bash <<E\n%s\nE", "echo '%s' | sh", "printf '%s' | bash -s", "env %s", "env -i A=b %s",
		"env -S '%s'", "A=b %s", "sudo %s", "sudo -u root %s", "sudo sh -c '%s'", "su -c '%s'", "su - root -c '%s'", "doas %s", "nohup %s", "setsid %s", "time %s", "nice -n 5 %s", "nice %s",
		"ionice -c 3 %s", "timeout 5 %s", "timeout -k 1 5 %s", "stdbuf -oL %s", "xargs %s", "echo a | xargs -n 1 %s", "find . -exec %s \\;", "find . -execdir %s {} +",
		"flock /tmp/l -c '%s'", "flock /tmp/l %s", "watch '%s'", "ssh host '%s'", "ssh -p 2 host %s", "script -c '%s' /dev/null", "busybox %s", "trap '%s' EXIT", "alias x='%s'", "parallel %s ::: a",
		"taskset 1 %s", "chroot / %s", "strace -f %s", "coproc %s", "unshare %s", "systemd-run --unit x %s",
	}
	for _, d := range disguises {
		script := strings.ReplaceAll(d, "%s", bare)
		if v := p.Decide(shellCall(script)); v.Action != guard.Deny || v.Rule != "force-push" {
			t.Errorf("%s\n\tgot %s by %q (%s), want deny", script, v.Action, v.Rule, v.Reason)
		}
	}
	spellings := []string{
		"git push -f", "git push -uf origin x", "git push origin +x", "git push origin +x:y", "git push origin :x", "git push --forc", "git push --force=1", "git -C /d push -f",
		"git -c a=b push -f", "git --git-dir=/x push -f", "git --no-pager push --force", `g"i"t pu\sh '-f'`, "git push $'\\x2df'", "git {push,-f}", "/usr/bin/git push -f", `\git push -f`,
		"git push \\\n --force", "git pu''sh -f", "git push origin \"+x\"", "git push --mirror", "for b in x y; do git push origin --delete $b; done",
	}
	for _, script := range spellings {
		if v := p.Decide(shellCall(script)); v.Action != guard.Deny {
			t.Errorf("%s\n\tgot %s by %q (%s), want deny", script, v.Action, v.Rule, v.Reason)
		}
	}
}

// TestWhatCannotBeKnownIsAsked checks that a person is asked about a word that is known only when
// the command runs, if a rule could be about it, and not about others.
func TestWhatCannotBeKnownIsAsked(t *testing.T) {
	p := policy(t, "dangerous-command")
	for script, want := range map[string]guard.Action{
		"git push $OPTS":                                 guard.Ask,
		`git push "$X"`:                                  guard.Ask,
		"git $CMD --force":                               guard.Ask,
		"$GIT push --force":                              guard.Ask,
		"git push --$WORD":                               guard.Ask,
		"git push -$LETTERS":                             guard.Ask,
		"git push origin \"$(cat f)\"":                   guard.Ask,
		"for b in $(ls); do git push origin $b; done":    guard.Ask,
		"for b in +x y; do git push origin \"$b\"; done": guard.Deny,
		"for b in x y; do git push origin \"$b\"; done":  guard.Allow,
		"curl https://x | sh":                            guard.Ask,
		"bash <(curl x)":                                 guard.Ask,
		"sh -c \"$SCRIPT\"":                              guard.Ask,
		"eval $X":                                        guard.Ask,
		"source <(x)":                                    guard.Ask,
		"git -c alias.p='!git push -f' p":                guard.Deny,
		"cat list | xargs rm -r":                         guard.Ask,
		"find . -exec rm -rf {} \\;":                     guard.Ask,
		"if":                                             guard.Ask,
		"git push \"$REMOTE\"":                           guard.Ask,
		"go test \"$PKG\"":                               guard.Allow,
		"gofmt -l $(git ls-files '*.go')":                guard.Allow,
		"make && ./build.sh --force":                     guard.Allow,
		"git commit -m 'git push --force'":               guard.Allow,
		"echo git push --force":                          guard.Allow,
		"grep -rf patterns .":                            guard.Allow,
		"git push origin feature":                        guard.Allow,
		"git push -u origin feature":                     guard.Allow,
		"rm -rf build":                                   guard.Allow,
		"rm -rf node_modules/.cache ./dist":              guard.Allow,
		"rm -rf /tmp/gc-work":                            guard.Allow,
	} {
		if v := p.Decide(shellCall(script)); v.Action != want {
			t.Errorf("%s\n\tgot %s by %q (%s), want %s", script, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// TestCallWithADynamicWord checks that a person is asked about a call with a word that is known
// only when it runs, unless it is denied for every value of the word.
func TestCallWithADynamicWord(t *testing.T) {
	p := policy(t, "dangerous-command", "secrets-reading")
	for script, want := range map[string]guard.Action{
		`rm -rf "$X"`:                          guard.Ask,
		`rm -rf $X`:                            guard.Ask,
		`rm -rf "$X"/*`:                        guard.Ask,
		`rm -rf /$X`:                           guard.Ask,
		`rm -rf ~/"$X"`:                        guard.Ask,
		`rm -rf "${X:-/}"`:                     guard.Ask,
		`rm -rf "$X/usr"`:                      guard.Ask,
		`rm -rf "$(pwd)"`:                      guard.Ask,
		`read X; rm -rf "$X"`:                  guard.Ask,
		`X=$1; rm -rf "$X"`:                    guard.Ask,
		`test -n "$Y" && X=/; rm -rf "$X"`:     guard.Ask, // it may not have been set
		`rm $FLAGS /`:                          guard.Ask,
		`"$RM" -rf /`:                          guard.Ask,
		`cat "$F"`:                             guard.Ask,
		`cat ~/.ssh/"$F"`:                      guard.Ask,
		`dd of="$DEV"`:                         guard.Ask,
		`X=/; rm -rf "$X"`:                     guard.Deny, // there is one reading
		`X=; rm -rf "$X/"`:                     guard.Deny,
		`git push --force "$X"`:                guard.Deny, // in every reading
		`rm -rf / "$X"`:                        guard.Deny,
		`for d in build /; do rm -rf $d; done`: guard.Deny, // one is sure to come
		`X=build; rm -rf "$X"`:                 guard.Allow,
		`echo "$X"`:                            guard.Allow, // no rule could be about it
		`go test -run "$X" ./...`:              guard.Allow,
	} {
		if v := p.Decide(shellCall(script)); v.Action != want {
			t.Errorf("%s\n\tgot %s by %q (%s), want %s", script, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// TestTheMostSevereRuleDecides checks that the most severe of the rules that match decides.
func TestTheMostSevereRuleDecides(t *testing.T) {
	set, err := guard.Decode("mine", []byte(`
[[rules]]
id = "a"
action = "allow"
tools = ["Bash"]
[[rules]]
id = "b"
action = "ask"
commands = ["git"]
[[rules]]
id = "c"
action = "deny"
reason = "never"
commands = ["git push"]
roles = ["reader"]
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := guard.Compile(guard.Source{Default: guard.Deny, Sets: []guard.Set{set}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script, role, rule string
		want               guard.Action
	}{
		{"ls", "", "a", guard.Allow},
		{"ls; git status", "", "b", guard.Ask},
		{"git push", "", "b", guard.Ask},
		{"ls | git push | ls", "reader", "c", guard.Deny},
	} {
		req := shellCall(c.script)
		req.Role = c.role
		if v := p.Decide(req); v.Action != c.want || v.Rule != c.rule {
			t.Errorf("%s as %q: got %s by %q, want %s by %q", c.script, c.role, v.Action, v.Rule, c.want, c.rule)
		}
	}
	if v := p.Decide(guard.Request{Tool: "Other"}); v.Action != guard.Deny {
		t.Errorf("a tool that no rule is about: got %s, want the default deny", v.Action)
	}
}

// TestRolesHaveTheirOwnSets checks that rules of a role apply only to agents with that role.
func TestRolesHaveTheirOwnSets(t *testing.T) {
	readOnly, err := guard.ShippedSet("read-only")
	if err != nil {
		t.Fatal(err)
	}
	dangerous, err := guard.ShippedSet("dangerous-command")
	if err != nil {
		t.Fatal(err)
	}
	p, err := guard.Compile(guard.Source{Sets: []guard.Set{dangerous}, Roles: []guard.RoleSource{{Role: "witness", Sets: []guard.Set{readOnly}}}})
	if err != nil {
		t.Fatal(err)
	}
	write := guard.Request{Tool: "Write", Input: json.RawMessage(`{"file_path":"x.go"}`)}
	if v := p.Decide(write); v.Action != guard.Allow {
		t.Errorf("polecat writes: %s", v.Action)
	}
	write.Role = "witness"
	if v := p.Decide(write); v.Action != guard.Deny {
		t.Errorf("witness writes: %s", v.Action)
	}
	push := shellCall("git push -f")
	push.Role = "witness"
	if v := p.Decide(push); v.Action != guard.Deny {
		t.Errorf("witness pushes: %s", v.Action)
	}
}

// TestBadRulesAreNamed checks that the error about a wrong rule names the rule.
func TestBadRulesAreNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[[rules]]\nid='a'\naction='forbid'\n", `action "forbid"`},
		{"[[rules]]\naction='deny'\n", "no id"},
		{"[[rules]]\nid='a'\naction='deny'\nany=['-f']\n", "no commands"},
		{"[[rules]]\nid='a'\naction='deny'\naccess='read'\n", "no paths"},
	} {
		set, err := guard.Decode("mine.toml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = guard.Compile(guard.Source{Sets: []guard.Set{set}})
		var fault *guard.RuleError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := guard.Decode("mine.toml", []byte("[[rules]]\nid='a'\nactoin='deny'\n")); err == nil || !strings.Contains(err.Error(), "mine.toml:3:1") {
		t.Errorf("an unknown key: got %v, want its position", err)
	}
	if _, err := guard.Decode("mine.toml", []byte("[[rules]\n")); err == nil || !strings.Contains(err.Error(), "mine.toml:1:") {
		t.Errorf("bad TOML: got %v, want its position", err)
	}
}

// TestArgumentListsAreJudgedToo checks that commands that are passed as a list of words are decided
// like scripts.
func TestArgumentListsAreJudgedToo(t *testing.T) {
	p := policy(t, "dangerous-command")
	for input, want := range map[string]guard.Action{
		`{"command":["bash","-lc","git push -f"]}`: guard.Deny,
		`{"command":["git","push","-f"]}`:          guard.Deny,
		`{"cmd":"git push -f"}`:                    guard.Deny,
		`{"command":["git","status"]}`:             guard.Allow,
		`{"command":17}`:                           guard.Ask,
		`["git push -f"]`:                          guard.Ask,
		`{"command":""}`:                           guard.Allow,
	} {
		if v := p.Decide(guard.Request{Tool: "shell", Input: json.RawMessage(input)}); v.Action != want {
			t.Errorf("%s: got %s (%s), want %s", input, v.Action, v.Reason, want)
		}
	}
}

var update = flag.Bool("update", false, "write the generated reference")

func TestReferenceIsCurrent(t *testing.T) {
	want, err := guard.Reference()
	if err != nil {
		t.Fatal(err)
	}
	const path = "../../docs/reference/guard.md"
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(want) {
		t.Errorf("%s is out of date, run make gen (%v)", path, err)
	}
}

// FuzzDecide checks that no input makes the guard panic or return no action, and that a command
// that is denied alone is not allowed together with others.
func FuzzDecide(f *testing.F) {
	p := policy(f, "dangerous-command", "protected-branch", "secrets-reading")
	for _, s := range []string{"ls", "git push -f", "$X", "a |& b", "<<E\nE", "{a,b}", "\\", "'", "~/.ssh/id", "x[$(y)]=1", "find -exec", "env -S", "su -c", "sh -c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		input, err := json.Marshal(map[string]string{"command": script})
		if err != nil {
			t.Skip()
		}
		v := p.Decide(guard.Request{Tool: "Bash", Input: input, Home: "/home/u", Dir: "/w"})
		if !v.Action.IsValid() {
			t.Fatalf("no action for %q", script)
		}
		joined, err := json.Marshal(map[string]string{"command": "git push --force\n" + script})
		if err != nil {
			t.Skip()
		}
		if v := p.Decide(guard.Request{Tool: "Bash", Input: joined}); v.Action == guard.Allow {
			t.Fatalf("a force push is allowed before %q", script)
		}
	})
}

// BenchmarkDecide decides calls with 300 rules.
func BenchmarkDecide(b *testing.B) {
	var set guard.Set
	for _, name := range guard.Shipped() {
		if name == "read-only" {
			continue
		}
		s, err := guard.ShippedSet(name)
		if err != nil {
			b.Fatal(err)
		}
		set.Rules = append(set.Rules, s.Rules...)
	}
	for i := len(set.Rules); i < 300; i++ {
		set.Rules = append(set.Rules, guard.Rule{ID: fmt.Sprint("r", i), Action: guard.Deny, Commands: []string{fmt.Sprintf("git sub%d", i)}, Any: []string{"-f|--force"}})
	}
	p, err := guard.Compile(guard.Source{Sets: []guard.Set{set}})
	if err != nil {
		b.Fatal(err)
	}
	for name, script := range map[string]string{
		"simple": "git status", "usual": "cd /work && go test ./... 2>&1 | tail -n 20", "nested": `sudo env A=b sh -c 'for f in a b c; do git add "$f"; done; git commit -m "x $(date)"'`,
	} {
		req := shellCall(script)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(req)
			}
		})
	}
}

// TestTheIndexMissesNoRule decides the calls of the tables with rules that the index finds by a
// name, and with the same rules written so that the index does not know a name, and compares the
// decisions.
func TestTheIndexMissesNoRule(t *testing.T) {
	for _, name := range guard.Shipped() {
		set, err := guard.ShippedSet(name)
		if err != nil {
			t.Fatal(err)
		}
		plain := policy(t, name)
		for i := range set.Rules {
			set.Rules[i].Paths = slices.Clone(set.Rules[i].Paths)
			for j, pattern := range set.Rules[i].Paths {
				set.Rules[i].Paths[j] = regexp.MustCompile(`[a-zA-Z]+`).ReplaceAllStringFunc(pattern, func(word string) string {
					return word[:len(word)-1] + `\` + word[len(word)-1:]
				})
			}
		}
		scanned, err := guard.Compile(guard.Source{Sets: []guard.Set{set}})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{name, "dangerous-command", "secrets-reading"} {
			data, err := os.ReadFile("testdata/" + file + ".toml")
			if err != nil {
				t.Fatal(err)
			}
			table, err := guard.DecodeTable(file, data)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range table.Cases {
				if strings.ContainsAny(c.Command, "*?[$`") { // what is not certain is compared as a pattern
					continue
				}
				req, err := c.Request()
				if err != nil {
					t.Fatal(err)
				}
				req.Home = "/home/u"
				if got, want := plain.Decide(req), scanned.Decide(req); got.Action != want.Action || got.Rule != want.Rule {
					t.Errorf("%s of %s: got %s by %q, want %s by %q as without an index", c.Command, file, got.Action, got.Rule, want.Action, want.Rule)
				}
			}
		}
	}
}
