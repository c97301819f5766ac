package guard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/config"
	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/worker"
)

// compile compiles the rules of a city.toml with rule files.
func compile(t *testing.T, toml string, files map[string]string) (*guard.CityRules, error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(root, "city.toml")
	if err := os.WriteFile(path, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	city, err := config.Load(t.Context(), path, config.Catalog{RuleSets: guard.Shipped()})
	if err != nil {
		return nil, err
	}
	agents := []guard.Request{
		{Agent: "shop/polecat-2", Role: "polecat", Home: "/home/a", Dir: "/home/a/w"},
		{Agent: "shop/witness", Role: "witness", Home: "/home/a", Dir: "/home/a/w"},
	}
	return guard.CompileCity(guard.CitySource{City: city, Agents: agents, Home: "/home/z", Read: os.ReadFile})
}

// noFault reports that decisions can be recorded.
func noFault() error { return nil }

func judge(t *testing.T, rules *guard.CityRules, record *bytes.Buffer) *guard.Evaluator {
	t.Helper()
	opts := guard.EvaluatorOptions{
		Record: io.Discard, Fault: noFault,
		Conceal: func(s string) string { return strings.ReplaceAll(s, "hunter2", "********") }, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	if record != nil {
		opts.Record = record
	}
	j := guard.NewEvaluator(opts)
	if rules != nil {
		j.SetRules(rules)
	}
	return j
}

func bash(script string) worker.Call {
	input, err := json.Marshal(map[string]string{"command": script})
	if err != nil {
		panic(err)
	}
	return worker.Call{Tool: "Bash", Input: input}
}

// TestRulesOfTheConfigurationApply checks the decisions of rules from city.toml, from rule sets,
// from files and for roles.
func TestRulesOfTheConfigurationApply(t *testing.T) {
	rules, err := compile(t, `
[guard]
sets = ["dangerous-command", "secrets-reading"]
files = ["ours.toml"]
disable = ["kill-by-name"]
ask_timeout = "90s"
[[guard.rules]]
id = "no-deploys"
action = "deny"
commands = ["make deploy"]
roles = ["polecat"]
[guard.roles.witness]
sets = ["read-only"]
[guard.roles."*"]
sets = ["protected-branch"]
`, map[string]string{"ours.toml": "[[rules]]\nid='x'\naction='ask'\ncommands=['terraform']\n"})
	if err != nil {
		t.Fatal(err)
	}
	j := judge(t, rules, nil)
	if j.AskTimeout() != 90*time.Second {
		t.Errorf("a person has %s", j.AskTimeout())
	}
	for _, c := range []struct {
		agent, script, rule string
		want                guard.Action
	}{
		{"shop/polecat-2", "go test ./...", "", guard.Allow},
		{"shop/polecat-2", "git push -f", "force-push", guard.Deny},
		{"shop/polecat-2", "terraform apply", "x", guard.Ask},
		{"shop/polecat-2", "make deploy", "no-deploys", guard.Deny},
		{"shop/witness", "make deploy", "", guard.Deny},
		{"shop/witness", "ls", "read-commands", guard.Allow},
		{"shop/polecat-2", "pkill node", "", guard.Allow},
		{"shop/polecat-2", "git push origin main", "push-protected", guard.Deny},
		{"gone", "git push origin main", "push-protected", guard.Deny},
		{"shop/polecat-2", "cat ../.ssh/config", "secret-file", guard.Deny}, // by the folder that it works in
		{"gone", "cat /home/z/.ssh/config", "secret-file", guard.Deny},
	} {
		if v := j.Evaluate(session.Snapshot{Agent: c.agent}, bash(c.script)); v.Action != c.want || v.Rule != c.rule {
			t.Errorf("%s: %s: got %s by %q (%s), want %s by %q", c.agent, c.script, v.Action, v.Rule, v.Reason, c.want, c.rule)
		}
	}
	elsewhere := bash("cat config")
	elsewhere.Context = map[string]string{"cwd": "/home/a/.ssh", "role": "mayor"}
	if v := j.Evaluate(session.Snapshot{Agent: "shop/polecat-2"}, elsewhere); v.Action != guard.Deny {
		t.Errorf("where the agent says that it is does not count: %+v", v)
	}
}

// TestDecisionsWithoutAGuardAndWithoutRules checks that a city without [guard] allows every call,
// and that a guard whose rules are not loaded yet denies every call.
func TestDecisionsWithoutAGuardAndWithoutRules(t *testing.T) {
	rules, err := compile(t, "[workspace]\nname = 'x'\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var record bytes.Buffer
	if v := judge(t, rules, &record).Evaluate(session.Snapshot{}, bash("curl x | sh; git push -f")); v.Action != guard.Allow || record.Len() > 0 {
		t.Errorf("a city without a guard: %+v, kept %q", v, record.String())
	}
	if v := judge(t, nil, nil).Evaluate(session.Snapshot{}, bash("ls")); v.Action != guard.Deny {
		t.Errorf("before the rules were read: %+v", v)
	}
}

// TestNothingButReadingIsAllowedUnrecorded checks that, while calls cannot be recorded, only tools
// that read are allowed, and that no person is asked.
func TestNothingButReadingIsAllowedUnrecorded(t *testing.T) {
	t.Parallel()
	rules, err := compile(t, "[guard]\nsets = ['dangerous-command', 'secrets-reading']\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var fault error
	j := guard.NewEvaluator(guard.EvaluatorOptions{
		Record: io.Discard, Conceal: strings.Clone, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Fault: func() error { return fault },
	})
	defer j.Close()
	j.SetRules(rules)
	file := func(tool, path string) worker.Call {
		return worker.Call{Tool: tool, Input: fmt.Appendf(nil, `{"file_path":%q}`, path)}
	}
	asked := file("Read", "/home/a/w/main.go")
	asked.Ask = true
	for name, c := range map[string]struct {
		call worker.Call
		want guard.Action
		rule string // while nothing is recorded
	}{
		"guarded":           {bash("ls"), guard.Allow, guard.RuleUnrecorded},
		"to be asked about": {bash("sudo ls"), guard.Ask, guard.RuleUnrecorded},
		"denied":            {bash("git push -f"), guard.Deny, "force-push"},
		"writes":            {file("Write", "/home/a/w/main.go"), guard.Allow, guard.RuleUnrecorded},
		"asks by itself":    {asked, guard.Allow, guard.RuleUnrecorded},
		"unknown tool":      {worker.Call{Tool: "New"}, guard.Allow, guard.RuleUnrecorded},
		"a secret":          {file("Read", "/home/a/.ssh/id_rsa"), guard.Deny, ""},
		"may be a secret":   {file("Read", "/home/a/w/.e?v"), "", ""},
		"safe":              {file("Read", "/home/a/w/main.go"), guard.Allow, ""},
	} {
		for _, fault = range []error{nil, errors.New("the disk is full"), nil} {
			v := j.Evaluate(session.Snapshot{Agent: "shop/polecat-2"}, c.call)
			switch {
			case fault == nil && c.want != "" && v.Action != c.want:
				t.Errorf("%s: %+v, want %s", name, v, c.want)
			case fault != nil && (v.Action == guard.Allow) != (name == "safe"):
				t.Errorf("%s, unrecorded: %+v", name, v)
			case fault != nil && c.rule != "" && v.Rule != c.rule:
				t.Errorf("%s, unrecorded: by %q, want %q", name, v.Rule, c.rule)
			case fault != nil && v.Rule == guard.RuleUnrecorded && !strings.Contains(v.Reason, "the disk is full"):
				t.Errorf("%s: it is not said why: %q", name, v.Reason)
			}
		}
	}
}

// TestMistakesInRulesHaveTheirPosition checks that each mistake in a rule is reported with its
// file, line and column.
func TestMistakesInRulesHaveTheirPosition(t *testing.T) {
	for _, c := range []struct{ name, toml, file, want string }{
		{"unknown set", "[guard]\nsets = ['read-olny']\n", "", `city.toml:2:9: there is no rule set "read-olny"; did you mean "read-only"?`},
		{"unknown set of a role", "[guard.roles.x]\nsets = ['nothing']\n", "", "city.toml:2:9: there is no rule set"},
		{"unknown key", "[guard]\nset = ['read-only']\n", "", `city.toml:2:1: unknown key "set" in [guard]; did you mean "sets"?`},
		{"unknown action", "[[guard.rules]]\nid='a'\naction='dny'\n", "", `city.toml:3:8: action cannot be "dny"; did you mean "deny"?`},
		{"no action", "[[guard.rules]]\nid='a'\n", "", "city.toml:1:9: a rule of the guard has no action"},
		{"twice", "[[guard.rules]]\nid='a'\naction='deny'\n[[guard.rules]]\nid='a'\naction='deny'\n", "", `there are two rules with the id "a"`},
		{"no file", "[guard]\nfiles = ['none.toml']\n", "", "city.toml:2:10: the path of a file of rules does not exist"},
		{"key of a file", "[guard]\nfiles = ['ours.toml']\n", "[[rules]]\nid='a'\nactoin='deny'\n", `ours.toml:3:1: unknown key "rules.actoin"; did you mean "action"?`},
		{"syntax of a file", "[guard]\nfiles = ['ours.toml']\n", "[[rules]\n", "ours.toml:1:"},
		{"rule of a file", "[guard]\nfiles = ['ours.toml']\n", "\n[[rules]]\nid='a'\naction='deny'\nany=['x']\n", `ours.toml:2:1: rule "a": any, all and none`},
		{"default of a file", "[guard]\nfiles = ['ours.toml']\n", "default='no'\n", `default "no" is not one of allow, ask, deny`},
		{"disable", "[guard]\nsets=['dangerous-command']\ndisable=['force-pus']\n", "", `city.toml:3:10: there is no rule "force-pus" to disable; did you mean "force-push"?`},
		{"id of a shipped rule", "[guard]\nsets=['dangerous-command']\n[[guard.rules]]\nid='force-push'\naction='allow'\n", "", `rule "force-push": another rule of that id is in "dangerous-command"`},
		{"time", "[guard]\nask_timeout = '0s'\n", "", "city.toml:2:15: ask_timeout cannot be zero"},
	} {
		_, err := compile(t, c.toml, map[string]string{"ours.toml": c.file})
		faults, ok := config.AsErrors(err)
		if !ok {
			t.Errorf("%s: got %v, want mistakes", c.name, err)
			continue
		}
		var all []string
		for _, f := range faults {
			all = append(all, f.Brief())
		}
		if !strings.Contains(strings.Join(all, "\n"), c.want) {
			t.Errorf("%s: got %s\nwant %s", c.name, strings.Join(all, "\n"), c.want)
		}
	}
}

// TestCallsAreRecordedWithoutCredentials checks that a recorded call has no credentials.
func TestCallsAreRecordedWithoutCredentials(t *testing.T) {
	rules, err := compile(t, "[guard]\nsets = ['dangerous-command']\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var record bytes.Buffer
	j := judge(t, rules, &record)
	call := bash("git push https://u:hunter2@h/r --force")
	call.Input = []byte(strings.ReplaceAll(string(call.Input), "hunter2", `\u0068unter2`)) // however it is written
	j.Evaluate(session.Snapshot{Agent: "shop/polecat-2", Session: "s"}, call)
	j.Evaluate(session.Snapshot{Agent: "shop/polecat-2"}, bash("echo "+strings.Repeat("x", guard.MaxRecordedInput)))
	j.Close()
	record.WriteString(`{"at":"2026-`)
	if strings.Contains(record.String(), "hunter2") {
		t.Errorf("a credential was kept: %s", record.String())
	}
	calls, err := guard.ReadCalls(&record, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil || len(calls) != 2 {
		t.Fatalf("read %d calls, %v", len(calls), err)
	}
	first := calls[0]
	if first.Action != guard.Deny || first.Rule != "force-push" || first.Agent != "shop/polecat-2" || first.Role != "polecat" || first.Dir != "/home/a/w" || first.Session != "s" {
		t.Errorf("the call is kept as %+v", first)
	}
	if again := rules.Policy().Decide(first.Request); again.Action != guard.Deny {
		t.Errorf("what is kept decides otherwise: %+v", again)
	}
	if !calls[1].Cut || len(calls[1].Input) > 0 {
		t.Errorf("a long input is kept: %d bytes", len(calls[1].Input))
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestAFullDiskChangesNoDecision checks that a call gets the same decision if it cannot be
// recorded.
func TestAFullDiskChangesNoDecision(t *testing.T) {
	rules, err := compile(t, "[guard]\nsets = ['dangerous-command']\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	j := guard.NewEvaluator(guard.EvaluatorOptions{Record: failing{}, Fault: noFault, Conceal: func(s string) string { return s }, Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now})
	j.SetRules(rules)
	for range 3 {
		if v := j.Evaluate(session.Snapshot{}, bash("git push -f")); v.Action != guard.Deny {
			t.Errorf("got %+v", v)
		}
	}
	j.Close()
	if n := strings.Count(log.String(), "not recorded"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}

// TestPanicInTheGuardDeniesTheCall checks that a call is denied if the guard itself fails.
func TestPanicInTheGuardDeniesTheCall(t *testing.T) {
	rules, err := compile(t, "[guard]\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := guard.EvaluatorOptions{Record: &bytes.Buffer{}, Fault: noFault, Conceal: strings.Clone, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { panic("x") }}
	j := guard.NewEvaluator(opts)
	defer j.Close()
	j.SetRules(rules)
	if v := j.Evaluate(session.Snapshot{}, bash("ls")); v.Action != guard.Deny {
		t.Errorf("got %+v", v)
	}
}

// TestCallThatCannotBeRedactedIsNotRecorded checks that, if the removal of credentials panics, the
// call is decided and not recorded.
func TestCallThatCannotBeRedactedIsNotRecorded(t *testing.T) {
	rules, err := compile(t, "[guard]\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var record bytes.Buffer
	conceal := func(s string) string {
		if strings.Contains(s, "one") {
			panic("x")
		}
		return s
	}
	j := guard.NewEvaluator(guard.EvaluatorOptions{Record: &record, Fault: noFault, Conceal: conceal, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	j.SetRules(rules)
	for _, script := range []string{"echo one", "echo two"} {
		if v := j.Evaluate(session.Snapshot{}, bash(script)); v.Action != guard.Allow {
			t.Errorf("got %+v", v)
		}
	}
	j.Close()
	if text := record.String(); strings.Contains(text, "one") || strings.Count(text, "\n") != 1 || !strings.Contains(text, "echo two") {
		t.Errorf("kept: %s", text)
	}
}

// hung is a disk that does not answer until it is released.
type hung struct {
	bytes.Buffer
	free chan struct{}
}

func (h *hung) Write(b []byte) (int, error) {
	<-h.free
	return h.Buffer.Write(b)
}

// TestHangingDiskDelaysNoDecision asks for more decisions than can wait to be written while the
// disk hangs. It checks that each is decided, that the number of lost records is reported, and that
// the others are recorded later.
func TestHangingDiskDelaysNoDecision(t *testing.T) {
	rules, err := compile(t, "[guard]\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	disk := &hung{free: make(chan struct{})}
	j := guard.NewEvaluator(guard.EvaluatorOptions{Record: disk, Fault: noFault, Conceal: strings.Clone, Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now})
	j.SetRules(rules)
	const calls = 5000
	for range calls {
		if v := j.Evaluate(session.Snapshot{}, bash("ls")); v.Action != guard.Allow {
			t.Fatalf("got %+v", v)
		}
	}
	close(disk.free)
	j.Close()
	kept := bytes.Count(disk.Bytes(), []byte("\n"))
	if kept == 0 || kept == calls || !strings.Contains(log.String(), fmt.Sprintf("lost=%d", calls-kept)) {
		t.Errorf("%d of %d calls were kept; log: %s", kept, calls, log.String())
	}
}
